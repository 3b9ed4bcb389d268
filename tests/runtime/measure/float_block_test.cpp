// SPDX-License-Identifier: Apache-2.0
#include "measure/float_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "dumphook/dumphook.h"
#include "measure/float_format.h"

namespace dumphook {
namespace {

struct Codes {
  uint32_t lanes[4][256] = {};
};

BitPatterns patterns_of_f32() {
  BitPatterns patterns;
  patterns.zero_mask = patterns.limit_mask = 0x7FFFFFFF;
  patterns.zero = 0;
  patterns.low = patterns.high = 0x7F7FFFFF;
  return patterns;
}

// Any bits, or what a layer has, with a few special elements.
std::vector<uint32_t> some_floats(std::mt19937& random, size_t count) {
  static const uint32_t special[] = {0,          0x80000000, 1,          0x807FFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
                                     0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001, 0x7F800001, 0x7FFFFFFF};
  std::normal_distribution<float> normal(random() % 2 == 0 ? 0.0f : 1e6f);
  const uint32_t kind = random() % 4;
  std::vector<uint32_t> floats(count);
  for (uint32_t& bits : floats) {
    bits = kind == 0 ? static_cast<uint32_t>(random()) : bits_of(normal(random));
    if (kind == 1 && random() % 8 == 0) bits = special[random() % 12];
    if (kind == 2) bits = special[6 + random() % 6];
  }
  return floats;
}

TEST(FloatBlock, LanesAndPlainLoopAgree) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const size_t count = round < 64 ? static_cast<size_t>(round) : random() % (kBlockElements + 1);
    const std::vector<uint32_t> floats = some_floats(random, count);
    std::vector<uint8_t> bytes(count * 4 + 3);
    uint8_t* data = bytes.data() + random() % 4;
    if (count != 0) memcpy(data, floats.data(), count * 4);
    Codes codes, portable_codes;
    const BlockSums sums = sum_floats(data, count, patterns_of_f32(), codes.lanes);
    const BlockSums portable = sum_floats_portable(data, count, patterns_of_f32(), portable_codes.lanes);
    ASSERT_EQ(0, memcmp(codes.lanes, portable_codes.lanes, sizeof codes.lanes));
    ASSERT_EQ(portable.finite, sums.finite);
    ASSERT_EQ(portable.nan, sums.nan);
    ASSERT_EQ(portable.pos_inf, sums.pos_inf);
    ASSERT_EQ(portable.neg_inf, sums.neg_inf);
    ASSERT_EQ(portable.zeros, sums.zeros);
    ASSERT_EQ(portable.saturated, sums.saturated);
    ASSERT_EQ(portable.shift, sums.shift);
    if (sums.finite == 0) continue;
    ASSERT_EQ(portable.min, sums.min);
    ASSERT_EQ(portable.max, sums.max);
    // The sum of magnitudes bounds what rounding may do to the sum.
    ASSERT_NEAR(portable.sum, sums.sum, 1e-14 * std::sqrt(portable.squares * static_cast<double>(count)));
    ASSERT_NEAR(portable.squares, sums.squares, 1e-14 * portable.squares);
  }
}

TEST(FloatBlock, Widening_AgreesWithThePlainLoop_ForEveryPattern) {
  std::vector<uint8_t> bytes(1 + 2 * kBlockElements);
  uint8_t* const from = bytes.data() + 1;
  for (const uint32_t dtype : {DH_F16, DH_BF16, DH_I16, DH_U16}) {
    for (uint32_t first = 0; first < 0x10000; first += kBlockElements) {
      for (uint32_t i = 0; i < kBlockElements; ++i) {
        const uint16_t bits = static_cast<uint16_t>(first + i);
        memcpy(from + i * 2, &bits, 2);
      }
      const size_t count = kBlockElements - first / kBlockElements % 9;
      std::vector<float> floats(count), portable(count);
      widen_to_floats(dtype, from, count, floats.data());
      widen_to_floats_portable(dtype, from, count, portable.data());
      // A signalling NaN may have become a quiet one.
      const auto by_bits = [](float a, float b) {
        const auto key = [](float value) { return std::isnan(value) ? 0x7FC00000u : bits_of(value); };
        return key(a) < key(b);
      };
      std::sort(floats.begin(), floats.end(), by_bits);
      std::sort(portable.begin(), portable.end(), by_bits);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_FALSE(by_bits(floats[i], portable[i]) || by_bits(portable[i], floats[i])) << dtype << " " << first + i;
      }
    }
  }
}

}  // namespace
}  // namespace dumphook
