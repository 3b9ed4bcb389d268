// SPDX-License-Identifier: Apache-2.0
// Operand: a side's values in the order in which they are compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "align/arrangement.h"
#include "decode/dtype.h"
#include "decode/real_values.h"

namespace dumphook {

// Converted block by block while they lie as the other side's do, else all at once. The tensor must outlive it.
//
// Values are real values as `dumphook export` writes them and as runtimes dequantize: float32 for quantized tensors. So
// what is compared can be recomputed from the exported files, to the last digit.
class Operand {
 public:
  explicit Operand(const Tensor& tensor)
      : reader_(tensor, Values::real), rounds_(is_quantized(tensor.descriptor)), count_(reader_.size()) {
    if (lies_unpacked(tensor.descriptor, count_)) {
      shape = tensor.descriptor.shape;
      layout = tensor.descriptor.layout;
      return;
    }
    Unpacked unpacked = unpack(all(), tensor.descriptor);
    shape = std::move(unpacked.shape);
    layout = unpacked.layout;
    note = std::move(unpacked.note);
    count_ = unpacked.values.size();
    moved_ = std::move(unpacked.values);
  }

  void permute(const std::vector<int>& axes) { moved_ = dumphook::permute(moved_ ? *moved_ : all(), shape, axes); }
  bool moved() const { return moved_.has_value(); }
  uint64_t count() const { return count_; }
  void read(uint64_t first, size_t count, double* to) const {
    if (moved_)
      std::copy_n(moved_->begin() + static_cast<std::ptrdiff_t>(first), count, to);
    else
      convert(first, count, to);
  }

  Shape shape;
  Layout layout = Layout::any;
  std::string note;

 private:
  std::vector<double> all() const {
    std::vector<double> values(static_cast<size_t>(reader_.size()));
    convert(0, values.size(), values.data());
    return values;
  }
  void convert(uint64_t first, size_t count, double* to) const {
    reader_.read(first, count, to);
    if (!rounds_) return;
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(static_cast<float>(to[i]));
  }

  const ValueReader reader_;
  const bool rounds_;
  uint64_t count_;
  std::optional<std::vector<double>> moved_;
};

}  // namespace dumphook
