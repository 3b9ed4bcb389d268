// SPDX-License-Identifier: Apache-2.0
#include "compare/wide_integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "decode/dtype.h"

namespace dumphook {
namespace {

bool is_wide_integer(const Tensor& tensor) {
  const DType dtype = tensor.descriptor.dtype;
  return (dtype == DType::i64 || dtype == DType::u64) && !is_quantized(tensor.descriptor);
}

struct WideInteger {
  bool negative;
  uint64_t size;
};
WideInteger wide_integer(const Tensor& tensor, uint64_t element) {
  const uint64_t bits = load_le<uint64_t>(tensor.bytes.data() + element * 8);
  const bool negative = tensor.descriptor.dtype == DType::i64 && bits >> 63 != 0;
  return {negative, negative ? ~bits + 1 : bits};
}

bool beyond_double(const Tensor& tensor) {
  for (uint64_t i = 0; is_wide_integer(tensor) && i < stored_elements(tensor); ++i)
    if (wide_integer(tensor, i).size > uint64_t{1} << 53) return true;
  return false;
}

}  // namespace

void judge_beyond_double(Judgement& judgement, const Tensor& target, const Tensor& golden, bool alike) {
  if (!beyond_double(target) && !beyond_double(golden)) return;
  std::string words = "64-bit integers beyond 2^53, rounded";
  if (alike && is_wide_integer(target) && is_wide_integer(golden)) {
    uint64_t different = 0, largest = 0;
    for (uint64_t i = 0; i < stored_elements(target); ++i) {
      const WideInteger t = wide_integer(target, i), g = wide_integer(golden, i);
      if (t.size == g.size && (t.negative == g.negative || t.size == 0)) continue;
      ++different;
      uint64_t difference = std::max(t.size, g.size) - std::min(t.size, g.size);
      if (t.negative != g.negative && !checked_add(t.size, g.size, &difference))
        difference = std::numeric_limits<uint64_t>::max();
      largest = std::max(largest, difference);
    }
    if (different == 0) return;
    words += fmt::format(" in the metrics: {} elements differ, by up to {}", different, largest);
  }
  if (judgement.state == State::pass) judgement.state = State::warn;
  judgement.reason += (judgement.reason.empty() ? "" : "; ") + words;
}

}  // namespace dumphook
