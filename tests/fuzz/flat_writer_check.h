// SPDX-License-Identifier: Apache-2.0
// What fuzzing and the random tests check of the message writers.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// Makes up a message from `choices`, writes it with every room from none to enough, and reads it back with flatc's
// code. Returns what is wrong, or nullptr.
const char* check_flat_writer(ConstBytes choices);

}  // namespace dumphook
