// SPDX-License-Identifier: Apache-2.0
// ValueText: numbers as `show` prints them and `export --format txt` writes them: "%.6f, ", 16 a row or one a row, as
// SigmaStar's tools do. Integers without decimals.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "decode/tensor.h"

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

class ValueText {
 public:
  ValueText(bool one_per_row, bool integers) : per_row_(one_per_row ? 1 : 16), integers_(integers) {}

  void add(double value) {
    const auto to = std::back_inserter(text_);
    if (integers_)
      fmt::format_to(to, "{:.0f}", value);
    else
      fmt::format_to(to, "{:.6f}", value);
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

  size_t per_row_;
  bool integers_;
  size_t in_row_ = 0;
  std::string text_;
};

}  // namespace dumphook
