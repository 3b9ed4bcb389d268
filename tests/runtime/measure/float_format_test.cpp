// SPDX-License-Identifier: Apache-2.0
#include "measure/float_format.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dumphook {
namespace {

// From the definition: `bits` in fields of `exponent_bits` and `mantissa_bits`.
double defined_value(uint32_t bits, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const int greatest = (1 << exponent_bits) - 1, bias = greatest / 2;
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                               : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  if (has_infinity && exponent == greatest) value = mantissa == 0 ? INFINITY : NAN;
  if (!has_infinity && exponent == greatest && mantissa == (1 << mantissa_bits) - 1) value = NAN;
  return (bits >> (exponent_bits + mantissa_bits)) != 0 ? -value : value;
}

void expect_same(double expected, float value, uint32_t bits) {
  ASSERT_EQ(std::isnan(expected), std::isnan(value)) << bits;
  ASSERT_EQ(std::signbit(expected), std::signbit(value)) << bits;
  ASSERT_TRUE(std::isnan(expected) || expected == static_cast<double>(value)) << bits;
}

TEST(FloatFormat, EveryPatternHasItsDefinedValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    expect_same(defined_value(bits, 5, 10, true), f16_to_float(static_cast<uint16_t>(bits)), bits);
    expect_same(defined_value(bits, 8, 7, true), bf16_to_float(static_cast<uint16_t>(bits)), bits);
  }
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    expect_same(defined_value(bits, 5, 2, true), f8e5m2_to_float(static_cast<uint8_t>(bits)), bits);
    expect_same(defined_value(bits, 4, 3, false), f8e4m3_to_float(static_cast<uint8_t>(bits)), bits);
  }
}

}  // namespace
}  // namespace dumphook
