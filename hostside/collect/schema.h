// SPDX-License-Identifier: Apache-2.0
// flatc's classes, for this stage's .cpp files only, in a namespace of their own: they are named as our own types are.
#pragma once

#define dumphook dumphook_schema
#include "control_generated.h"
#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "tensor_generated.h"
#undef dumphook
