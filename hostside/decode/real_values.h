// SPDX-License-Identifier: Apache-2.0
// A tensor's bytes as numbers. Elements come in the tensor's own order; raw bytes and images are numbers 0..255.
// Tensors whose quantization does not fit their shape count as not quantized.
#pragma once

#include <vector>

#include "decode/tensor.h"

namespace dumphook {

// What is stored: q of a quantized tensor. 64-bit integers beyond 2^53 are rounded.
std::vector<double> stored_values(const Tensor& tensor);

// What the model means: scale * (q - zero_point), computed in double, or the stored values where nothing is quantized.
std::vector<double> real_values(const Tensor& tensor);
std::vector<float> real_values_f32(const Tensor& tensor);

// One element. f8e4m3 is the OCP variant without infinities (0x7F and 0xFF are NaN).
float f16_value(uint16_t bits);
float bf16_value(uint16_t bits);
float f8e4m3_value(uint8_t bits);
float f8e5m2_value(uint8_t bits);

}  // namespace dumphook
