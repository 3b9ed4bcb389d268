// SPDX-License-Identifier: Apache-2.0
// LZ4 blocks (lz4_Block_format.md of the LZ4 project): our own encoder, small, and the same bytes on every board.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// What lz4_encode needs to work in: kLz4StateBytes at a multiple of 8. Its content does not matter and may change.
constexpr size_t kLz4StateBytes = 16384;

// One LZ4 block of `raw` into the front of `out`. Returns its length; or 0 when it does not fit `out`, found out no
// later than by the sequence that does not, or `raw` is larger than kMaxPartRawBytes. `acceleration`: 1, or more to
// look less closely. Nothing behind the block is kept, up to the end of `out`.
size_t lz4_encode(ConstBytes raw, Bytes out, void* state, unsigned acceleration = 1);

}  // namespace dumphook
