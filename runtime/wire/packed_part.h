// SPDX-License-Identifier: Apache-2.0
// Codec PACKED (FORMAT.md section 4): blocks that are raw, LZ4, or packed: zeros as a mask, the top byte of the other
// values, which for floats is the exponent, in fields of few bits, and their other bytes as they are.
#pragma once

#include "base/bytes.h"
#include "wire/lz4_encode.h"
#include "wire/pack_kernels.h"
#include "wire/pack_plan.h"

namespace dumphook {

constexpr size_t kPackedBlockBytes = 32768;  // raw, of every block but the last

// What packed_encode and packed_decode work in, at a multiple of 8. Its content does not matter and may change.
struct PackedScratch {
  uint64_t lz4_state[kLz4StateBytes / 8];
  union {
    uint8_t a[kPackedBlockBytes + 2 * kPackSlack];
    PlanScratch plan;
  };
  uint8_t b[kPackedBlockBytes + 2 * kPackSlack];
  uint8_t block[kPackedBlockBytes + 4 * kPackSlack];  // one that is not sure to fit where it belongs
};

// `raw` into the front of `out`. Returns its length, or 0 when it does not fit.
size_t packed_encode(ConstBytes raw, PackShape shape, const PackKernels& kernels, Bytes out, PackedScratch* scratch);

// False when `data` does not decode to exactly raw.size bytes. `data` may be any bytes; `raw` is then in any state.
[[nodiscard]] bool packed_decode(ConstBytes data, PackShape shape, const UnpackKernels& kernels, Bytes raw,
                                 PackedScratch* scratch);

}  // namespace dumphook
