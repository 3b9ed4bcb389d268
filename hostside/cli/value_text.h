// SPDX-License-Identifier: Apache-2.0
// ValueText: numbers as `show` prints them and `export --format txt` writes them: "%.6f, ", 16 a row or one a row, as
// SigmaStar's tools do. Integers without decimals.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "decode/dtype.h"
#include "decode/real_values.h"

namespace dumphook {

inline bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2: return false;
    default: return true;
  }
}

// Of a tensor's elements, which must outlive it. 64-bit integers as they are stored are exact.
class ValueText {
 public:
  ValueText(const Tensor& tensor, Values values, bool one_per_row)
      : tensor_(tensor),
        reader_(tensor, values),
        per_row_(one_per_row ? 1 : 16),
        integers_(is_integer(tensor.descriptor.dtype) &&
                  (values == Values::stored || !is_quantized(tensor.descriptor))) {}

  uint64_t count() const { return reader_.size(); }

  void add(uint64_t element) {
    const auto to = std::back_inserter(text_);
    const DType dtype = tensor_.descriptor.dtype;
    if (integers_ && dtype == DType::i64)
      fmt::format_to(to, "{}", load_le<int64_t>(tensor_.bytes.data() + element * 8));
    else if (integers_ && dtype == DType::u64)
      fmt::format_to(to, "{}", load_le<uint64_t>(tensor_.bytes.data() + element * 8));
    else if (integers_)
      fmt::format_to(to, "{:.0f}", reader_.at(element));
    else
      fmt::format_to(to, "{:.6f}", reader_.at(element));
    text_ += per_row_ == 1 ? "\n" : ", ";
    if (per_row_ > 1 && ++in_row_ == per_row_) end_row();
  }
  // Ends the last row.
  void finish() {
    if (in_row_ > 0) end_row();
  }
  size_t size() const { return text_.size(); }
  std::string take() { return std::exchange(text_, {}); }

 private:
  void end_row() {
    text_ += '\n';
    in_row_ = 0;
  }

  const Tensor& tensor_;
  ValueReader reader_;
  size_t per_row_;
  bool integers_;
  size_t in_row_ = 0;
  std::string text_;
};

}  // namespace dumphook
