// SPDX-License-Identifier: Apache-2.0
#include "compare/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dumphook {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kBlock = 1024;  // pairs summed before they are added to the total: keeps rounding errors small

struct Sums {
  double tg = 0, tt = 0, gg = 0, dd = 0;
  double abs_d = 0, abs_g = 0;
  double max_d = 0, max_t = 0, max_g = 0;

  void add(const Sums& more) {
    tg += more.tg;
    tt += more.tt;
    gg += more.gg;
    dd += more.dd;
    abs_d += more.abs_d;
    abs_g += more.abs_g;
    max_d = std::max(max_d, more.max_d);
    max_t = std::max(max_t, more.max_t);
    max_g = std::max(max_g, more.max_g);
  }
};

// Factors by which values are multiplied before they are summed: powers of two, so nothing is rounded.
struct Scales {
  double t = 1, g = 1, d = 1;
};

void add_pair(Sums& sums, double t, double g, double d) {
  sums.tg += t * g;
  sums.tt += t * t;
  sums.gg += g * g;
  sums.dd += d * d;
  sums.abs_d += std::fabs(d);
  sums.abs_g += std::fabs(g);
  sums.max_d = std::max(sums.max_d, std::fabs(d));
  sums.max_t = std::max(sums.max_t, std::fabs(t));
  sums.max_g = std::max(sums.max_g, std::fabs(g));
}

// Two doubles at once: GCC's and Clang's vector extension, which every target has. Wider ones cost registers, not time.
typedef double Pair2 __attribute__((vector_size(16)));
constexpr size_t kLanes = 2;

Pair2 load2(const double* from) {
  Pair2 values;
  std::memcpy(&values, from, sizeof values);
  return values;
}
Pair2 max2(Pair2 a, Pair2 b) { return a > b ? a : b; }
Pair2 abs2(Pair2 x) { return max2(x, -x); }

Sums sum_finite(const double* target, const double* golden, size_t count) {
  Pair2 tg{}, tt{}, gg{}, dd{}, abs_d{}, abs_g{}, max_d{}, max_t{}, max_g{};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Pair2 t = load2(target + i), g = load2(golden + i), d = t - g;
    const Pair2 size_d = abs2(d), size_g = abs2(g);
    tg += t * g;
    tt += t * t;
    gg += g * g;
    dd += d * d;
    abs_d += size_d;
    abs_g += size_g;
    max_d = max2(max_d, size_d);
    max_t = max2(max_t, abs2(t));
    max_g = max2(max_g, size_g);
  }
  Sums sums;
  for (; i < count; ++i) add_pair(sums, target[i], golden[i], target[i] - golden[i]);
  for (size_t lane = 0; lane < kLanes; ++lane)
    sums.add({tg[lane], tt[lane], gg[lane], dd[lane], abs_d[lane], abs_g[lane], max_d[lane], max_t[lane], max_g[lane]});
  return sums;
}

Sums sum_scaled(const double* target, const double* golden, size_t count, const Scales& scales) {
  Sums sums;
  for (size_t i = 0; i < count; ++i)
    add_pair(sums, target[i] * scales.t, golden[i] * scales.g, target[i] * scales.d - golden[i] * scales.d);
  return sums;
}

bool all_finite(const double* values, size_t count) {
  Pair2 zero{};  // x - x is 0 for finite x, NaN otherwise
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) zero += load2(values + i) - load2(values + i);
  double sum = zero[0] + zero[1];
  for (; i < count; ++i) sum += values[i] - values[i];
  return sum == 0;
}

struct Block {
  double target[kBlock], golden[kBlock];
};

// Moves the finite pairs of the first n together and counts the others. How many are finite.
size_t gather_finite(Block& block, size_t n, Metrics& counts) {
  size_t finite = 0;
  for (size_t i = 0; i < n; ++i) {
    const double t = block.target[i], g = block.golden[i];
    const bool t_finite = std::isfinite(t), g_finite = std::isfinite(g);
    if (t_finite && g_finite) {
      block.target[finite] = t;
      block.golden[finite++] = g;
      continue;
    }
    counts.target_nan += std::isnan(t);
    counts.target_inf += std::isinf(t);
    counts.golden_nan += std::isnan(g);
    counts.golden_inf += std::isinf(g);
    counts.same_nonfinite += (std::isnan(t) && std::isnan(g)) || t == g;
    counts.target_only_nonfinite += g_finite;
    counts.golden_only_nonfinite += t_finite;
  }
  return finite;
}

template <class SumBlock>
Sums sum_blocks(uint64_t count, const PairSource& read, Metrics& counts, SumBlock sum_block) {
  Sums total;
  Block block;
  for (uint64_t first = 0; first < count; first += kBlock) {
    size_t n = static_cast<size_t>(std::min<uint64_t>(kBlock, count - first));
    read(first, n, block.target, block.golden);
    if (!all_finite(block.target, n) || !all_finite(block.golden, n)) n = gather_finite(block, n, counts);
    total.add(sum_block(block.target, block.golden, n));
    counts.finite_pairs += n;
  }
  return total;
}

// Squares of float64 beyond about 1e±150 overflow or vanish; sums of less than this have lost digits.
bool out_of_range(const Sums& sums) {
  constexpr double kTiny = 1e-270;
  auto lost = [&](double square_sum, double max) {
    return !std::isfinite(square_sum) || (max > 0 && square_sum < kTiny);
  };
  return lost(sums.tt, sums.max_t) || lost(sums.gg, sums.max_g) || lost(sums.dd, sums.max_d) ||
         !std::isfinite(sums.abs_g);
}

// A power of two that brings `max` near 1.
double unit_scale(double max) {
  if (!(max > 0)) return 1;
  int exponent = 0;
  std::frexp(max, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1020, 1020));
}

double ratio(double numerator, double denominator) {
  if (denominator > 0) return numerator / denominator;
  return numerator > 0 ? kInf : 0;
}

void derive(Metrics& m, const Sums& sums, const Scales& scales) {
  const double norm_t = std::sqrt(sums.tt), norm_g = std::sqrt(sums.gg), norm_d = std::sqrt(sums.dd);
  const double n = static_cast<double>(m.finite_pairs);
  m.target_zero = sums.max_t == 0;
  m.golden_zero = sums.max_g == 0;

  m.max_abs = sums.max_d / scales.d;
  m.mae = sums.abs_d / n / scales.d;
  m.rmse = norm_d / std::sqrt(n) / scales.d;
  m.mse = sums.dd / n / scales.d / scales.d;
  m.rel_euclidean = ratio(norm_d, norm_g) * (scales.g / scales.d);
  m.rel_l1 = ratio(sums.abs_d, sums.abs_g) * (scales.g / scales.d);
  m.sqnr_db = norm_d > 0 ? 20 * (std::log10(norm_g / norm_d) + std::log10(scales.d / scales.g)) : kInf;

  if (m.target_zero || m.golden_zero) {
    m.cosine = m.target_zero && m.golden_zero ? 1 : 0;
    m.norm_ratio = m.golden_zero ? (m.target_zero ? 1 : kInf) : 0;
    m.cosine_distance = 1 - m.cosine;
    return;
  }
  m.norm_ratio = norm_t / norm_g * (scales.g / scales.t);
  const double norms = norm_t * norm_g;
  m.cosine = std::clamp(sums.tg / norms, -1.0, 1.0);
  m.cosine_distance = 1 - m.cosine;
  if (m.cosine > 0.5 && m.norm_ratio > 0.5 && m.norm_ratio < 2 && scales.t == scales.d && scales.g == scales.d) {
    // 2(‖t‖‖g‖ - Σtg) = ‖t-g‖² - (‖t‖-‖g‖)²: for t near g no difference of nearly equal sums. Norms far apart would
    // make it one.
    const double difference = norm_t - norm_g;
    m.cosine_distance = std::max(0.0, (sums.dd - difference * difference) / (2 * norms));
    m.cosine = 1 - m.cosine_distance;
  }
}

}  // namespace

Metrics measure(uint64_t count, const PairSource& read) {
  Metrics m;
  m.elements = count;
  Scales scales;
  Sums sums = sum_blocks(count, read, m, sum_finite);
  if (count > 0 && m.finite_pairs == 0) {
    for (const MetricInfo& metric : kMetrics) m.*metric.value = kNaN;
    return m;
  }
  if (m.finite_pairs == 0) {
    m.target_zero = m.golden_zero = true;
    m.sqnr_db = kInf;
    return m;
  }
  if (out_of_range(sums)) {
    const bool difference_overflows = !std::isfinite(sums.max_d);
    scales.t = unit_scale(sums.max_t);
    scales.g = unit_scale(sums.max_g);
    scales.d = difference_overflows ? unit_scale(std::max(sums.max_t, sums.max_g)) / 2 : unit_scale(sums.max_d);
    Metrics again;
    sums = sum_blocks(count, read, again,
                      [&](const double* t, const double* g, size_t n) { return sum_scaled(t, g, n, scales); });
  }
  derive(m, sums, scales);
  return m;
}

Metrics measure(const double* target, const double* golden, size_t count) {
  return measure(count, [&](uint64_t first, size_t n, double* t, double* g) {
    std::copy_n(target + first, n, t);
    std::copy_n(golden + first, n, g);
  });
}

}  // namespace dumphook
