// SPDX-License-Identifier: Apache-2.0
// 64-bit integers, of which the metrics' doubles hold 53 bits.
#pragma once

#include "compare/limits.h"
#include "decode/tensor.h"

namespace dumphook {

// Where there are integers beyond 2^53 and rounding them may hide a difference, that is said, and the pair does not
// just pass. `alike`: both lie alike; then integers on both sides are also compared exactly.
void judge_beyond_double(Judgement& judgement, const Tensor& target, const Tensor& golden, bool alike);

}  // namespace dumphook
