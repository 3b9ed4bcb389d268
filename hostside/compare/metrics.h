// SPDX-License-Identifier: Apache-2.0
// How far a target tensor is from its golden: every number compare prints, each with one formula in one place.
//
// t = target, g = golden, real values in float64; d = t - g; n = elements; sums in float64, over the pairs where both
// values are finite. Elements where either is NaN or Inf are counted and left out of every sum.
//
// Defined states:
//   t == g, also both empty or both all zero   cosine 1, errors 0, norm_ratio 1, sqnr_db +inf
//   g all zero, t not                          cosine 0, rel_euclidean, rel_l1 and norm_ratio +inf, sqnr_db -inf
//   t all zero, g not                          cosine 0, rel_euclidean 1, rel_l1 1, norm_ratio 0, sqnr_db 0
//   elements, but no finite pair               every metric NaN (undefined)
//   one element                                as any other: cosine is 1, -1 or 0, so it is never judged alone
// Integer and bool tensors are compared by their values (false = 0, true = 1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace dumphook {

struct Metrics {
  double cosine = 1;           // Σtg / (‖t‖‖g‖)
  double cosine_distance = 0;  // 1 - cosine, without cancellation
  double mse = 0;              // Σd² / n
  double rmse = 0;             // √mse
  double mae = 0;              // Σ|d| / n
  double max_abs = 0;          // max |d|
  double rel_euclidean = 0;    // ‖d‖ / ‖g‖                 (Ascend RelativeEuclideanDistance)
  double rel_l1 = 0;           // Σ|d| / Σ|g|               (what SigmaStar prints as "RMSE")
  double norm_ratio = 1;       // ‖t‖ / ‖g‖
  double sqnr_db = 0;          // 10 log10(Σg² / Σd²)

  uint64_t elements = 0;
  uint64_t finite_pairs = 0;  // elements that the sums hold
  uint64_t target_nan = 0, target_inf = 0;
  uint64_t golden_nan = 0, golden_inf = 0;
  uint64_t same_nonfinite = 0;         // both NaN, or both the same Inf, at the same place
  uint64_t target_only_nonfinite = 0;  // target NaN or Inf where golden is finite
  uint64_t golden_only_nonfinite = 0;
  bool target_zero = false, golden_zero = false;  // all finite pairs are zero on that side

  uint64_t different_nonfinite() const {  // both not finite, but not the same
    return elements - finite_pairs - same_nonfinite - target_only_nonfinite - golden_only_nonfinite;
  }
};

// A new metric: a member above, its formula in metrics.cpp, a line here. JSON, CSV, tables and limits go by this list.
struct MetricInfo {
  std::string_view key;    // in JSON and CSV, and with dashes on the command line
  std::string_view title;  // in tables
  double Metrics::*value;
};
inline constexpr std::array<MetricInfo, 10> kMetrics{{
    {"cosine", "COS", &Metrics::cosine},
    {"cosine_distance", "1-COS", &Metrics::cosine_distance},
    {"mse", "MSE", &Metrics::mse},
    {"rmse", "RMSE", &Metrics::rmse},
    {"mae", "MAE", &Metrics::mae},
    {"max_abs", "MAXABS", &Metrics::max_abs},
    {"rel_euclidean", "RELEUC", &Metrics::rel_euclidean},
    {"rel_l1", "RELL1", &Metrics::rel_l1},
    {"norm_ratio", "NORM", &Metrics::norm_ratio},
    {"sqnr_db", "SQNR", &Metrics::sqnr_db},
}};
struct CountInfo {
  std::string_view key;
  uint64_t Metrics::*value;
};
inline constexpr std::array<CountInfo, 7> kMetricCounts{{
    {"elements", &Metrics::elements},
    {"finite_pairs", &Metrics::finite_pairs},
    {"target_nan", &Metrics::target_nan},
    {"target_inf", &Metrics::target_inf},
    {"golden_nan", &Metrics::golden_nan},
    {"golden_inf", &Metrics::golden_inf},
    {"same_nonfinite", &Metrics::same_nonfinite},
}};

// Writes pairs [first, first + count) to where it is told.
using PairSource = std::function<void(uint64_t first, size_t count, double* target, double* golden)>;

// One pass over both (a second one only where squares leave the range of float64), some thousand pairs at a time.
Metrics measure(uint64_t count, const PairSource& read);
Metrics measure(const double* target, const double* golden, size_t count);

}  // namespace dumphook
