// SPDX-License-Identifier: Apache-2.0
// A tensor's bytes as numbers. Elements come in the tensor's own order; raw bytes and images are numbers 0..255.
// Tensors whose quantization does not fit their shape count as not quantized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/tensor.h"

namespace dumphook {

enum class Values : uint8_t {
  stored,  // q of a quantized tensor. 64-bit integers beyond 2^53 are rounded
  real,    // what the model means: scale * (q - zero_point), computed in double; as stored where nothing is quantized
};

// Elements, converted when they are asked for: a tensor in double takes eight times the memory of its int8. The tensor
// must outlive it.
class ValueReader {
 public:
  ValueReader(const Tensor& tensor, Values values);
  uint64_t size() const { return size_; }
  // Elements [first, first + count), all below size().
  void read(uint64_t first, size_t count, double* to) const;
  double at(uint64_t element) const {
    double value = 0;
    read(element, 1, &value);
    return value;
  }

 private:
  const Tensor& tensor_;
  uint64_t size_;
  bool real_;
  uint64_t run_ = 1;  // elements in a row that share scale and zero point
  uint64_t pairs_ = 1;
};

// All at once.
std::vector<double> stored_values(const Tensor& tensor);
std::vector<double> real_values(const Tensor& tensor);
std::vector<float> real_values_f32(const Tensor& tensor);

// One element. f8e4m3 is the OCP variant without infinities (0x7F and 0xFF are NaN).
float f16_value(uint16_t bits);
float bf16_value(uint16_t bits);
float f8e4m3_value(uint8_t bits);
float f8e5m2_value(uint8_t bits);

}  // namespace dumphook
