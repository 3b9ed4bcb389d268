// SPDX-License-Identifier: Apache-2.0
#include "decode/dtype.h"

#include "base/bytes.h"

namespace dumphook {

std::optional<uint64_t> element_count(const Shape& shape) {
  // A zero anywhere makes the product zero, however large the rest is.
  uint64_t count = 1;
  bool overflow = false, empty = false;
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0)
      empty = true;
    else
      overflow = !checked_mul(count, static_cast<uint64_t>(dimension), &count) || overflow;
  }
  if (empty) return 0;
  if (overflow) return std::nullopt;
  return count;
}

std::optional<uint64_t> dense_bytes(DType dtype, const Shape& shape) {
  const std::optional<uint64_t> count = element_count(shape);
  const uint32_t bits = dtype_bits(dtype);
  if (!count || bits == 0) return std::nullopt;
  if (bits < 8) return *count / 2 + *count % 2;
  uint64_t bytes = 0;
  if (!checked_mul(*count, bits / 8, &bytes)) return std::nullopt;
  return bytes;
}

uint64_t stored_elements(const Tensor& tensor) {
  const DType dtype = tensor.descriptor.dtype;
  if (dense_bytes(dtype, tensor.descriptor.shape) == uint64_t{tensor.bytes.size()}) {
    return element_count(tensor.descriptor.shape).value_or(0);
  }
  const uint32_t bits = dtype_bits(dtype);
  return bits < 8 ? uint64_t{tensor.bytes.size()} * 2 : uint64_t{tensor.bytes.size()} / (bits / 8);
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const int64_t dimension : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dimension);
  }
  return text;
}

bool is_quantized(const Descriptor& descriptor) { return !descriptor.quantization.scale.empty(); }

bool quantization_fits(const Quantization& quantization, const Shape& shape) {
  const size_t pairs = quantization.scale.size();
  if (!quantization.zero_point.empty() && quantization.zero_point.size() != pairs) return false;
  if (pairs == 0) return true;
  if (quantization.axis < 0) return pairs == 1;
  const size_t axis = static_cast<size_t>(quantization.axis);
  return axis < shape.size() && shape[axis] >= 0 && static_cast<uint64_t>(shape[axis]) == pairs;
}

}  // namespace dumphook
