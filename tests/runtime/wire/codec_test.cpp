// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sample_tensors.h"
#include "wire/format.h"

namespace dumphook {
namespace {

using dumphook_test::Kind;
using dumphook_test::sample_name;
using dumphook_test::sample_tensor;

alignas(8) uint8_t scratch[kCodecScratchBytes];

struct Encoded {
  uint8_t codec = 0xFF;
  std::vector<uint8_t> data;
};

// Into memory of exactly the size that encode_part may have.
Encoded encode(uint32_t dtype, const std::vector<uint8_t>& raw) {
  Encoded encoded;
  encoded.data.resize(raw.size());
  const size_t bytes = encode_part(dtype, ConstBytes(raw.data(), raw.size()),
                                   Bytes(encoded.data.data(), encoded.data.size()), scratch, &encoded.codec);
  EXPECT_LE(bytes, raw.size());
  encoded.data.resize(std::min(bytes, raw.size()));
  encoded.data.shrink_to_fit();  // a sanitizer sees what lies behind
  return encoded;
}

bool decode(uint32_t dtype, const Encoded& encoded, std::vector<uint8_t>* raw) {
  return decode_part(dtype, encoded.codec, ConstBytes(encoded.data.data(), encoded.data.size()),
                     Bytes(raw->data(), raw->size()), scratch);
}

void expect_round_trip(uint32_t dtype, Kind kind, size_t bytes) {
  SCOPED_TRACE(sample_name(dtype, kind, bytes));
  const std::vector<uint8_t> raw = sample_tensor(dtype, kind, bytes, 1);
  const Encoded encoded = encode(dtype, raw);
  EXPECT_TRUE(encoded.codec == kCodecRaw || encoded.data.size() * 50 <= raw.size() * 49);
  std::vector<uint8_t> decoded(raw.size(), 0xA5);
  ASSERT_TRUE(decode(dtype, encoded, &decoded));
  ASSERT_TRUE(raw == decoded);
}

TEST(Codec, EveryTypeAndContent_ComesBackInEverySmallSize) {
  for (uint32_t dtype = DH_RAW; dtype <= DH_U4 + 1; ++dtype) {
    for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind) {
      for (size_t bytes = 0; bytes <= 257; ++bytes) {
        expect_round_trip(dtype, static_cast<Kind>(kind), bytes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Codec, EveryTypeAndContent_ComesBackInLargeSizesWithOddEnds) {
  for (uint32_t dtype = DH_RAW; dtype <= DH_U4; ++dtype) {
    for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind) {
      for (size_t bytes : {1000u, 4099u, 8192u, 20001u, 32767u, 32768u, 32769u, 65537u, 131072u, 300013u}) {
        expect_round_trip(dtype, static_cast<Kind>(kind), bytes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Codec, MoreThanAMebibyte_ComesBack) {
  expect_round_trip(DH_F32, Kind::mixed, (3u << 20) + 4);
  expect_round_trip(DH_I8, Kind::mixed, (3u << 20) + 1);
}

struct Wanted {
  uint32_t dtype;
  Kind kind;
  uint8_t codec;
  double ratio;
};

TEST(Codec, ChoosesByContent) {
  constexpr Wanted kWanted[] = {
      {DH_F32, Kind::gauss, kCodecPacked, 1.17},   {DH_F32, Kind::relu, kCodecPacked, 2.1},
      {DH_F32, Kind::sparse, kCodecPacked, 16},    {DH_F32, Kind::zeros, kCodecPacked, 100},
      {DH_F32, Kind::noise, kCodecRaw, 1},         {DH_F32, Kind::repeated, kCodecPacked, 20},
      {DH_BF16, Kind::gauss, kCodecPacked, 1.45},  {DH_BF16, Kind::relu, kCodecPacked, 2.4},
      {DH_F16, Kind::gauss, kCodecPacked, 1.13},   {DH_F16, Kind::relu, kCodecPacked, 1.9},
      {DH_F64, Kind::gauss, kCodecPacked, 1.1},    {DH_F64, Kind::relu, kCodecPacked, 2},
      {DH_F8E4M3, Kind::gauss, kCodecPacked, 1.1}, {DH_I8, Kind::quantized, kCodecPacked, 1.7},
      {DH_U8, Kind::quantized, kCodecPacked, 1.7}, {DH_I16, Kind::gauss, kCodecPacked, 1.6},
      {DH_I32, Kind::gauss, kCodecPacked, 1.25},   {DH_BOOL, Kind::zeros, kCodecPacked, 100},
      {DH_I8, Kind::noise, kCodecRaw, 1},          {DH_RAW, Kind::repeated, kCodecLz4, 20},
  };
  for (const Wanted& wanted : kWanted) {
    SCOPED_TRACE(sample_name(wanted.dtype, wanted.kind, 1 << 18));
    const std::vector<uint8_t> raw = sample_tensor(wanted.dtype, wanted.kind, 1 << 18, 3);
    const Encoded encoded = encode(wanted.dtype, raw);
    EXPECT_EQ(wanted.codec, encoded.codec);
    EXPECT_GE(static_cast<double>(raw.size()) / static_cast<double>(encoded.data.size()), wanted.ratio);
  }
}

TEST(Codec, WhatSavesUnderTwoPercent_StaysRaw) {
  for (uint32_t dtype : {DH_RAW, DH_F32, DH_U8}) {
    for (size_t repeated : {1000u, 1900u, 8000u}) {
      std::vector<uint8_t> raw = sample_tensor(dtype, Kind::noise, 100000, 7);
      std::fill_n(raw.begin() + 40000, repeated, uint8_t{0});
      const Encoded encoded = encode(dtype, raw);
      EXPECT_TRUE(repeated > 2000 || encoded.codec == kCodecRaw);
      EXPECT_TRUE(encoded.codec == kCodecRaw || encoded.data.size() * 100 <= raw.size() * 98);
    }
  }
}

TEST(Codec, TheSameBytes_AreEncodedTheSameWhateverTheScratchHeld) {
  const std::vector<uint8_t> raw = sample_tensor(DH_F16, Kind::mixed, 200000, 5);
  std::fill(std::begin(scratch), std::end(scratch), uint8_t{0});
  const Encoded first = encode(DH_F16, raw);
  std::fill(std::begin(scratch), std::end(scratch), uint8_t{0xFF});
  const Encoded second = encode(DH_F16, raw);
  EXPECT_EQ(first.codec, second.codec);
  EXPECT_EQ(first.data, second.data);
}

TEST(Codec, Decode_RefusesEveryTruncationAndEveryAddition) {
  for (uint32_t dtype : {DH_F64, DH_F32, DH_BF16, DH_F8E4M3, DH_I8, DH_RAW}) {
    for (Kind kind : {Kind::relu, Kind::gauss, Kind::repeated}) {
      const std::vector<uint8_t> raw = sample_tensor(dtype, kind, 4099, 2);
      const Encoded whole = encode(dtype, raw);
      for (size_t bytes = 0; bytes < whole.data.size(); ++bytes) {
        const Encoded cut{whole.codec, {whole.data.begin(), whole.data.begin() + static_cast<ptrdiff_t>(bytes)}};
        std::vector<uint8_t> decoded(raw.size());
        ASSERT_FALSE(decode(dtype, cut, &decoded)) << sample_name(dtype, kind, bytes);
      }
      Encoded longer = whole;
      longer.data.push_back(0);
      std::vector<uint8_t> decoded(raw.size());
      EXPECT_FALSE(decode(dtype, longer, &decoded));
    }
  }
}

TEST(Codec, Decode_OfAnyBytesStaysInside) {
  std::mt19937 engine(8);
  const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
  for (int round = 0; round < 6000; ++round) {
    const uint32_t dtype = random() % (DH_U4 + 2);
    const auto kind = static_cast<Kind>(random() % static_cast<unsigned>(Kind::count));
    Encoded broken = encode(dtype, sample_tensor(dtype, kind, random() % 3000, random() % 20));
    if (broken.data.empty()) continue;
    for (size_t n = 1 + random() % 4; n > 0; --n) {
      const size_t range = random() % 2 == 0 ? std::min<size_t>(broken.data.size(), 16) : broken.data.size();
      broken.data[random() % range] = static_cast<uint8_t>(random());
    }
    if (random() % 8 == 0) broken.codec = static_cast<uint8_t>(random() % 4);
    std::vector<uint8_t> decoded(random() % 4000);
    (void)decode(dtype, broken, &decoded);
    (void)decode(random() % (DH_U4 + 2), broken, &decoded);
  }
}

// Literal bytes: what FORMAT.md says, read by hand.
TEST(Codec, DecodesAMaskedBlock) {
  // f32: 1, 0, -2, 0. Rotated left by one: 0x7F000000, 0x80000001.
  const Encoded encoded{kCodecPacked,
                        {3, 1, 0x7F, 1, 1, 0,  // masked; one level: low 0x7F, one bit, one escape
                         0x05,                 // values 0 and 2 are not zero
                         0, 0, 0, 1, 0, 0,     // their lower three bytes
                         0x02,                 // fields 0 and 1: the second is an escape
                         0}};                  // distance 1, less the window of 1
  const std::vector<uint8_t> wanted = {0, 0, 0x80, 0x3F, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0};
  std::vector<uint8_t> decoded(16);
  ASSERT_TRUE(decode(DH_F32, encoded, &decoded));
  EXPECT_EQ(wanted, decoded);
}

TEST(Codec, DecodesLevelsOfBytes) {
  // Level 1: low 0xFE, 2 bits: 0xFE, 0xFF, 0. Level 2: low 0xFF, 1 bit: escape 0xFF, that is 0xFE - 1. Then 7 + 3 +
  // 0xFE.
  const Encoded encoded{kCodecPacked, {2, 2, 0xFE, 2, 2, 0, 0xFF, 1, 1, 0, 0xE4, 0x03, 0x02, 7}};
  const std::vector<uint8_t> wanted = {0xFE, 0xFF, 0x00, 0xFD, 0x08};
  std::vector<uint8_t> decoded(5);
  ASSERT_TRUE(decode(DH_U8, encoded, &decoded));
  EXPECT_EQ(wanted, decoded);
}

TEST(Codec, UnknownCodecs_AreRefused) {
  std::vector<uint8_t> decoded(4);
  EXPECT_FALSE(decode(DH_U8, {3, {1, 2, 3, 4}}, &decoded));
  EXPECT_FALSE(codec_is_known(3));
  EXPECT_STREQ("packed", codec_name(kCodecPacked));
  EXPECT_STREQ("?", codec_name(3));
}

}  // namespace
}  // namespace dumphook
