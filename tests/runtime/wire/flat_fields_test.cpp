// SPDX-License-Identifier: Apache-2.0
#include "wire/flat_fields.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "wire/crc32.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

// A table at 12 with one u32 field; its vtable lies before it.
const uint8_t kSmall[] = {12, 0, 0, 0, 6, 0, 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0x44, 0x33, 0x22, 0x11};

TEST(FlatFields, FindsAFieldByItsNumber) {
  EXPECT_EQ(12u, flat_root(kSmall));
  EXPECT_EQ(16u, flat_field(kSmall, 12, 4, 4));
  EXPECT_EQ(0u, flat_field(kSmall, 12, 6, 4)) << "beyond the vtable";
  EXPECT_EQ(0u, flat_field(kSmall, 12, 4, 8)) << "wider than what remains";
  EXPECT_EQ(0u, flat_field(kSmall, 0, 4, 4)) << "no table";
  EXPECT_EQ(16u, find_crc_field(kSmall));
}

TEST(FlatFields, VtableThatRunsOutOfTheBuffer_HasNoFields) {
  // A table at 4; its vtable at 8 says it is 8 bytes long, but the buffer ends after 6 of them.
  const uint8_t cut[] = {4, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF, 8, 0, 4, 0, 1, 0};
  EXPECT_EQ(0u, flat_field(cut, 4, 4, 1));
  EXPECT_EQ(0u, flat_field(cut, 4, 6, 1));
}

TEST(FlatFields, MessageCrc_TakesItsOwnFieldAsZero) {
  uint8_t zeroed[sizeof kSmall];
  memcpy(zeroed, kSmall, sizeof kSmall);
  store_le(zeroed + 16, uint32_t{0});
  EXPECT_EQ(crc32(0, zeroed, sizeof zeroed), message_crc(kSmall, 16));
  EXPECT_FALSE(check_message_crc(kSmall));
  store_le(zeroed + 16, message_crc(zeroed, 16));
  EXPECT_TRUE(check_message_crc(zeroed));
  for (size_t i = 0; i < sizeof zeroed; ++i) {
    zeroed[i] ^= 1;
    EXPECT_FALSE(check_message_crc(zeroed)) << i;
    zeroed[i] ^= 1;
  }
}

TEST(FlatFields, OnAnyBytes_StaysInside) {
  std::mt19937 random(9);
  for (int i = 0; i < 200000; ++i) {
    std::vector<uint8_t> buffer(random() % 40);  // on the heap, so that a sanitizer sees a step outside
    for (uint8_t& byte : buffer) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 24);
    const ConstBytes bytes(buffer.data(), buffer.size());
    const size_t root = flat_root(bytes);
    const size_t field = flat_field(bytes, root, static_cast<uint16_t>(4 + 2 * (random() % 4)), 4);
    ASSERT_TRUE(field == 0 || field + 4 <= buffer.size());
    const size_t child = flat_child(bytes, root, 4);
    ASSERT_TRUE(child == 0 || child + 4 <= buffer.size());
    (void)check_message_crc(bytes);
  }
}

}  // namespace
}  // namespace dumphook
