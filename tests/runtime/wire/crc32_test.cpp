// SPDX-License-Identifier: Apache-2.0
#include "wire/crc32.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dumphook {
namespace {

// The definition: one bit at a time.
uint32_t by_definition(const uint8_t* data, size_t bytes) {
  uint32_t reg = 0xFFFFFFFF;
  for (size_t i = 0; i < bytes; ++i) {
    reg ^= data[i];
    for (int bit = 0; bit < 8; ++bit) reg = (reg >> 1) ^ ((reg & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~reg;
}

std::vector<uint8_t> random_bytes(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  return data;
}

TEST(Crc32, GivesTheCheckValueOfTheStandard) {
  EXPECT_EQ(0xCBF43926u, crc32(0, "123456789", 9));
  EXPECT_EQ(0u, crc32(0, "", 0));
  EXPECT_EQ(0xE8B7BE43u, crc32(0, "a", 1));
}

TEST(Crc32, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  const std::vector<uint8_t> data = random_bytes(1100, 3);
  for (size_t bytes = 0; bytes <= 600; ++bytes) {
    const uint8_t* from = data.data() + bytes % 17;
    const uint32_t expected = by_definition(from, bytes);
    ASSERT_EQ(expected, crc32(0, from, bytes)) << bytes;
    ASSERT_EQ(expected, crc32_portable(0, from, bytes)) << bytes;
  }
}

TEST(Crc32, ChainsAndCombines) {
  std::mt19937 random(4);
  const std::vector<uint8_t> data = random_bytes(70000, 5);
  for (int i = 0; i < 300; ++i) {
    const size_t total = random() % data.size();
    const size_t cut = total == 0 ? 0 : random() % total;
    const uint32_t whole = crc32(0, data.data(), total);
    const uint32_t head = crc32(0, data.data(), cut);
    ASSERT_EQ(whole, crc32(head, data.data() + cut, total - cut));
    ASSERT_EQ(whole, crc32_combine(head, crc32(0, data.data() + cut, total - cut), total - cut));
  }
}

}  // namespace
}  // namespace dumphook
