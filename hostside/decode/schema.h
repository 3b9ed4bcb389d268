// SPDX-License-Identifier: Apache-2.0
// flatc's classes, for this stage's .cpp files only. They are named as the tables are, which are our own names, too
// (Descriptor, DType ...), so here they live in dumphook_schema.
#pragma once

#define dumphook dumphook_schema
#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "tensor_generated.h"
#undef dumphook
