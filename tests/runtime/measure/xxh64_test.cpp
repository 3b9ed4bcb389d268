// SPDX-License-Identifier: Apache-2.0
#include "measure/xxh64.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace dumphook {
namespace {

constexpr uint64_t kSeed = 0x9E3779B185EBCA8Du;

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 7 + 3);
  return data;
}

// From the Python package xxhash 3 (the reference implementation) over the bytes of pattern().
struct Vector {
  size_t bytes;
  uint64_t unseeded;
  uint64_t seeded;
};
constexpr Vector kVectors[] = {
    {0, 0xef46db3751d8e999, 0x0b303d920ec349df},   {1, 0x1f25c8d0bc1f4bb6, 0x4e38da78585833ff},
    {3, 0x31d2363f52e564c9, 0xdb3c6b59a9bf9c25},   {4, 0x9bb64b7d66ee9fda, 0xdce74de74556ff94},
    {7, 0x9a7b149959ce60d8, 0xba5b6f2cc49d11a0},   {8, 0xdab99d95c6f90092, 0xf66e0ca3301b75a3},
    {31, 0xa2aa5f33cc4a6119, 0x66f647a52a03a377},  {32, 0x23c3c17ef790fd97, 0x01b323691afef034},
    {33, 0x50a7cfc7ba588784, 0x527f3caeff0c9292},  {63, 0x5e3e54b431c7493c, 0xca00b70007169fc7},
    {64, 0x0eb64b3ef6eeb01f, 0x34d5a64ae8dc6e9f},  {100, 0xa61f8d4c170fe531, 0x919ccda367e2a61e},
    {255, 0x39ae55a29989206f, 0x4a5d8017628977f1}, {300, 0x240004dbee0ba6dc, 0x026905bf2f4f910b},
};

TEST(Xxh64, GivesTheReferenceValues) {
  for (const Vector& vector : kVectors) {
    const std::vector<uint8_t> data = pattern(vector.bytes);
    EXPECT_EQ(vector.unseeded, xxh64(data.data(), data.size(), 0)) << vector.bytes;
    EXPECT_EQ(vector.seeded, xxh64(data.data(), data.size(), kSeed)) << vector.bytes;
  }
  EXPECT_EQ(0x44bc2cf5ad770999u, xxh64("abc", 3, 0));
}

TEST(Xxh64, AnyCutGivesTheSameDigest) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<uint8_t> data = pattern(random() % 500);
    Xxh64 hash(kSeed);
    for (size_t at = 0; at < data.size();) {
      const size_t piece = std::min<size_t>(data.size() - at, random() % 70);
      hash.update(data.data() + at, piece);
      at += piece;
    }
    ASSERT_EQ(xxh64(data.data(), data.size(), kSeed), hash.digest()) << data.size();
  }
}

TEST(Xxh64, Digest_DoesNotEndTheHash) {
  Xxh64 hash;
  hash.update("ab", 2);
  (void)hash.digest();
  hash.update("c", 1);
  EXPECT_EQ(0x44bc2cf5ad770999u, hash.digest());
}

}  // namespace
}  // namespace dumphook
