// SPDX-License-Identifier: Apache-2.0
// The codecs of Part.data, both ways.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// What lz4_encode needs to work in: kLz4StateBytes at a multiple of 8. Its content does not matter and may change.
constexpr size_t kLz4StateBytes = 16448;

// One LZ4 block of `raw` into the front of `out`. Returns its length; or 0 when it does not fit `out`, saves less than
// 2 %, or `raw` is larger than kMaxPartRawBytes: then store it raw.
size_t lz4_encode(ConstBytes raw, Bytes out, void* state);

// False when `block` does not decode to exactly raw.size bytes. `block` may be any bytes; `raw` is then in any state.
[[nodiscard]] bool lz4_decode(ConstBytes block, Bytes raw);

}  // namespace dumphook
