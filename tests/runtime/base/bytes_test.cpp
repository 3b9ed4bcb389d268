// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

TEST(Span, FromArray_HasItsSize) {
  uint8_t array[5] = {1, 2, 3, 4, 5};
  const Bytes bytes = array;
  const ConstBytes read_only = bytes;
  EXPECT_EQ(5u, read_only.size);
  EXPECT_EQ(2u, read_only.first(2).size);
  EXPECT_EQ(3, read_only.from(2)[0]);
  EXPECT_TRUE(read_only.from(5).empty());
}

TEST(LoadStore, AreLittleEndianAtAnyAddress) {
  uint8_t bytes[16] = {};
  store_le(bytes + 1, uint32_t{0x11223344});
  const uint8_t expected[] = {0x44, 0x33, 0x22, 0x11};
  EXPECT_EQ(0, memcmp(bytes + 1, expected, sizeof expected));
  EXPECT_EQ(0x3344u, load_le<uint16_t>(bytes + 1));
  EXPECT_EQ(0x11223344u, load_le<uint64_t>(bytes + 1));
  store_le(bytes + 3, -2.5f);
  EXPECT_EQ(-2.5f, load_le<float>(bytes + 3));
}

TEST(Checked, RefusesWhatDoesNotFit64Bits) {
  uint64_t out = 0;
  EXPECT_TRUE(checked_mul(0xFFFFFFFF, 0x100000001, &out));
  EXPECT_EQ(UINT64_MAX, out);
  EXPECT_FALSE(checked_mul(0x100000000, 0x100000000, &out));
  EXPECT_TRUE(checked_add(UINT64_MAX - 1, 1, &out));
  EXPECT_FALSE(checked_add(UINT64_MAX, 1, &out));
}

TEST(AlignUp, GoesToTheNextMultiple) {
  EXPECT_EQ(0u, align_up<size_t>(0, 8));
  EXPECT_EQ(8u, align_up<size_t>(1, 8));
  EXPECT_EQ(8u, align_up<size_t>(8, 8));
  EXPECT_EQ(uint64_t{1} << 40, align_up<uint64_t>((uint64_t{1} << 40) - 3, 64));
}

TEST(TextLength, OfNullIsZero) {
  EXPECT_EQ(0u, text_length(nullptr));
  EXPECT_EQ(3u, text_length("abc"));
}

}  // namespace
}  // namespace dumphook
