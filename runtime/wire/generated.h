// SPDX-License-Identifier: Apache-2.0
// flatc's classes, for this stage's .cpp files only: their names (Part, Loss, Log ...) are too common for a header.
// FlatBuffers' asserts are off, because a guest must not abort the app.
#pragma once

#ifdef FLATBUFFERS_ASSERT
#error "include wire/generated.h before any FlatBuffers header"
#endif
#define FLATBUFFERS_ASSERT(condition) static_cast<void>(0)

#include "control_generated.h"
#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "tensor_generated.h"
