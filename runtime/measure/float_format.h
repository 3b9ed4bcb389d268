// SPDX-License-Identifier: Apache-2.0
// The value of one element of the small floating-point types, as a float: exact for every bit pattern, also where the
// processor flushes subnormals. NaN stays NaN, with its sign.
#pragma once

#include "base/bytes.h"

namespace dumphook {

inline float float_from_bits(uint32_t bits) { return load_le<float>(&bits); }
inline uint32_t bits_of(float value) { return load_le<uint32_t>(&value); }

inline float bf16_to_float(uint16_t bits) { return float_from_bits(uint32_t{bits} << 16); }

// IEEE 754 binary16.
inline float f16_to_float(uint16_t bits) {
  constexpr uint32_t kRebias = (127 - 15) << 23;
  const uint32_t sign = (bits & 0x8000u) << 16;
  uint32_t magnitude = (bits & 0x7FFFu) << 13;
  if (magnitude >= 0x0F800000) {  // infinity, NaN: from one largest exponent to the other
    magnitude += 2 * kRebias;
  } else if (magnitude >= 0x00800000) {
    magnitude += kRebias;
  } else {  // 2^-14 + subnormal is a normal float; without the 2^-14 it is again
    constexpr uint32_t kTwoToMinus14 = kRebias + (1 << 23);
    magnitude = bits_of(float_from_bits(magnitude + kTwoToMinus14) - float_from_bits(kTwoToMinus14));
  }
  return float_from_bits(sign | magnitude);
}

// As the upper half of a binary16.
inline float f8e5m2_to_float(uint8_t bits) { return f16_to_float(static_cast<uint16_t>(bits << 8)); }

// The OCP variant (E4M3FN): no infinities, NaN is 0x7F and 0xFF, the largest value 448.
inline float f8e4m3_to_float(uint8_t bits) {
  if ((bits & 0x7F) == 0x7F) return float_from_bits((bits & 0x80u) << 24 | 0x7FC00000u);
  // The fields are those of a binary16 whose exponent is 8 too small.
  return f16_to_float(static_cast<uint16_t>((bits & 0x80) << 8 | (bits & 0x7F) << 7)) * 256.0f;
}

}  // namespace dumphook
