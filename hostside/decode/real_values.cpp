// SPDX-License-Identifier: Apache-2.0
#include "decode/real_values.h"

#include <algorithm>
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

template <class Stored>
void widen(const std::byte* from, size_t count, double* to) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(load_le<Stored>(from + i * sizeof(Stored)));
}

template <class Convert>
void widen_bytes(const std::byte* from, size_t count, double* to, Convert convert) {
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(convert(static_cast<uint8_t>(from[i])));
}

template <class Convert>
void widen_bytes_by_table(const std::byte* from, size_t count, double* to, Convert convert) {
  std::array<double, 256> table;
  if (count < table.size()) return widen_bytes(from, count, to, convert);
  for (unsigned i = 0; i < 256; ++i) table[i] = static_cast<double>(convert(static_cast<uint8_t>(i)));
  for (size_t i = 0; i < count; ++i) to[i] = table[static_cast<uint8_t>(from[i])];
}

void widen_f16(const std::byte* from, size_t count, double* to) {
  for (size_t i = 0; i < count; ++i) {
    // Rebias by a multiplication: exact, also for subnormals. Infinity and NaN keep their exponent of all ones.
    const uint32_t bits = load_le<uint16_t>(from + i * 2);
    const uint32_t magnitude = (bits & 0x7FFFu) << 13;
    const float value = magnitude >= 0x0F800000u ? float_of(0x7F800000u | magnitude) : float_of(magnitude) * 0x1p112f;
    to[i] = static_cast<double>((bits & 0x8000u) != 0 ? -value : value);
  }
}

unsigned nibble(const std::byte* from, uint64_t i) {
  const unsigned byte = static_cast<unsigned>(from[i / 2]);
  return i % 2 == 0 ? byte & 15u : byte >> 4;
}

void read_stored(const Tensor& tensor, uint64_t first, size_t count, double* to) {
  const DType dtype = tensor.descriptor.dtype;
  const std::byte* all = tensor.bytes.data();
  const std::byte* from = all + first * (dtype_bits(dtype) / 8);
  switch (dtype) {
    case DType::f64: return widen<double>(from, count, to);
    case DType::f32: return widen<float>(from, count, to);
    case DType::f16: return widen_f16(from, count, to);
    case DType::bf16:
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<double>(bf16_value(load_le<uint16_t>(from + i * 2)));
      return;
    case DType::f8e4m3: return widen_bytes_by_table(from, count, to, f8e4m3_value);
    case DType::f8e5m2: return widen_bytes_by_table(from, count, to, f8e5m2_value);
    case DType::i64: return widen<int64_t>(from, count, to);
    case DType::u64: return widen<uint64_t>(from, count, to);
    case DType::i32: return widen<int32_t>(from, count, to);
    case DType::u32: return widen<uint32_t>(from, count, to);
    case DType::i16: return widen<int16_t>(from, count, to);
    case DType::u16: return widen<uint16_t>(from, count, to);
    case DType::i8: return widen<int8_t>(from, count, to);
    case DType::raw:
    case DType::u8: return widen<uint8_t>(from, count, to);
    case DType::boolean: return widen_bytes(from, count, to, [](uint8_t byte) { return byte != 0 ? 1 : 0; });
    case DType::i4:
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<int>(nibble(all, first + i) ^ 8u) - 8;
      return;
    case DType::u4:
      for (size_t i = 0; i < count; ++i) to[i] = nibble(all, first + i);
      return;
  }
}

bool dequantizable(const Tensor& tensor) {
  const Descriptor& descriptor = tensor.descriptor;
  return is_quantized(descriptor) && quantization_fits(descriptor.quantization, descriptor.shape) &&
         !tensor.bytes.empty() &&
         (descriptor.quantization.axis < 0 ||
          dense_bytes(descriptor.dtype, descriptor.shape) == uint64_t{tensor.bytes.size()});
}

std::vector<double> all_of(const ValueReader& reader) {
  std::vector<double> values(static_cast<size_t>(reader.size()));
  reader.read(0, values.size(), values.data());
  return values;
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

ValueReader::ValueReader(const Tensor& tensor, Values values)
    : tensor_(tensor), size_(stored_elements(tensor)), real_(values == Values::real && dequantizable(tensor)) {
  const Quantization& quantization = tensor.descriptor.quantization;
  if (!real_ || quantization.axis < 0) return;
  pairs_ = quantization.scale.size();
  const Shape& shape = tensor.descriptor.shape;
  for (size_t i = static_cast<size_t>(quantization.axis) + 1; i < shape.size(); ++i)
    run_ *= static_cast<uint64_t>(shape[i]);
}

void ValueReader::read(uint64_t first, size_t count, double* to) const {
  read_stored(tensor_, first, count, to);
  if (!real_) return;
  const Quantization& quantization = tensor_.descriptor.quantization;
  for (size_t i = 0; i < count;) {
    const uint64_t at = first + i;
    const size_t pair = static_cast<size_t>(at / run_ % pairs_);
    const double scale = static_cast<double>(quantization.scale[pair]);
    const double zero = quantization.zero_point.empty() ? 0.0 : quantization.zero_point[pair];
    const uint64_t left = pairs_ == 1 ? count - i : run_ - at % run_;
    for (const size_t end = i + static_cast<size_t>(std::min<uint64_t>(left, count - i)); i < end; ++i)
      to[i] = scale * (to[i] - zero);
  }
}

std::vector<double> stored_values(const Tensor& tensor) { return all_of(ValueReader(tensor, Values::stored)); }
std::vector<double> real_values(const Tensor& tensor) { return all_of(ValueReader(tensor, Values::real)); }

std::vector<float> real_values_f32(const Tensor& tensor) {
  const ValueReader reader(tensor, Values::real);
  std::vector<float> values(static_cast<size_t>(reader.size()));
  std::array<double, 1024> block;
  for (size_t first = 0; first < values.size(); first += block.size()) {
    const size_t count = std::min(block.size(), values.size() - first);
    reader.read(first, count, block.data());
    for (size_t i = 0; i < count; ++i) values[first + i] = static_cast<float>(block[i]);
  }
  return values;
}

}  // namespace dumphook
