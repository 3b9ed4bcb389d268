// SPDX-License-Identifier: Apache-2.0
#include "sink/stream_sink.h"
