// SPDX-License-Identifier: Apache-2.0
// What is gathered from one block of elements, and the loop that gathers it one by one, for any element type.
//
// Sums are of x - shift, where the shift lies amid the block's values: what cancels in squares - sum² / n is then at
// most a small multiple of the result, however far the values are from zero.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// Elements of one block.
constexpr size_t kBlockElements = 256;

// Elements with a meaning of their own, as bit patterns: zero is (bits & zero_mask) == zero, saturated is
// (bits & limit_mask) == low or high.
struct BitPatterns {
  uint64_t zero_mask = 0, zero = 1;  // nothing
  uint64_t limit_mask = 0, low = 1, high = 1;
};

struct BlockSums {
  double shift = 0;
  double sum = 0, squares = 0;  // of x - shift, finite elements
  double min = 0, max = 0;
  uint32_t finite = 0, nan = 0, pos_inf = 0, neg_inf = 0, zeros = 0, saturated = 0;
};

// How often each code came; four tables, so that equal neighbours do not wait for each other's store.
using CodeLanes = uint32_t (*)[256];

// A code is the biased exponent of a float: 2^(code - 127) <= |x| < 2^(code - 126). Of floating-point types, 0 is zero
// and what is subnormal, 255 what is not finite, and exponents that a float does not have become 1 or 254. Of integers,
// what is below 127 is zero.
constexpr int kCodeBias = 127;

struct F32Element {
  using Bits = uint32_t;
  static double value(Bits bits) { return static_cast<double>(load_le<float>(&bits)); }
  static uint32_t code(Bits bits) { return (bits >> 23) & 0xFF; }
  static bool finite(Bits bits) { return (bits & 0x7FFFFFFF) < 0x7F800000; }
  static bool nan(Bits bits) { return (bits & 0x7FFFFFFF) > 0x7F800000; }
};

struct F64Element {
  using Bits = uint64_t;
  static double value(Bits bits) { return load_le<double>(&bits); }
  static uint32_t code(Bits bits) {
    const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
    if (exponent == 0 || exponent == 0x7FF) return exponent == 0 ? 0 : 255;
    const int code = exponent - 1023 + kCodeBias;
    return static_cast<uint32_t>(code < 1 ? 1 : code > 254 ? 254 : code);
  }
  static bool finite(Bits bits) { return (bits & 0x7FFFFFFFFFFFFFFF) < 0x7FF0000000000000; }
  static bool nan(Bits bits) { return (bits & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000; }
};

// 64-bit integers are rounded to double; what is counted is exact.
template <class Integer>
struct IntegerElement {
  using Bits = typename std::make_unsigned<Integer>::type;
  static double value(Bits bits) { return static_cast<double>(static_cast<Integer>(bits)); }
  static uint32_t code(Bits bits) {
    const uint64_t magnitude = static_cast<Integer>(bits) < 0 ? Bits(0) - bits : bits;
    return static_cast<uint32_t>(kCodeBias + 63 - __builtin_clzll(magnitude | 1)) - (magnitude == 0);
  }
  static bool finite(Bits) { return true; }
  static bool nan(Bits) { return false; }
};

// The mean of up to eight finite elements spread over the block; 0 when it has none. Among n values of variance v, an
// element is at most sqrt(n v) from the mean, so no choice of them can go far wrong.
template <class Element>
double pick_shift(const uint8_t* data, size_t count) {
  using Bits = typename Element::Bits;
  double first = 0, differences = 0;
  uint32_t found = 0;
  for (size_t segment = 0; segment < 8; ++segment) {
    for (size_t i = segment * count / 8; i < (segment + 1) * count / 8; ++i) {
      const Bits bits = load_le<Bits>(data + i * sizeof(Bits));
      if (!Element::finite(bits)) continue;
      if (found++ == 0) first = Element::value(bits);
      differences += Element::value(bits) - first;
      break;
    }
  }
  return found == 0 ? 0 : first + differences / found;
}

// Adds elements begin ... end - 1 of the block at `data` to `sums`, whose shift is set.
template <class Element>
void add_one_by_one(const uint8_t* data, size_t begin, size_t end, const BitPatterns& patterns, CodeLanes codes,
                    BlockSums* sums) {
  using Bits = typename Element::Bits;
  const Bits zero_mask = static_cast<Bits>(patterns.zero_mask), zero = static_cast<Bits>(patterns.zero);
  const Bits limit_mask = static_cast<Bits>(patterns.limit_mask);
  const Bits low = static_cast<Bits>(patterns.low), high = static_cast<Bits>(patterns.high);
  uint32_t zeros = 0, saturated = 0, finite = sums->finite;
  double min = sums->min, max = sums->max, sum = 0, other_sum = 0, squares = 0, other_squares = 0;
  for (size_t i = begin; i < end; ++i) {
    const Bits bits = load_le<Bits>(data + i * sizeof(Bits));
    ++codes[i % 4][Element::code(bits)];
    zeros += (bits & zero_mask) == zero;
    saturated += ((bits & limit_mask) == low) | ((bits & limit_mask) == high);
    if (!Element::finite(bits)) {
      ++(Element::nan(bits) ? sums->nan : bits >> (sizeof bits * 8 - 1) != 0 ? sums->neg_inf : sums->pos_inf);
      continue;
    }
    const double value = Element::value(bits);
    if (finite == 0) min = max = value;
    ++finite;
    min = value < min ? value : min;
    max = value > max ? value : max;
    // Two sums by turns, so that an addition need not wait for the one before.
    const double difference = value - sums->shift;
    const double grown_sum = other_sum + difference, grown_squares = other_squares + difference * difference;
    other_sum = sum, other_squares = squares;
    sum = grown_sum, squares = grown_squares;
  }
  sums->zeros += zeros;
  sums->saturated += saturated;
  sums->finite = finite;
  sums->min = min, sums->max = max;
  sums->sum += sum + other_sum;
  sums->squares += squares + other_squares;
}

template <class Element>
BlockSums sum_one_by_one(const uint8_t* data, size_t count, const BitPatterns& patterns, CodeLanes codes) {
  BlockSums sums;
  sums.shift = pick_shift<Element>(data, count);
  add_one_by_one<Element>(data, 0, count, patterns, codes, &sums);
  return sums;
}

}  // namespace dumphook
