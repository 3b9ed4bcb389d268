// SPDX-License-Identifier: Apache-2.0
// Blocks of floats, and of the 16-bit types whose values a float holds exactly: SSE2 on x86-64, NEON on aarch64.
#pragma once

#include "measure/block_sums.h"

namespace dumphook {

// Sums of at most kBlockElements floats at any address. `patterns` are those of floats.
BlockSums sum_floats(const uint8_t* floats, size_t count, const BitPatterns& patterns, CodeLanes codes);
// The same in plain C++: the same counts, min and max, and sums that differ by rounding at most. For tests.
BlockSums sum_floats_portable(const uint8_t* floats, size_t count, const BitPatterns& patterns, CodeLanes codes);

// Writes the values of `count` elements of DH_F16, DH_BF16, DH_I16 or DH_U16, at any address, to `out`, not always in
// their order.
void widen_to_floats(uint32_t dtype, const uint8_t* from, size_t count, float* out);
void widen_to_floats_portable(uint32_t dtype, const uint8_t* from, size_t count, float* out);

}  // namespace dumphook
