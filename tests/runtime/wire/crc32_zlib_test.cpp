// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

#include "wire/crc32.h"

namespace {

TEST(Crc32, AgreesWithZlib) {
  std::mt19937 random(6);
  std::vector<uint8_t> data(1 << 20);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  for (int i = 0; i < 200; ++i) {
    const size_t from = random() % 64;
    const size_t bytes = random() % (i < 190 ? size_t{5000} : data.size() - 64);
    const uint32_t start = static_cast<uint32_t>(random());
    const uint32_t expected = static_cast<uint32_t>(::crc32(start, data.data() + from, static_cast<uInt>(bytes)));
    ASSERT_EQ(expected, dumphook::crc32(start, data.data() + from, bytes)) << from << " " << bytes;
    ASSERT_EQ(expected, dumphook::crc32_portable(start, data.data() + from, bytes)) << from << " " << bytes;
    const uint32_t other = static_cast<uint32_t>(random());
    ASSERT_EQ(static_cast<uint32_t>(::crc32_combine(start, other, static_cast<z_off_t>(bytes))),
              dumphook::crc32_combine(start, other, bytes));
  }
}

}  // namespace
