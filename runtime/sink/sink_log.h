// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sink/sink.h"

namespace dumphook {

// One sentence to whoever listens, as printf makes it, cut to 512 bytes.
void say(const SinkLog& log, dh_log_level level, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace dumphook
