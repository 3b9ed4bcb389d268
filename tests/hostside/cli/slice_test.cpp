// SPDX-License-Identifier: Apache-2.0
#include "cli/slice.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

using Elements = std::vector<uint64_t>;

const Shape kShape{2, 3, 4};

Slice good(const std::string& text, const Shape& shape = kShape) {
  const auto slice = parse_slice(text, shape);
  EXPECT_TRUE(slice.ok()) << text << ": " << (slice.ok() ? "" : slice.error().what);
  return slice.ok() ? *slice : Slice{};
}

TEST(Slice, Indexes_DropTheirAxis) {
  const Slice slice = good("1,2,3");
  EXPECT_TRUE(slice.shape.empty());
  EXPECT_EQ(slice.elements, (Elements{23}));
  EXPECT_EQ(good("-1,-1,-1").elements, (Elements{23}));
}

TEST(Slice, Ranges_KeepIt) {
  const Slice slice = good("0, :, 1:3");
  EXPECT_EQ(slice.shape, (Shape{3, 2}));
  EXPECT_EQ(slice.elements, (Elements{1, 2, 5, 6, 9, 10}));
}

TEST(Slice, MissingAxesAndEllipsis_AreWhole) {
  EXPECT_EQ(good("1").shape, (Shape{3, 4}));
  EXPECT_EQ(good("...,0").elements, (Elements{0, 4, 8, 12, 16, 20}));
  EXPECT_EQ(good("...").elements.size(), 24u);
  EXPECT_EQ(good("0,...,0").elements, (Elements{0, 4, 8}));
  EXPECT_EQ(good("").elements.size(), 24u);
}

TEST(Slice, StepsAndNegatives_AsInNumPy) {
  const Shape ten{10};
  EXPECT_EQ(good("::3", ten).elements, (Elements{0, 3, 6, 9}));
  EXPECT_EQ(good("::-1", ten).elements, (Elements{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(good("8:2:-2", ten).elements, (Elements{8, 6, 4}));
  EXPECT_EQ(good("-3:", ten).elements, (Elements{7, 8, 9}));
  EXPECT_EQ(good(":-8", ten).elements, (Elements{0, 1}));
  EXPECT_EQ(good("5:100", ten).elements, (Elements{5, 6, 7, 8, 9}));
  EXPECT_EQ(good("7:3", ten).elements, (Elements{}));
  EXPECT_EQ(good("::9223372036854775807", ten).elements, (Elements{0}));
  EXPECT_EQ(good("::-9223372036854775808", ten).elements, (Elements{9}));
}

TEST(Slice, EmptyAndScalarTensors) {
  EXPECT_TRUE(good(":,0", {0, 3}).elements.empty());
  EXPECT_EQ(good("", {}).elements, (Elements{0}));
  EXPECT_TRUE(good("::-1", {0}).elements.empty());
}

TEST(Slice, WhatCannotBe_IsSaid) {
  for (const char* text :
       {"2", "-3", "0,0,0,0", "a", "1:2:3:4", "::0", "0,,1", "...,...", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(parse_slice(text, kShape).ok()) << text;
  }
}

}  // namespace
}  // namespace dumphook
