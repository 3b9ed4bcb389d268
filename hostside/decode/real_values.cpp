// SPDX-License-Identifier: Apache-2.0
#include "decode/real_values.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "decode/dtype.h"

namespace dumphook {
namespace {

float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// A small IEEE-like number: sign, `exponent_bits`, `mantissa_bits`; infinities and NaN at the largest exponent.
float small_float(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t mantissa_mask = (1u << mantissa_bits) - 1;
  const uint32_t exponent_mask = (1u << exponent_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = (bits >> mantissa_bits) & exponent_mask;
  const uint32_t sign = ((bits >> (mantissa_bits + exponent_bits)) & 1u) << 31;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == exponent_mask) return float_of(sign | 0x7F800000u | (mantissa << (23 - mantissa_bits)));
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                                        : std::ldexp(static_cast<float>(mantissa | (1u << mantissa_bits)),
                                                     static_cast<int>(exponent) - bias - mantissa_bits);
  return sign != 0 ? -magnitude : magnitude;
}

template <class Out, class Stored>
void widen(const std::byte* from, std::vector<Out>& to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<Out>(load_le<Stored>(from + i * sizeof(Stored)));
}

template <class Out, class Convert>
void widen_bytes(const std::byte* from, std::vector<Out>& to, Convert convert) {
  std::array<Out, 256> table;
  for (unsigned i = 0; i < 256; ++i) table[i] = static_cast<Out>(convert(static_cast<uint8_t>(i)));
  for (size_t i = 0; i < to.size(); ++i) to[i] = table[static_cast<uint8_t>(from[i])];
}

template <class Out>
void widen_f16(const std::byte* from, std::vector<Out>& to) {
  for (size_t i = 0; i < to.size(); ++i) {
    // Rebias by a multiplication: exact, also for subnormals. Infinity and NaN keep their exponent of all ones.
    const uint32_t bits = load_le<uint16_t>(from + i * 2);
    const uint32_t magnitude = (bits & 0x7FFFu) << 13;
    const float value = magnitude >= 0x0F800000u ? float_of(0x7F800000u | magnitude) : float_of(magnitude) * 0x1p112f;
    to[i] = static_cast<Out>((bits & 0x8000u) != 0 ? -value : value);
  }
}

int nibble(const std::byte* from, size_t i) {
  const unsigned byte = static_cast<unsigned>(from[i / 2]);
  return static_cast<int>(i % 2 == 0 ? byte & 15u : byte >> 4);
}

template <class Out>
std::vector<Out> stored_as(const Tensor& tensor) {
  std::vector<Out> values(static_cast<size_t>(stored_elements(tensor)));
  const std::byte* from = tensor.bytes.data();
  switch (tensor.descriptor.dtype) {
    case DType::f64: widen<Out, double>(from, values); break;
    case DType::f32: widen<Out, float>(from, values); break;
    case DType::f16: widen_f16(from, values); break;
    case DType::bf16:
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<Out>(bf16_value(load_le<uint16_t>(from + i * 2)));
      break;
    case DType::f8e4m3: widen_bytes(from, values, f8e4m3_value); break;
    case DType::f8e5m2: widen_bytes(from, values, f8e5m2_value); break;
    case DType::i64: widen<Out, int64_t>(from, values); break;
    case DType::u64: widen<Out, uint64_t>(from, values); break;
    case DType::i32: widen<Out, int32_t>(from, values); break;
    case DType::u32: widen<Out, uint32_t>(from, values); break;
    case DType::i16: widen<Out, int16_t>(from, values); break;
    case DType::u16: widen<Out, uint16_t>(from, values); break;
    case DType::i8: widen<Out, int8_t>(from, values); break;
    case DType::raw:
    case DType::u8: widen<Out, uint8_t>(from, values); break;
    case DType::boolean: widen_bytes(from, values, [](uint8_t byte) { return byte != 0 ? 1 : 0; }); break;
    case DType::i4:
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Out>((nibble(from, i) ^ 8) - 8);
      break;
    case DType::u4:
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Out>(nibble(from, i));
      break;
  }
  return values;
}

// Elements behind one index of the axis, and indexes of the axis.
struct Stride {
  size_t inner = 1, indexes = 1;
};
Stride axis_stride(const Tensor& tensor) {
  Stride stride;
  const Quantization& quantization = tensor.descriptor.quantization;
  if (quantization.axis < 0) return stride;
  const Shape& shape = tensor.descriptor.shape;
  const size_t axis = static_cast<size_t>(quantization.axis);
  stride.indexes = quantization.scale.size();
  for (size_t i = axis + 1; i < shape.size(); ++i) stride.inner *= static_cast<size_t>(shape[i]);
  return stride;
}

// `stored` becomes real; Out is double or float, the product is made in double.
template <class Out>
void dequantize(const Tensor& tensor, const std::vector<double>& stored, std::vector<Out>& real) {
  const Quantization& quantization = tensor.descriptor.quantization;
  const Stride stride = axis_stride(tensor);
  size_t i = 0;
  for (size_t index = 0; i < stored.size(); index = index + 1 == stride.indexes ? 0 : index + 1) {
    const double scale = static_cast<double>(quantization.scale[index]);
    const double zero = quantization.zero_point.empty() ? 0.0 : quantization.zero_point[index];
    const size_t run = quantization.axis < 0 ? stored.size() : std::min(stride.inner, stored.size() - i);
    for (const size_t end = i + run; i < end; ++i) real[i] = static_cast<Out>(scale * (stored[i] - zero));
  }
}

bool dequantizable(const Tensor& tensor) {
  const Descriptor& descriptor = tensor.descriptor;
  return is_quantized(descriptor) && quantization_fits(descriptor.quantization, descriptor.shape) &&
         !tensor.bytes.empty() &&
         (descriptor.quantization.axis < 0 ||
          dense_bytes(descriptor.dtype, descriptor.shape) == uint64_t{tensor.bytes.size()});
}

}  // namespace

float f16_value(uint16_t bits) { return small_float(bits, 5, 10); }
float bf16_value(uint16_t bits) { return float_of(uint32_t{bits} << 16); }
float f8e5m2_value(uint8_t bits) { return small_float(bits, 5, 2); }

float f8e4m3_value(uint8_t bits) {
  if ((bits & 0x7Fu) == 0x7Fu)
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), bits & 0x80u ? -1.0f : 1.0f);
  // The largest exponent holds ordinary numbers here.
  const uint32_t mantissa = bits & 7u, exponent = (bits >> 3) & 15u;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(mantissa | 8u), static_cast<int>(exponent) - 10);
  return bits & 0x80u ? -magnitude : magnitude;
}

std::vector<double> stored_values(const Tensor& tensor) { return stored_as<double>(tensor); }

std::vector<double> real_values(const Tensor& tensor) {
  std::vector<double> values = stored_as<double>(tensor);
  if (dequantizable(tensor)) dequantize(tensor, values, values);
  return values;
}

std::vector<float> real_values_f32(const Tensor& tensor) {
  if (!dequantizable(tensor)) return stored_as<float>(tensor);
  const std::vector<double> stored = stored_as<double>(tensor);
  std::vector<float> values(stored.size());
  dequantize(tensor, stored, values);
  return values;
}

}  // namespace dumphook
