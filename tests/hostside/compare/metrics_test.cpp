// SPDX-License-Identifier: Apache-2.0
#include "compare/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace dumphook {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Metrics measured(const std::vector<double>& target, const std::vector<double>& golden) {
  return measure(target.data(), golden.data(), golden.size());
}

TEST(Metrics, HandMadeExample_HasTheNumbersOfTheFormulas) {
  const Metrics m = measured({3, 4}, {4, 4});
  EXPECT_DOUBLE_EQ(m.cosine, 28 / (5 * std::sqrt(32)));
  EXPECT_DOUBLE_EQ(m.mse, 0.5);
  EXPECT_DOUBLE_EQ(m.rmse, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(m.mae, 0.5);
  EXPECT_DOUBLE_EQ(m.max_abs, 1);
  EXPECT_DOUBLE_EQ(m.rel_euclidean, 1 / std::sqrt(32));
  EXPECT_DOUBLE_EQ(m.rel_l1, 0.125);
  EXPECT_DOUBLE_EQ(m.norm_ratio, 5 / std::sqrt(32));
  EXPECT_DOUBLE_EQ(m.sqnr_db, 10 * std::log10(32));
}

TEST(Metrics, EqualTensors_AreExactlyEqual) {
  const Metrics m = measured({0.1, -0.7, 1e-3, 12345.678}, {0.1, -0.7, 1e-3, 12345.678});
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.cosine_distance, 0);
  EXPECT_EQ(m.rel_euclidean, 0);
  EXPECT_EQ(m.norm_ratio, 1);
  EXPECT_EQ(m.sqnr_db, kInf);
}

TEST(Metrics, NearlyEqualTensors_KeepTheDigitsOfTheDistance) {
  const double e = 1e-9;  // 1 - cos of (1, 0) and (1, e) is e²/2, far below the rounding of cos
  EXPECT_NEAR(measured({1, 0}, {1, e}).cosine_distance / (e * e / 2), 1, 1e-6);
}

TEST(Metrics, NormsFarApart_KeepTheCosine) {
  EXPECT_NEAR(measured({3e18, 4e18}, {4, 3}).cosine, 0.96, 1e-15);
  EXPECT_NEAR(measured({4, 3}, {3e18, 4e18}).cosine_distance, 0.04, 1e-15);
}

TEST(Metrics, ScaledTensor_ShowsInTheNormRatioOnly) {
  const Metrics m = measured({1.5, -3, 4.5}, {1, -2, 3});
  EXPECT_DOUBLE_EQ(m.cosine, 1);
  EXPECT_DOUBLE_EQ(m.norm_ratio, 1.5);
}

TEST(Metrics, ZeroVectors_AreDefined) {
  const Metrics both = measured({0, 0}, {0, 0});
  EXPECT_EQ(both.cosine, 1);
  EXPECT_EQ(both.norm_ratio, 1);
  EXPECT_EQ(both.sqnr_db, kInf);
  const Metrics golden = measured({1, 0}, {0, 0});
  EXPECT_EQ(golden.cosine, 0);
  EXPECT_EQ(golden.norm_ratio, kInf);
  EXPECT_EQ(golden.rel_l1, kInf);
  EXPECT_EQ(golden.rel_euclidean, kInf);
  EXPECT_EQ(golden.sqnr_db, -kInf);
  const Metrics target = measured({0, 0}, {1, 0});
  EXPECT_EQ(target.cosine, 0);
  EXPECT_EQ(target.norm_ratio, 0);
  EXPECT_EQ(target.rel_l1, 1);
  EXPECT_EQ(target.sqnr_db, 0);
}

TEST(Metrics, EmptyTensors_AreEqual) {
  const Metrics m = measure(nullptr, nullptr, 0);
  EXPECT_EQ(m.elements, 0u);
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.mse, 0);
  EXPECT_EQ(m.sqnr_db, kInf);
}

TEST(Metrics, OneElement_HasTheCosineOfItsSign) {
  EXPECT_EQ(measured({5}, {2}).cosine, 1);
  EXPECT_EQ(measured({-5}, {2}).cosine, -1);
  EXPECT_EQ(measured({-5}, {2}).norm_ratio, 2.5);
}

TEST(Metrics, NonFinite_IsCountedAndLeftOut) {
  const Metrics m = measured({1, kNaN, kInf, -kInf, 2, kNaN, 7}, {1, kNaN, kInf, kInf, 2, 3, kInf});
  EXPECT_EQ(m.elements, 7u);
  EXPECT_EQ(m.finite_pairs, 2u);
  EXPECT_EQ(m.target_nan, 2u);
  EXPECT_EQ(m.target_inf, 2u);
  EXPECT_EQ(m.golden_nan, 1u);
  EXPECT_EQ(m.golden_inf, 3u);
  EXPECT_EQ(m.same_nonfinite, 2u);
  EXPECT_EQ(m.target_only_nonfinite, 1u);
  EXPECT_EQ(m.golden_only_nonfinite, 1u);
  EXPECT_EQ(m.different_nonfinite(), 1u);
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.max_abs, 0);
}

TEST(Metrics, NoFinitePair_LeavesEveryMetricUndefined) {
  const Metrics m = measured({kNaN, 1}, {1, kInf});
  EXPECT_EQ(m.finite_pairs, 0u);
  for (const MetricInfo& metric : kMetrics) EXPECT_TRUE(std::isnan(m.*metric.value)) << metric.key;
}

TEST(Metrics, NonFiniteFarInside_IsFoundInEveryBlock) {
  std::vector<double> target(10000, 2.0), golden(10000, 1.0);
  target[1023] = kNaN;
  target[1024] = kInf;
  golden[9999] = kNaN;
  const Metrics m = measured(target, golden);
  EXPECT_EQ(m.finite_pairs, 9997u);
  EXPECT_DOUBLE_EQ(m.mae, 1);
  EXPECT_DOUBLE_EQ(m.norm_ratio, 2);
}

TEST(Metrics, ExtremeValues_NeitherOverflowNorVanish) {
  const double huge = 1e300, tiny = 1e-300;
  EXPECT_DOUBLE_EQ(measured({huge, huge}, {huge, 0}).cosine, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(measured({huge, huge}, {huge, 0}).rel_euclidean, 1);
  EXPECT_DOUBLE_EQ(measured({tiny, tiny}, {tiny, 0}).cosine, std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(measured({tiny, tiny}, {tiny, tiny}).norm_ratio, 1);
  EXPECT_DOUBLE_EQ(measured({tiny, 0}, {1, 0}).norm_ratio, tiny);
  EXPECT_DOUBLE_EQ(measured({1.7e308, 1}, {-1.7e308, 1}).rel_euclidean, 2);
  EXPECT_DOUBLE_EQ(measured({5e-324, 5e-324}, {5e-324, 0}).cosine, std::sqrt(0.5));
}

}  // namespace
}  // namespace dumphook
