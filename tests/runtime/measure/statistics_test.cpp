// SPDX-License-Identifier: Apache-2.0
#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/dtype.h"

namespace dumphook {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TensorStatistics of_bytes(uint32_t dtype, uint64_t count, const void* data, size_t bytes,
                          const int32_t* zero_point = nullptr) {
  static StatisticsMeter meter;
  TensorStatistics statistics;
  meter.begin(dtype, count, zero_point);
  meter.update(data, bytes);
  meter.finish(&statistics);
  return statistics;
}

template <class T>
TensorStatistics of(uint32_t dtype, const std::vector<T>& values, const int32_t* zero_point = nullptr) {
  return of_bytes(dtype, values.size(), values.data(), values.size() * sizeof(T), zero_point);
}

void expect_same(const TensorStatistics& a, const TensorStatistics& b) {
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.sampled, b.sampled);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(0, memcmp(&a.mean, &b.mean, sizeof a.mean)) << a.mean << " " << b.mean;
  EXPECT_EQ(0, memcmp(&a.variance, &b.variance, sizeof a.variance)) << a.variance << " " << b.variance;
  EXPECT_EQ(a.nan, b.nan);
  EXPECT_EQ(a.pos_inf, b.pos_inf);
  EXPECT_EQ(a.neg_inf, b.neg_inf);
  EXPECT_EQ(a.zeros, b.zeros);
  EXPECT_EQ(a.saturated, b.saturated);
  EXPECT_EQ(a.histogram_first_exponent, b.histogram_first_exponent);
  EXPECT_EQ(a.histogram_size, b.histogram_size);
  EXPECT_EQ(0, memcmp(a.histogram, b.histogram, sizeof a.histogram));
}

TEST(TensorStatistics, EmptyTensor_IsAllZero) {
  for (uint32_t dtype = DH_RAW; dtype <= DH_U4; ++dtype) {
    TensorStatistics zero;
    zero.zero_is_limit = of_bytes(dtype, 0, nullptr, 0).zero_is_limit;
    expect_same(zero, of_bytes(dtype, 0, nullptr, 0));
    EXPECT_FALSE(is_constant(zero));
    EXPECT_EQ(0, saturated_share(zero));
    EXPECT_FALSE(exceeds(zero, 1, 2));
  }
}

TEST(TensorStatistics, OneElement) {
  const TensorStatistics s = of<float>(DH_F32, {-3.0f});
  EXPECT_EQ(1u, s.count);
  EXPECT_EQ(1u, s.sampled);
  EXPECT_EQ(-3, s.min);
  EXPECT_EQ(-3, s.max);
  EXPECT_EQ(-3, s.mean);
  EXPECT_EQ(0, s.variance);
  EXPECT_EQ(1, s.histogram_first_exponent);
  ASSERT_EQ(1u, s.histogram_size);
  EXPECT_EQ(1u, s.histogram[0]);
  EXPECT_TRUE(is_constant(s));
}

TEST(TensorStatistics, NanOfAnyPayloadAndSign_CountsAsNanAlone) {
  const std::vector<uint32_t> bits = {0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001,
                                      0x7FFFFFFF, 0xFFFFFFFF, 0x7FC12345};
  const TensorStatistics s = of(DH_F32, bits);
  EXPECT_EQ(bits.size(), s.nan);
  EXPECT_EQ(0, s.min);
  EXPECT_EQ(0, s.max);
  EXPECT_EQ(0, s.mean);
  EXPECT_EQ(0, s.variance);
  EXPECT_EQ(0u, s.pos_inf + s.neg_inf + s.zeros + s.saturated + s.histogram_size);
  EXPECT_TRUE(any_not_finite(s));
  EXPECT_FALSE(is_constant(s));
  EXPECT_FALSE(exceeds(s, -1, 1));
}

TEST(TensorStatistics, WhatIsNotFinite_LeavesTheMomentsAlone) {
  const std::vector<float> clean = {5, 6, 7, 8, 5, 6};
  std::vector<float> dirty;
  for (const float value : clean) dirty.insert(dirty.end(), {kNan, value, kInf, -kInf});
  const TensorStatistics s = of(DH_F32, dirty), c = of(DH_F32, clean);
  EXPECT_EQ(6u, s.nan);
  EXPECT_EQ(6u, s.pos_inf);
  EXPECT_EQ(6u, s.neg_inf);
  EXPECT_EQ(5, s.min);
  EXPECT_EQ(8, s.max);
  EXPECT_NEAR(c.mean, s.mean, 1e-12);
  EXPECT_NEAR(c.variance, s.variance, 1e-12);
}

TEST(TensorStatistics, MinusZeroIsZero) {
  const TensorStatistics s = of<float>(DH_F32, {0.0f, -0.0f, 1.0f, -0.0f, 0.0f});
  EXPECT_EQ(4u, s.zeros);
  EXPECT_EQ(1u, s.histogram_size);
  EXPECT_EQ(2u, of<uint16_t>(DH_F16, {0x8000, 0x0000, 0x0001}).zeros);
  EXPECT_EQ(2u, of<uint16_t>(DH_BF16, {0x8000, 0x0000, 0x0001}).zeros);
  EXPECT_EQ(2u, of<uint8_t>(DH_F8E4M3, {0x80, 0x00, 0x01}).zeros);
  EXPECT_EQ(2u, of<double>(DH_F64, {-0.0, 0.0, 5e-324}).zeros);
}

TEST(TensorStatistics, SubnormalsCountInTheLowestBucket_AndAreNotZero) {
  const TensorStatistics s = of<uint32_t>(DH_F32, {1, 0x807FFFFF, 0x00400000, 0, 0x3F800000});
  EXPECT_EQ(1u, s.zeros);
  EXPECT_EQ(-32, s.histogram_first_exponent);
  ASSERT_EQ(33u, s.histogram_size);
  EXPECT_EQ(3u, s.histogram[0]);
  EXPECT_EQ(1u, s.histogram[32]);
  EXPECT_LT(s.min, 0);
  // Those of f16 have buckets of their own.
  const TensorStatistics half = of<uint16_t>(DH_F16, {0x0001, 0x8002, 0x03FF});
  EXPECT_EQ(-24, half.histogram_first_exponent);
  ASSERT_EQ(10u, half.histogram_size);
  EXPECT_EQ(1u, half.histogram[0]);
  EXPECT_EQ(1u, half.histogram[1]);
  EXPECT_EQ(1u, half.histogram[9]);
}

TEST(TensorStatistics, MagnitudesBeyondTheWindowCountInItsEnds) {
  const TensorStatistics s = of<float>(DH_F32, {1e-30f, 1e30f, -3e38f, 0x1p-32f, 0x1p31f});
  EXPECT_EQ(-32, s.histogram_first_exponent);
  ASSERT_EQ(64u, s.histogram_size);
  EXPECT_EQ(2u, s.histogram[0]);
  EXPECT_EQ(3u, s.histogram[63]);
  const TensorStatistics wide = of<double>(DH_F64, {1e-300, 1e300});
  EXPECT_EQ(1u, wide.histogram[0]);
  EXPECT_EQ(1u, wide.histogram[63]);
}

TEST(TensorStatistics, Saturation_IsAtTheLimitsOfTheType) {
  EXPECT_EQ(2u, of<uint16_t>(DH_F16, {0x7BFF, 0xFBFF, 0x7BFE, 0x7C00, 0}).saturated);
  EXPECT_EQ(2u, of<uint16_t>(DH_BF16, {0x7F7F, 0xFF7F, 0x7F7E, 0x7F80, 0}).saturated);
  EXPECT_EQ(2u, of<uint32_t>(DH_F32, {0x7F7FFFFF, 0xFF7FFFFF, 0x7F7FFFFE, 0x7F800000, 0}).saturated);
  EXPECT_EQ(2u, of<double>(DH_F64, {1.7976931348623157e308, -1.7976931348623157e308, 1e308}).saturated);
  EXPECT_EQ(2u, of<uint8_t>(DH_F8E4M3, {0x7E, 0xFE, 0x7D, 0x7F, 0}).saturated);
  EXPECT_EQ(2u, of<uint8_t>(DH_F8E5M2, {0x7B, 0xFB, 0x7A, 0x7C, 0}).saturated);
  EXPECT_EQ(2u, of<int8_t>(DH_I8, {-128, 127, -127, 126, 0}).saturated);
  EXPECT_EQ(2u, of<uint8_t>(DH_U8, {0, 255, 1, 254}).saturated);
  EXPECT_EQ(2u, of<int16_t>(DH_I16, {-32768, 32767, -32767, 0}).saturated);
  EXPECT_EQ(2u, of<uint16_t>(DH_U16, {0, 65535, 1}).saturated);
  EXPECT_EQ(2u, of<int32_t>(DH_I32, {INT32_MIN, INT32_MAX, 0, -1}).saturated);
  EXPECT_EQ(2u, of<uint32_t>(DH_U32, {0, UINT32_MAX, 1, 0x80000000}).saturated);
  EXPECT_EQ(2u, of<int64_t>(DH_I64, {INT64_MIN, INT64_MAX, 0, INT64_MAX - 1}).saturated);
  EXPECT_EQ(2u, of<uint64_t>(DH_U64, {0, UINT64_MAX, 1, UINT64_MAX - 1}).saturated);
  EXPECT_EQ(2u, of_bytes(DH_I4, 4, "\x78\x91", 2).saturated);  // -8, 7, 1, -7
  EXPECT_EQ(2u, of_bytes(DH_U4, 4, "\xF0\x1E", 2).saturated);
  EXPECT_EQ(0u, of<uint8_t>(DH_BOOL, {0, 1, 255}).saturated);
}

TEST(TensorStatistics, ZerosOfIntegersAreAtTheZeroPoint) {
  const int32_t minus_3 = -3, at_128 = 128, minus_128 = -128, far_off = 70000;
  EXPECT_EQ(2u, of<int8_t>(DH_I8, {-3, 0, 3, -3}, &minus_3).zeros);
  EXPECT_EQ(1u, of<uint8_t>(DH_U8, {128, 0, 0}, &at_128).zeros);
  EXPECT_EQ(0u, of<uint8_t>(DH_U8, {128, 0, 253}, &minus_3).zeros);
  EXPECT_EQ(1u, of<int16_t>(DH_I16, {128, 0, 0}, &at_128).zeros);
  EXPECT_EQ(0u, of<uint16_t>(DH_U16, {4464, 0, 0}, &far_off).zeros);
  EXPECT_EQ(1u, of<int32_t>(DH_I32, {70000, 0, 0}, &far_off).zeros);
  EXPECT_EQ(1u, of<int32_t>(DH_I32, {-3, 0, 0}, &minus_3).zeros);
  EXPECT_EQ(0u, of<uint32_t>(DH_U32, {0xFFFFFFFD, 0}, &minus_3).zeros);
  EXPECT_EQ(1u, of<int64_t>(DH_I64, {-3, 0, 0}, &minus_3).zeros);
  EXPECT_EQ(0u, of<uint64_t>(DH_U64, {0xFFFFFFFFFFFFFFFD, 0}, &minus_3).zeros);
  EXPECT_EQ(1u, of_bytes(DH_I4, 2, "\x0D", 1, &minus_3).zeros);
  EXPECT_EQ(2u, of<float>(DH_F32, {128, 0, 0}, &at_128).zeros);
  // A quantised ReLU is not saturated for being zero.
  const TensorStatistics relu = of<int8_t>(DH_I8, {-128, -128, -128, 5, 127}, &minus_128);
  EXPECT_EQ(3u, relu.zeros);
  EXPECT_EQ(4u, relu.saturated);
  EXPECT_DOUBLE_EQ(0.2, saturated_share(relu));
  EXPECT_DOUBLE_EQ(0.8, saturated_share(of<int8_t>(DH_I8, {-128, -128, -128, 5, 127})));
}

TEST(TensorStatistics, FourBits_LeaveOutThePaddingOfOddCounts) {
  const uint8_t data[] = {0x21, 0xF3, 0x88};  // 1 2 3 -1 -8, then padding that is not zero
  const TensorStatistics s = of_bytes(DH_I4, 5, data, sizeof data);
  EXPECT_EQ(5u, s.sampled);
  EXPECT_EQ(-8, s.min);
  EXPECT_EQ(3, s.max);
  EXPECT_DOUBLE_EQ(-0.6, s.mean);
  EXPECT_EQ(1u, s.saturated);
  ASSERT_EQ(4u, s.histogram_size);
  EXPECT_EQ(2u, s.histogram[0]);
  EXPECT_EQ(2u, s.histogram[1]);
  EXPECT_EQ(1u, s.histogram[3]);
  EXPECT_EQ(6u, of_bytes(DH_I4, 6, data, sizeof data).sampled);
  EXPECT_EQ(15, of_bytes(DH_U4, 5, data, sizeof data).max);
  EXPECT_EQ(1u, of_bytes(DH_U4, 1, data, 1).sampled);
  EXPECT_EQ(4u, of_bytes(DH_U4, 5, data, 2).sampled) << "the last byte did not come";
}

TEST(TensorStatistics, Raw_CountsBytesAlone) {
  const TensorStatistics s = of_bytes(DH_RAW, 3, "abc", 3);
  EXPECT_EQ(3u, s.count);
  EXPECT_EQ(0u, s.sampled + s.zeros + s.histogram_size);
  EXPECT_EQ(3u, of_bytes(99, 3, "abc", 3).count);
}

TEST(TensorStatistics, WhatExceedsTheCountIsIgnored_AndWhatIsMissingIsNotSampled) {
  const std::vector<float> values = {1, 2, 3, 100};
  EXPECT_EQ(3, of_bytes(DH_F32, 3, values.data(), 16).max);
  const TensorStatistics s = of_bytes(DH_F32, 9, values.data(), 16);
  EXPECT_EQ(9u, s.count);
  EXPECT_EQ(4u, s.sampled);
}

TEST(TensorStatistics, LargeOffsetDoesNotHideASmallVariance) {
  std::vector<float> values(100001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 16777215.0f : 16777214.0f;
  const TensorStatistics s = of(DH_F32, values);
  const double share = 50001.0 / 100001.0;
  EXPECT_NEAR(share * (1 - share), s.variance, 1e-14);
  EXPECT_NEAR(16777214 + share, s.mean, 1e-8);
  // With the first element far off the rest, and at the most inconvenient place.
  values[0] = 0;
  double sum = 0, squares = 0;  // exact: integers
  for (const float value : values) sum += static_cast<double>(value) - 16777214.0;
  for (const float value : values) squares += std::pow(static_cast<double>(value) - 16777214.0, 2);
  const double n = static_cast<double>(values.size());
  const double variance = squares / n - sum / n * (sum / n);
  EXPECT_NEAR(variance, of(DH_F32, values).variance, variance * 1e-12);
}

TEST(TensorStatistics, ConstantTensors_HaveNoVariance) {
  for (const size_t count : {2u, 255u, 256u, 257u, 100000u}) {
    const TensorStatistics f32 = of(DH_F32, std::vector<float>(count, 0.1f));
    EXPECT_EQ(0, f32.variance);
    EXPECT_EQ(static_cast<double>(0.1f), f32.mean);
    EXPECT_TRUE(is_constant(f32));
    EXPECT_EQ(0, of(DH_F64, std::vector<double>(count, 0.1)).variance);
    EXPECT_EQ(0, of(DH_I64, std::vector<int64_t>(count, INT64_MIN)).variance);
    EXPECT_EQ(0, of(DH_F16, std::vector<uint16_t>(count, 0x2E66)).variance);
    EXPECT_EQ(0, of(DH_I8, std::vector<int8_t>(count, -77)).variance);
  }
}

TEST(TensorStatistics, F64ThatOverflowsWhenSquared_HasAnInfiniteVariance) {
  EXPECT_EQ(INFINITY, of<double>(DH_F64, {1e200, -1e200}).variance);
  EXPECT_EQ(0, of<double>(DH_F64, {1e200, -1e200}).mean);
  EXPECT_EQ(INFINITY, of<double>(DH_F64, {1e308, -1e308, 5}).variance);
}

TEST(TensorStatistics, TriggersAskForConstantSaturatedAndRange) {
  EXPECT_TRUE(is_constant(of<float>(DH_F32, {kInf, kInf})));
  EXPECT_FALSE(is_constant(of<float>(DH_F32, {kInf, -kInf})));
  EXPECT_FALSE(is_constant(of<float>(DH_F32, {1, 1, kInf})));
  EXPECT_FALSE(is_constant(of<float>(DH_F32, {1, 1, kNan})));
  EXPECT_TRUE(is_constant(of<float>(DH_F32, {0.0f, -0.0f})));
  EXPECT_TRUE(is_constant(of<uint8_t>(DH_BOOL, {1, 2, 255})));
  EXPECT_FALSE(any_not_finite(of<float>(DH_F32, {1, 2})));
  EXPECT_TRUE(any_not_finite(of<float>(DH_F32, {1, -kInf})));
  const TensorStatistics s = of<float>(DH_F32, {-6, 6});
  EXPECT_FALSE(exceeds(s, -6, 6));
  EXPECT_TRUE(exceeds(s, -5, 6));
  EXPECT_TRUE(exceeds(s, -6, 5));
  EXPECT_TRUE(exceeds(of<float>(DH_F32, {1, kInf}), -6, 6));
  EXPECT_FALSE(exceeds(of<float>(DH_F32, {1, kInf}), -6, INFINITY));
  EXPECT_TRUE(exceeds(of<float>(DH_F32, {-kInf}), -6, 6));
}

std::vector<uint8_t> random_bytes(std::mt19937& random, size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  return data;
}

TEST(TensorStatistics, AnyCutGivesTheSame_BitForBit) {
  std::mt19937 random(5);
  static StatisticsMeter meter;
  for (int round = 0; round < 1000; ++round) {
    const uint32_t dtype = 1 + static_cast<uint32_t>(random() % DH_U4);
    const bool is_nibbles = dtype_bits(dtype) == 4;
    const size_t unit_bytes = is_nibbles ? 1 : dtype_bits(dtype) / 8;
    const std::vector<uint8_t> data = random_bytes(random, (1 + random() % 1500) * unit_bytes);
    const uint64_t count = is_nibbles ? data.size() * 2 - random() % 2 : data.size() / unit_bytes;
    const uint64_t limit = random() % 2 == 0 ? 0 : 1 + random() % count;
    TensorStatistics whole, cut;
    meter.begin(dtype, count, nullptr, limit);
    meter.update(data.data(), data.size());
    meter.finish(&whole);
    meter.begin(dtype, count, nullptr, limit);
    const size_t longest = 1 + random() % (random() % 2 == 0 ? 8 : 900);
    for (size_t at = 0; at < data.size();) {
      const size_t piece = std::min<size_t>(data.size() - at, random() % (longest + 1) * unit_bytes);
      // Of its own, so that a sanitizer sees what lies beyond, and at any address.
      std::vector<uint8_t> copy(piece + 1);
      std::copy_n(data.begin() + static_cast<ptrdiff_t>(at), piece, copy.begin() + 1);
      meter.update(copy.data() + 1, piece);
      at += piece;
    }
    meter.finish(&cut);
    expect_same(whole, cut);
    if (HasFailure()) FAIL() << dtype_name(dtype) << " x " << count << ", sample limit " << limit;
  }
}

TEST(TensorStatistics, SampleIsEveryKthElement_AndKeepsToItsLimit) {
  std::mt19937 random(6);
  static StatisticsMeter meter;
  for (int round = 0; round < 500; ++round) {
    std::vector<float> values(1 + random() % 5000);
    for (float& value : values) value = static_cast<float>(random() % 1000);
    const uint64_t limit = 1 + random() % (values.size() + 10);
    uint64_t k = (values.size() + limit - 1) / limit;
    if (k % 2 == 0) ++k;
    std::vector<float> chosen;
    for (size_t i = 0; i < values.size(); i += k) chosen.push_back(values[i]);
    TensorStatistics s;
    meter.begin(DH_F32, values.size(), nullptr, limit);
    meter.update(values.data(), values.size() * 4);
    meter.finish(&s);
    ASSERT_LE(s.sampled, limit);
    TensorStatistics expected = of(DH_F32, chosen);
    expected.count = values.size();
    expect_same(expected, s);
    ASSERT_FALSE(HasFailure()) << values.size() << ", limit " << limit;
  }
}

TEST(TensorStatistics, SampleOfFourBits_KeepsToItsLimit) {
  std::mt19937 random(8);
  static StatisticsMeter meter;
  for (int round = 0; round < 500; ++round) {
    const std::vector<uint8_t> data = random_bytes(random, 1 + random() % 500);
    const uint64_t count = data.size() * 2 - random() % 2;
    const uint64_t limit = 2 + random() % (count + 5);
    TensorStatistics s;
    meter.begin(DH_U4, count, nullptr, limit);
    meter.update(data.data(), data.size());
    meter.finish(&s);
    ASSERT_LE(s.sampled, limit);
    ASSERT_GE(s.sampled, 1u);
  }
}

TEST(TensorStatistics, AffordableSample_IsNeverMoreThanThereIs) {
  for (uint32_t dtype = DH_RAW; dtype <= DH_U4 + 1; ++dtype) {
    for (const uint64_t count : {0ull, 1ull, 255ull, 257ull, 100000ull, ~0ull}) {
      EXPECT_LE(affordable_sample(dtype, count), count);
    }
  }
  EXPECT_EQ(256u, affordable_sample(DH_F32, 1000));
  EXPECT_EQ(1000000u / 32, affordable_sample(DH_F32, 1000000));
}

TEST(TensorStatistics, HugeCountsNeedNoMemory) {
  static StatisticsMeter meter;
  const std::vector<uint8_t> zeros(1 << 20);
  TensorStatistics s;
  meter.begin(DH_U8, uint64_t{5} << 30, nullptr, 1000);
  for (int i = 0; i < 5 << 10; ++i) meter.update(zeros.data(), zeros.size());
  meter.finish(&s);
  EXPECT_EQ(uint64_t{5} << 30, s.count);
  EXPECT_LE(s.sampled, 1000u);
  EXPECT_EQ(s.sampled, s.zeros);
}

}  // namespace
}  // namespace dumphook
