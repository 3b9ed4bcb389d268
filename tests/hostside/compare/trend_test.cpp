// SPDX-License-Identifier: Apache-2.0
#include "compare/trend.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

std::vector<TrendPoint> points(const std::vector<double>& errors, double limit) {
  std::vector<TrendPoint> result;
  for (double error : errors) result.push_back({error, error > limit});
  return result;
}

TEST(Trend, NothingFails_IsNone) {
  EXPECT_EQ(find_trend(points({0.01, 0.02, 0.01}, 0.1)).kind, Trend::Kind::none);
  EXPECT_EQ(find_trend({}).kind, Trend::Kind::none);
}

TEST(Trend, OneJump_IsSudden) {
  const Trend trend = find_trend(points({0.01, 0.02, 0.5, 0.4, 0.5}, 0.1));
  EXPECT_EQ(trend.kind, Trend::Kind::sudden);
  EXPECT_EQ(trend.at, 2u);
}

TEST(Trend, OneWrongLayerAmongGoodOnes_IsSudden) {
  EXPECT_EQ(find_trend(points({0.01, 0.02, 0.5, 0.02, 0.01}, 0.1)).kind, Trend::Kind::sudden);
}

TEST(Trend, FirstLayerBad_IsSudden) { EXPECT_EQ(find_trend(points({0.5, 0.4}, 0.1)).at, 0u); }

TEST(Trend, SlowGrowth_IsGradual_AtTheFirstPastTheLimit) {
  const Trend trend = find_trend(points({0.05, 0.07, 0.09, 0.11, 0.13, 0.16}, 0.1));
  EXPECT_EQ(trend.kind, Trend::Kind::gradual);
  EXPECT_EQ(trend.at, 3u);
}

TEST(Trend, AroundTheLimit_IsOscillating) {
  EXPECT_EQ(find_trend(points({0.09, 0.12, 0.08, 0.11, 0.09, 0.12}, 0.1)).kind, Trend::Kind::oscillating);
}

}  // namespace
}  // namespace dumphook
