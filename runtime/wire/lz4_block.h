// SPDX-License-Identifier: Apache-2.0
// LZ4 blocks, both ways.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// What lz4_encode needs to work in: kLz4StateBytes at a multiple of 8. Its content does not matter and may change.
constexpr size_t kLz4StateBytes = 16448;

// One LZ4 block of `raw` into the front of `out`. Returns its length; or 0 when it does not fit `out` (lz4 then gives
// up early) or `raw` is larger than kMaxPartRawBytes. `acceleration`: 1, or more to look less closely.
size_t lz4_encode(ConstBytes raw, Bytes out, void* state, int acceleration = 1);

// False when `block` does not decode to exactly raw.size bytes. `block` may be any bytes; `raw` is then in any state.
[[nodiscard]] bool lz4_decode(ConstBytes block, Bytes raw);

}  // namespace dumphook
