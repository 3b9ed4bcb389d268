// SPDX-License-Identifier: Apache-2.0
// The codecs of Part.data, both ways. The way back is a target of its own, dumphook_wire_decode, since it needs lz4 and
// no board needs it.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// What encode_part and decode_part work in, at a multiple of 8. Its content does not matter and may change.
constexpr size_t kCodecScratchBytes = 16384 + 3 * 32768 + 8 * 64;

// The bytes of a part, `raw`, into the front of `out`, which is at least as large. Chooses the codec by what the bytes
// turn out to be; what would save less than 2 % stays raw. `dtype`: any, it need not be known. Returns the length.
size_t encode_part(uint32_t dtype, ConstBytes raw, Bytes out, void* scratch, uint8_t* codec);

// False when `data` does not decode to exactly raw.size bytes, or the codec is unknown. `data` may be any bytes; `raw`
// is then in any state.
[[nodiscard]] bool decode_part(uint32_t dtype, uint8_t codec, ConstBytes data, Bytes raw, void* scratch);

bool codec_is_known(uint8_t codec);
const char* codec_name(uint8_t codec);  // "raw", "lz4", "packed"; "?" when it is unknown

}  // namespace dumphook
