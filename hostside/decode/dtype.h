// SPDX-License-Identifier: Apache-2.0
// Names and sizes of what a tensor's description holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "decode/tensor.h"

namespace dumphook {

inline const char* dtype_name(DType dtype) { return dtype_name(static_cast<uint32_t>(dtype)); }
inline const char* layout_name(Layout layout) { return layout_name(static_cast<uint32_t>(layout)); }
inline const char* role_name(Role role) { return role_name(static_cast<uint32_t>(role)); }

// Bits of one element; raw has 8.
inline uint32_t dtype_bits(DType dtype) { return dtype_bits(static_cast<uint32_t>(dtype)); }

// Product of the dimensions, 1 without any. Nothing when one is negative or the product does not fit 64 bits.
std::optional<uint64_t> element_count(const Shape& shape);
// Bytes of such a tensor when it is dense.
std::optional<uint64_t> dense_bytes(DType dtype, const Shape& shape);
// Elements that `tensor.bytes` holds: as the shape says, unless the bytes say otherwise (images in planes, raw bytes).
uint64_t stored_elements(const Tensor& tensor);

// "1x3x224x224"; "scalar" without dimensions.
std::string shape_text(const Shape& shape);

bool is_quantized(const Descriptor& descriptor);
// Quantization that fits the shape: one pair, or one per index of a valid axis.
bool quantization_fits(const Quantization& quantization, const Shape& shape);

}  // namespace dumphook
