// SPDX-License-Identifier: Apache-2.0
#include "wire/lz4_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace dumphook {
namespace {

alignas(8) uint8_t state[kLz4StateBytes];

ConstBytes view(const std::vector<uint8_t>& data) { return ConstBytes(data.data(), data.size()); }
Bytes view(std::vector<uint8_t>& data) { return Bytes(data.data(), data.size()); }

std::vector<uint8_t> runs(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i / 100);
  return data;
}

std::vector<uint8_t> noise(size_t bytes) {
  std::mt19937 random(7);
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  return data;
}

TEST(Lz4, WhatRepeats_ComesBackFromFewerBytes) {
  const std::vector<uint8_t> raw = runs(1 << 20);
  std::vector<uint8_t> block(raw.size());
  const size_t bytes = lz4_encode(view(raw), view(block), state);
  ASSERT_GT(bytes, 0u);
  EXPECT_LT(bytes, raw.size() / 10);
  std::vector<uint8_t> decoded(raw.size());
  ASSERT_TRUE(lz4_decode(view(block).first(bytes), view(decoded)));
  EXPECT_EQ(raw, decoded);
}

TEST(Lz4, WhatDoesNotFit_IsRefused) {
  std::vector<uint8_t> block(100000);
  EXPECT_EQ(0u, lz4_encode(view(noise(100000)), view(block), state));
  EXPECT_EQ(0u, lz4_encode(view(runs(1000)), Bytes(), state));
}

TEST(Lz4, Encode_StaysInsideASmallBuffer) {
  const std::vector<uint8_t> raw = runs(4096);
  std::vector<uint8_t> block(raw.size());
  const size_t needed = lz4_encode(view(raw), view(block), state);
  for (size_t room = 0; room < needed + 8; ++room) {
    std::fill(block.begin(), block.end(), uint8_t{0xA5});
    const size_t bytes = lz4_encode(view(raw), view(block).first(room), state);
    EXPECT_LE(bytes, room);
    EXPECT_TRUE(
        std::all_of(block.begin() + static_cast<ptrdiff_t>(room), block.end(), [](uint8_t b) { return b == 0xA5; }));
  }
}

TEST(Lz4, Decode_WantsExactlyTheRawSize) {
  const std::vector<uint8_t> raw = runs(4096);
  std::vector<uint8_t> block(raw.size()), decoded(raw.size() + 1);
  const size_t bytes = lz4_encode(view(raw), view(block), state);
  EXPECT_TRUE(lz4_decode(view(block).first(bytes), view(decoded).first(raw.size())));
  EXPECT_FALSE(lz4_decode(view(block).first(bytes), view(decoded)));
  EXPECT_FALSE(lz4_decode(view(block).first(bytes), view(decoded).first(raw.size() - 1)));
  EXPECT_FALSE(lz4_decode(view(block).first(bytes - 1), view(decoded).first(raw.size())));
  EXPECT_FALSE(lz4_decode(ConstBytes(), view(decoded)));
}

TEST(Lz4, Decode_OfAnyBytesStaysInside) {
  std::mt19937 random(8);
  const std::vector<uint8_t> raw = runs(2000);
  std::vector<uint8_t> block(raw.size());
  block.resize(lz4_encode(view(raw), view(block), state));
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> broken = block;
    for (size_t n = 1 + random() % 4; n > 0; --n) broken[random() % broken.size()] = static_cast<uint8_t>(random());
    std::vector<uint8_t> decoded(random() % 3000);
    (void)lz4_decode(view(broken), view(decoded));
  }
}

}  // namespace
}  // namespace dumphook
