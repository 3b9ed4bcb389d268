// SPDX-License-Identifier: Apache-2.0
#include "compare/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace dumphook {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Metrics measured(const std::vector<double>& target, const std::vector<double>& golden) {
  return measure(target.data(), golden.data(), golden.size());
}

State judged(const std::vector<double>& target, const std::vector<double>& golden, Preset preset = Preset::standard) {
  return judge(measured(target, golden), limits_of(preset)).state;
}

// Cosine `cosine` and equal norms.
Metrics with_cosine(double cosine) { return measured({cosine, std::sqrt(1 - cosine * cosine)}, {1, 0}); }

TEST(Limits, CosineLimits_FailBelow95_WarnBelow99) {
  EXPECT_EQ(judge(with_cosine(0.999), limits_of(Preset::standard)).state, State::pass);
  EXPECT_EQ(judge(with_cosine(0.98), limits_of(Preset::standard)).state, State::warn);
  EXPECT_EQ(judge(with_cosine(0.94), limits_of(Preset::standard)).state, State::fail);
}

TEST(Limits, WrongScale_FailsThroughTheNormGate_WithEveryPreset) {
  for (Preset preset : {Preset::standard, Preset::ascend, Preset::sigmastar}) {
    EXPECT_EQ(judged({0.015, -0.03}, {0.01, -0.02}, preset), State::fail);
    EXPECT_EQ(judged({0.005, -0.01}, {0.01, -0.02}, preset), State::fail);
  }
  EXPECT_NE(judge(measured({1.5, -3}, {1, -2}), limits_of(Preset::standard)).reason.find("norm_ratio"),
            std::string::npos);
}

TEST(Limits, NormRatioNearTheGate_Warns) { EXPECT_EQ(judged({1.15, -2.3}, {1, -2}), State::warn); }

TEST(Limits, NaNWhereTheGoldenIsFinite_Fails) {
  EXPECT_EQ(judged({1, kNaN, 3}, {1, 2, 3}), State::fail);
  EXPECT_EQ(judged({1, 2, 3}, {1, kNaN, 3}), State::warn);
  EXPECT_EQ(judged({1, kNaN, 3}, {1, kNaN, 3}), State::pass);
  EXPECT_EQ(judged({kNaN}, {kNaN}), State::warn);
}

TEST(Limits, NoElements_Pass) {
  EXPECT_EQ(judge(measure(nullptr, nullptr, 0), limits_of(Preset::standard)).state, State::pass);
}

TEST(Limits, SetReplacesTheLimitOfThatSeverityOnly) {
  Limits limits = limits_of(Preset::standard);
  limits.set(metric_named("cosine"), State::fail, 0.9, 1);
  EXPECT_EQ(judge(with_cosine(0.94), limits).state, State::warn);
  limits.set(metric_named("max_abs"), State::fail, 0, 0.01);
  EXPECT_EQ(judge(with_cosine(0.94), limits).state, State::fail);
}

TEST(Limits, SeveralFailedLimits_AreAllNamed) {
  const std::string reason = judge(measured({3, 0}, {0, 1}), limits_of(Preset::standard)).reason;
  EXPECT_NE(reason.find("cosine"), std::string::npos);
  EXPECT_NE(reason.find("norm_ratio"), std::string::npos);
}

TEST(Vendor, DefaultPreset_HasNoVendorVerdict) { EXPECT_FALSE(vendor_judge(Preset::standard, with_cosine(1))); }

TEST(Vendor, SigmaStar_GoesByCosineAndRelativeL1) {
  EXPECT_EQ(vendor_judge(Preset::sigmastar, measured({1, 2, 3.05}, {1, 2, 3})), State::pass);
  EXPECT_EQ(vendor_judge(Preset::sigmastar, measured({1.2, 2.4, 3.6}, {1, 2, 3})), State::fail);
  EXPECT_EQ(vendor_judge(Preset::sigmastar, with_cosine(0.989)), State::fail);
  EXPECT_EQ(vendor_judge(Preset::sigmastar, measured({0, 0}, {0, 0})), State::fail);  // its COS of zero vectors is 0
}

TEST(Vendor, Ascend_TreatsScalarsAndZeroVectorsItsOwnWay) {
  EXPECT_EQ(vendor_judge(Preset::ascend, measured({-0.01}, {0})), State::pass);
  EXPECT_EQ(vendor_judge(Preset::ascend, measured({0, 0}, {1, 1})), std::nullopt);
  EXPECT_EQ(vendor_judge(Preset::ascend, measured({1.1, 2.2}, {1, 2})), State::fail);
  EXPECT_EQ(vendor_judge(Preset::ascend, measured({1.01, 2.02}, {1, 2})), State::pass);
}

}  // namespace
}  // namespace dumphook
