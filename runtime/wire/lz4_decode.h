// SPDX-License-Identifier: Apache-2.0
// The way back, by lz4 itself: for the PC and the tests, never on the board.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// False when `block` does not decode to exactly raw.size bytes. `block` may be any bytes; `raw` is then in any state.
[[nodiscard]] bool lz4_decode(ConstBytes block, Bytes raw);

}  // namespace dumphook
