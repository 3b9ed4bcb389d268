// SPDX-License-Identifier: Apache-2.0
#include "align/arrangement.h"

#include <gtest/gtest.h>

#include <numeric>

namespace dumphook {
namespace {

std::vector<double> counting(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(Arrange, EqualShapes_LieAlike) {
  const Arrangement a = arrange({1, 8, 8, 3}, Layout::any, {1, 8, 8, 3}, Layout::any);
  EXPECT_TRUE(a.possible);
  EXPECT_TRUE(a.target_axes.empty());
  EXPECT_TRUE(a.note.empty());
}

TEST(Arrange, AxesOfLengthOne_DoNotMatter) {
  EXPECT_TRUE(arrange({1, 10}, Layout::any, {10}, Layout::any).possible);
  EXPECT_TRUE(arrange({1, 1, 1, 10}, Layout::nhwc, {1, 10, 1, 1}, Layout::nchw).possible);
  EXPECT_TRUE(arrange({}, Layout::any, {1}, Layout::any).possible);
}

TEST(Arrange, ShapesNhwcAgainstNchw_TransposeAndSaySo) {
  const Arrangement a = arrange({1, 4, 5, 3}, Layout::any, {1, 3, 4, 5}, Layout::any);
  EXPECT_EQ(a.target_axes, (std::vector<int>{0, 3, 1, 2}));
  EXPECT_NE(a.note.find("NHWC to NCHW"), std::string::npos);
  EXPECT_EQ(arrange({1, 3, 4, 5}, Layout::any, {1, 4, 5, 3}, Layout::any).target_axes, (std::vector<int>{0, 2, 3, 1}));
}

TEST(Arrange, WithoutBatch_TransposesTheSameWay) {
  EXPECT_EQ(arrange({4, 5, 3}, Layout::any, {1, 3, 4, 5}, Layout::any).target_axes, (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(arrange({1, 4, 5, 3}, Layout::any, {3, 4, 5}, Layout::any).target_axes, (std::vector<int>{0, 3, 1, 2}));
}

TEST(Arrange, DeclaredLayoutsDecide_WhereShapesCannot) {
  EXPECT_EQ(arrange({1, 8, 8, 8}, Layout::nhwc, {1, 8, 8, 8}, Layout::nchw).target_axes,
            (std::vector<int>{0, 3, 1, 2}));
  EXPECT_TRUE(arrange({1, 8, 8, 8}, Layout::nhwc, {1, 8, 8, 8}, Layout::any).target_axes.empty());
}

TEST(Arrange, DeclaredLayoutsAgainstTheShapes_CompareAsTheyLie) {
  const Arrangement a = arrange({1, 4, 5, 3}, Layout::nhwc, {1, 4, 5, 3}, Layout::nchw);
  EXPECT_TRUE(a.possible);
  EXPECT_TRUE(a.target_axes.empty());
  EXPECT_FALSE(a.note.empty());
}

TEST(Arrange, OtherShapes_AreNotPossible_AndSayWhich) {
  const Arrangement a = arrange({1, 7, 7, 64}, Layout::any, {1, 3136}, Layout::any);
  EXPECT_FALSE(a.possible);
  EXPECT_NE(a.note.find("1x7x7x64"), std::string::npos);
  EXPECT_FALSE(arrange({2, 3}, Layout::any, {3, 2}, Layout::any).possible);
}

TEST(Permute, NhwcToNchw_MovesEveryElement) {
  const auto moved = permute(counting(12), {1, 2, 2, 3}, {0, 3, 1, 2});
  EXPECT_EQ(moved, (std::vector<double>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST(Permute, ThereAndBack_IsTheSame) {
  const auto values = counting(2 * 3 * 4 * 5);
  EXPECT_EQ(permute(permute(values, {2, 3, 4, 5}, {0, 3, 1, 2}), {2, 5, 3, 4}, {0, 2, 3, 1}), values);
}

TEST(Permute, NoElements_IsFine) { EXPECT_TRUE(permute({}, {1, 0, 2, 3}, {0, 3, 1, 2}).empty()); }

TEST(Unpack, ChannelBlocks_BecomeNchw_WithoutThePaddedChannels) {
  Descriptor d;
  d.shape = {1, 2, 1, 2, 4};  // N, C1, H, W, C0: 8 channels of 1x2
  d.logical_shape = {1, 5, 1, 2};
  d.layout = Layout::nc1hwc0;
  const Unpacked u = unpack(counting(16), d);
  EXPECT_EQ(u.shape, (Shape{1, 5, 1, 2}));
  EXPECT_EQ(u.layout, Layout::nchw);
  EXPECT_EQ(u.values, (std::vector<double>{0, 4, 1, 5, 2, 6, 3, 7, 8, 12}));
}

TEST(Unpack, RowPadding_IsCut) {
  Descriptor d;
  d.shape = {2, 4};
  d.logical_shape = {2, 3};
  const Unpacked u = unpack(counting(8), d);
  EXPECT_EQ(u.values, (std::vector<double>{0, 1, 2, 4, 5, 6}));
  EXPECT_NE(u.note.find("2x4 to 2x3"), std::string::npos);
}

TEST(Unpack, LogicalShapeLargerThanTheBytes_IsIgnored) {
  Descriptor d;
  d.shape = {2, 2};
  d.logical_shape = {2, 3};
  EXPECT_EQ(unpack(counting(4), d).shape, (Shape{2, 2}));
}

}  // namespace
}  // namespace dumphook
