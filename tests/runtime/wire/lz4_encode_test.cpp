// SPDX-License-Identifier: Apache-2.0
// Our encoder against lz4's decoder.
#include "wire/lz4_encode.h"

#include <gtest/gtest.h>
#include <lz4.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "wire/format.h"
#include "wire/lz4_decode.h"

namespace dumphook {
namespace {

alignas(8) uint8_t state[kLz4StateBytes];

ConstBytes view(const std::vector<uint8_t>& data) { return ConstBytes(data.data(), data.size()); }
Bytes view(std::vector<uint8_t>& data) { return Bytes(data.data(), data.size()); }

enum Kind { kZeros, kNoise, kRuns, kText, kSparse, kFarRepeat, kKinds };

std::vector<uint8_t> sample(int kind, size_t bytes) {
  std::mt19937 random(static_cast<unsigned>(bytes) * 8 + static_cast<unsigned>(kind));
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    switch (kind) {
      case kZeros: break;
      case kNoise: data[i] = static_cast<uint8_t>(random()); break;
      case kRuns: data[i] = static_cast<uint8_t>(i / 100); break;
      case kText: data[i] = static_cast<uint8_t>("0123 conv 1.25, "[(i * i / 7 + random() % 3) % 16]); break;
      case kSparse: data[i] = static_cast<uint8_t>(random() % 8 == 0 ? random() : 0); break;
      case kFarRepeat:  // farther than an offset reaches, and just within
        data[i] = static_cast<uint8_t>(i < 65530 || i % 65536 < 3 ? random() : data[i - 65530]);
        break;
      default: break;
    }
  }
  return data;
}

std::vector<uint8_t> encoded(const std::vector<uint8_t>& raw, size_t room, unsigned acceleration = 1) {
  std::vector<uint8_t> block(room);
  block.resize(lz4_encode(view(raw), view(block), state, acceleration));
  block.shrink_to_fit();
  return block;
}

void expect_comes_back(const std::vector<uint8_t>& raw, const std::vector<uint8_t>& block) {
  std::vector<uint8_t> back(raw.size() + 1);
  ASSERT_EQ(static_cast<int>(raw.size()),
            LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(back.data()),
                                static_cast<int>(block.size()), static_cast<int>(back.size())));
  back.resize(raw.size());
  ASSERT_EQ(raw, back);
}

// The end conditions of lz4_Block_format.md, which lz4's present decoder is lenient about.
void expect_well_formed(const std::vector<uint8_t>& block, size_t raw_bytes) {
  size_t at = 0, made = 0;
  const auto length = [&](unsigned bits) {
    size_t value = bits;
    if (bits == 15) {
      do value += block.at(at);
      while (block.at(at++) == 255);
    }
    return value;
  };
  while (true) {
    const unsigned token = block.at(at++);
    const size_t literals = length(token >> 4);
    at += literals;
    made += literals;
    if (at == block.size()) {
      EXPECT_EQ(0u, token & 15);
      EXPECT_TRUE(literals >= 5 || made == literals);
      break;
    }
    ASSERT_LT(at + 2, block.size());
    const size_t offset = block[at] | size_t{block[at + 1]} << 8;
    at += 2;
    EXPECT_GT(offset, 0u);
    EXPECT_LE(offset, made);
    EXPECT_LE(made + 12, raw_bytes);
    made += length(token & 15) + 4;
    EXPECT_LE(made + 5, raw_bytes);
  }
  EXPECT_EQ(raw_bytes, made);
}

TEST(Lz4Encode, AnySize_ComesBack) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (size_t bytes = 0; bytes <= 600; ++bytes) {
      SCOPED_TRACE(std::to_string(kind) + ", " + std::to_string(bytes));
      const std::vector<uint8_t> raw = sample(kind, bytes);
      const std::vector<uint8_t> block = encoded(raw, bytes + bytes / 255 + 16);
      ASSERT_FALSE(block.empty());
      expect_comes_back(raw, block);
      expect_well_formed(block, bytes);
    }
  }
}

TEST(Lz4Encode, LargeOnes_ComeBack) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (size_t bytes : {4095u, 4096u, 4097u, 32768u, 65535u, 65536u, 65537u, 65549u, 131072u, 131085u, 1u << 20}) {
      for (unsigned acceleration : {1u, 4u, 100u}) {
        SCOPED_TRACE(std::to_string(kind) + ", " + std::to_string(bytes));
        const std::vector<uint8_t> raw = sample(kind, bytes);
        const std::vector<uint8_t> block = encoded(raw, bytes + bytes / 255 + 16, acceleration);
        expect_comes_back(raw, block);
        expect_well_formed(block, bytes);
      }
    }
  }
}

// No match; one with a length of two bytes; one after literals.
TEST(Lz4Encode, MakesTheSameBytesEverywhere) {
  const std::vector<uint8_t> tiny = {1, 2, 3};
  EXPECT_EQ((std::vector<uint8_t>{0x30, 1, 2, 3}), encoded(tiny, 16));
  EXPECT_EQ((std::vector<uint8_t>{0x1F, 0, 1, 0, 75, 0x50, 0, 0, 0, 0, 0}), encoded(sample(kZeros, 100), 100));
  const std::string word = "k7#Qz!mP_k7#Qz!mP_12345";
  const std::vector<uint8_t> twice(word.begin(), word.end());
  std::vector<uint8_t> expected = {0x95};
  expected.insert(expected.end(), twice.begin(), twice.begin() + 9);
  expected.insert(expected.end(), {9, 0, 0x50, '1', '2', '3', '4', '5'});
  EXPECT_EQ(expected, encoded(twice, 30));
}

TEST(Lz4Encode, IsAboutAsTightAsLz4) {
  for (int kind : {kRuns, kText, kSparse}) {
    for (size_t bytes : {32768u, 1u << 20}) {
      const std::vector<uint8_t> raw = sample(kind, bytes);
      std::vector<char> theirs(static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes))));
      const int their_bytes = LZ4_compress_default(reinterpret_cast<const char*>(raw.data()), theirs.data(),
                                                   static_cast<int>(bytes), static_cast<int>(theirs.size()));
      EXPECT_LE(static_cast<double>(encoded(raw, 2 * bytes).size()), 1.03 * their_bytes) << kind << ", " << bytes;
    }
  }
}

TEST(Lz4Encode, WhatFits_IsNeverRefused_AndNothingElseIsTouched) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (size_t bytes : {0u, 1u, 12u, 13u, 20u, 64u, 300u, 700u, 4096u}) {
      SCOPED_TRACE(std::to_string(kind) + ", " + std::to_string(bytes));
      const std::vector<uint8_t> raw = sample(kind, bytes);
      const std::vector<uint8_t> whole = encoded(raw, bytes + bytes / 255 + 16);
      for (size_t room = 0; room < whole.size() + 20; ++room) {
        std::vector<uint8_t> block(room + 32, uint8_t{0xA5});
        const size_t written = lz4_encode(view(raw), view(block).first(room), state);
        ASSERT_EQ(room < whole.size() ? 0 : whole.size(), written) << room;
        ASSERT_TRUE(std::equal(block.begin(), block.begin() + static_cast<ptrdiff_t>(written), whole.begin()));
        ASSERT_TRUE(std::all_of(block.end() - 32, block.end(), [](uint8_t b) { return b == 0xA5; })) << room;
      }
    }
  }
}

TEST(Lz4Encode, WhatIsLargerThanAPart_IsRefused) {
  const std::vector<uint8_t> raw(kMaxPartRawBytes + 1);
  EXPECT_TRUE(encoded(raw, 1 << 20).empty());
}

TEST(Lz4Decode, WantsExactlyTheRawSize) {
  const std::vector<uint8_t> raw = sample(kRuns, 4096), block = encoded(raw, 4096);
  std::vector<uint8_t> decoded(raw.size() + 1);
  EXPECT_TRUE(lz4_decode(view(block), view(decoded).first(raw.size())));
  EXPECT_FALSE(lz4_decode(view(block), view(decoded)));
  EXPECT_FALSE(lz4_decode(view(block), view(decoded).first(raw.size() - 1)));
  EXPECT_FALSE(lz4_decode(view(block).first(block.size() - 1), view(decoded).first(raw.size())));
  EXPECT_FALSE(lz4_decode(ConstBytes(), view(decoded)));
}

TEST(Lz4Decode, OfAnyBytesStaysInside) {
  std::mt19937 random(8);
  const std::vector<uint8_t> block = encoded(sample(kRuns, 2000), 2000);
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> broken = block;
    for (size_t n = 1 + random() % 4; n > 0; --n) broken[random() % broken.size()] = static_cast<uint8_t>(random());
    std::vector<uint8_t> decoded(random() % 3000);
    (void)lz4_decode(view(broken), view(decoded));
  }
}

}  // namespace
}  // namespace dumphook
