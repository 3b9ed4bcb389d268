// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace dumphook {
namespace {

TEST(DType, EveryKnownTypeHasAWidth) {
  const uint32_t expected[] = {8, 64, 32, 16, 16, 8, 8, 64, 64, 32, 32, 16, 16, 8, 8, 8, 4, 4};
  for (uint32_t dtype = 0; dtype <= DH_U4; ++dtype) EXPECT_EQ(expected[dtype], dtype_bits(dtype)) << dtype;
  EXPECT_EQ(0u, dtype_bits(DH_U4 + 1));
  EXPECT_EQ(0u, dtype_bits(UINT32_MAX));
}

uint64_t bytes_of(uint32_t dtype, std::initializer_list<int64_t> shape) {
  uint64_t bytes = 12345;
  EXPECT_TRUE(dense_bytes(dtype, static_cast<uint32_t>(shape.size()), shape.begin(), &bytes));
  return bytes;
}

TEST(DenseBytes, IsElementsTimesWidth) {
  EXPECT_EQ(2u * 3 * 5 * 4, bytes_of(DH_F32, {2, 3, 5}));
  EXPECT_EQ(7u, bytes_of(DH_RAW, {7}));
  EXPECT_EQ(8u, bytes_of(DH_F64, {}));
  EXPECT_EQ(0u, bytes_of(DH_F64, {4, 0}));
}

TEST(DenseBytes, FourBitTypes_RoundUp) {
  EXPECT_EQ(2u, bytes_of(DH_I4, {3}));
  EXPECT_EQ(8u, bytes_of(DH_U4, {4, 4}));
  EXPECT_EQ(1u, bytes_of(DH_U4, {}));
  EXPECT_EQ(uint64_t{1} << 62, bytes_of(DH_U4, {INT64_MAX, 1}));
  EXPECT_EQ(uint64_t{1} << 63, bytes_of(DH_U4, {0xFFFFFFFF, 0x100000001}));
}

TEST(DenseBytes, EmptyTensor_MayHaveHugeOtherDimensions) { EXPECT_EQ(0u, bytes_of(DH_F32, {INT64_MAX, INT64_MAX, 0})); }

TEST(DenseBytes, RefusesWhatMakesNoSense) {
  uint64_t bytes = 0;
  const int64_t negative[] = {2, -1};
  EXPECT_FALSE(dense_bytes(DH_F32, 2, negative, &bytes));
  const int64_t empty_and_negative[] = {0, -1};
  EXPECT_FALSE(dense_bytes(DH_F32, 2, empty_and_negative, &bytes));
  const int64_t huge[] = {int64_t{1} << 32, int64_t{1} << 32};
  EXPECT_FALSE(dense_bytes(DH_U8, 2, huge, &bytes));
  const int64_t just_too_wide[] = {int64_t{1} << 61};
  EXPECT_FALSE(dense_bytes(DH_F64, 1, just_too_wide, &bytes));
  EXPECT_FALSE(dense_bytes(99, 0, nullptr, &bytes));
}

TEST(Names, GoThereAndBack) {
  uint32_t value = 99;
  for (uint32_t i = 0; i <= DH_U4; ++i) {
    ASSERT_TRUE(parse_dtype(dtype_name(i), &value));
    EXPECT_EQ(i, value);
  }
  for (uint32_t i = 0; i <= DH_LAYOUT_TEXT; ++i) {
    ASSERT_TRUE(parse_layout(layout_name(i), &value));
    EXPECT_EQ(i, value);
  }
  for (uint32_t i = 0; i <= DH_ROLE_POSTPROCESSED; ++i) {
    ASSERT_TRUE(parse_role(role_name(i), &value));
    EXPECT_EQ(i, value);
  }
}

TEST(Names, IgnoreCase) {
  uint32_t value = 99;
  EXPECT_TRUE(parse_layout("nchw", &value));
  EXPECT_EQ(uint32_t{DH_LAYOUT_NCHW}, value);
  EXPECT_TRUE(parse_dtype("BF16", &value));
  EXPECT_EQ(uint32_t{DH_BF16}, value);
}

TEST(Names, Unknown_LeavesTheValueAlone) {
  uint32_t value = 99;
  EXPECT_FALSE(parse_dtype("f3", &value));
  EXPECT_FALSE(parse_dtype("f322", &value));
  EXPECT_FALSE(parse_role("", &value));
  EXPECT_FALSE(parse_role(nullptr, &value));
  EXPECT_EQ(99u, value);
  EXPECT_EQ(std::string("?"), dtype_name(18));
}

}  // namespace
}  // namespace dumphook
