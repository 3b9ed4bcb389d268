// SPDX-License-Identifier: Apache-2.0
#include "compare/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace dumphook {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::string describe(const Limit& limit, double value) {
  const bool low = value < limit.low;
  return fmt::format("{} {:.6g} {} {:.4g}", limit.metric->key, value, low ? "<" : ">", low ? limit.low : limit.high);
}

}  // namespace

const char* name_of(State state) {
  switch (state) {
    case State::pass: return "pass";
    case State::warn: return "warn";
    case State::fail: return "fail";
    case State::unmatched: return "unmatched";
    case State::not_captured: return "not captured";
    case State::truncated: return "truncated";
    case State::inside_npu: return "inside-npu";
    case State::hidden_by_fusion: return "hidden by fusion";
    case State::not_comparable: return "not comparable";
  }
  return "?";
}

bool is_judged(State state) { return state <= State::fail; }

bool is_missing_data(State state) {
  return state == State::unmatched || state == State::not_captured || state == State::truncated ||
         state == State::not_comparable;
}

std::optional<Preset> preset_named(std::string_view name) {
  const auto found = std::find(std::begin(kPresetNames), std::end(kPresetNames), name);
  if (found == std::end(kPresetNames)) return {};
  return static_cast<Preset>(found - std::begin(kPresetNames));
}

const MetricInfo& metric_named(std::string_view key) {
  for (const MetricInfo& metric : kMetrics)
    if (metric.key == key) return metric;
  throw std::out_of_range("no such metric");
}

void Limits::set(const MetricInfo& metric, State outside, double low, double high) {
  for (Limit& limit : list)
    if (limit.metric->key == metric.key && limit.outside == outside) {
      limit.low = low;
      limit.high = high;
      return;
    }
  list.push_back({&metric, outside, low, high});
  std::stable_partition(list.begin(), list.end(), [](const Limit& limit) { return limit.outside == State::fail; });
}

Limits limits_of(Preset preset) {
  Limits limits;
  limits.preset = preset;
  const auto set = [&](const char* key, State outside, double low, double high) {
    limits.set(metric_named(key), outside, low, high);
  };
  switch (preset) {
    case Preset::standard:
      set("cosine", State::fail, 0.95, kInf);
      set("cosine", State::warn, 0.99, kInf);
      break;
    case Preset::ascend:
      set("cosine", State::fail, 0.99, kInf);
      set("rel_euclidean", State::fail, 0, 0.05);
      set("rmse", State::fail, 0, 1);
      break;
    case Preset::sigmastar:
      set("cosine", State::fail, 0.99, kInf);
      set("rel_l1", State::fail, 0, 0.1);
      break;
  }
  set("norm_ratio", State::fail, 0.8, 1.25);
  set("norm_ratio", State::warn, 0.9, 1.1);
  return limits;
}

Judgement judge(const Metrics& m, const Limits& limits) {
  if (m.elements == 0) return {State::pass, "no elements"};
  if (m.target_only_nonfinite > 0)
    return {State::fail, fmt::format("NaN or Inf in {} elements where the golden is finite", m.target_only_nonfinite)};
  if (m.different_nonfinite() > 0)
    return {State::fail, fmt::format("NaN and Inf differ in {} elements", m.different_nonfinite())};

  std::string reason;
  for (const Limit& limit : limits.list) {
    const double value = m.*limit.metric->value;
    if (!(value < limit.low || value > limit.high)) continue;
    if (limit.outside == State::warn && !reason.empty()) break;
    if (limit.outside == State::warn) return {State::warn, describe(limit, value)};
    reason += (reason.empty() ? "" : ", ") + describe(limit, value);
  }
  if (!reason.empty()) return {State::fail, reason};
  if (m.finite_pairs == 0) return {State::warn, "no finite element to compare"};
  if (m.golden_only_nonfinite > 0)
    return {State::warn, fmt::format("the golden has NaN or Inf in {} elements where the target is finite",
                                     m.golden_only_nonfinite)};
  return {State::pass, {}};
}

double sigmastar_cosine(const Metrics& m) { return m.target_zero || m.golden_zero ? 0 : m.cosine; }

std::optional<State> vendor_judge(Preset preset, const Metrics& m) {
  const auto verdict = [](bool bad) { return bad ? State::fail : State::pass; };
  switch (preset) {
    case Preset::standard: return {};
    case Preset::ascend: {
      if (m.elements != m.finite_pairs) return {};  // its cosine is NaN: exempt
      if (m.elements != 1 && m.target_zero != m.golden_zero) return {};
      const double cosine = m.elements == 1 ? 1 : m.cosine;
      const double rel_euclidean = m.golden_zero ? 0 : m.rel_euclidean;
      return verdict(cosine < 0.99 || rel_euclidean > 0.05 || m.rmse > 1);
    }
    case Preset::sigmastar: return verdict(!(sigmastar_cosine(m) >= 0.99) || m.rel_l1 > 0.1);
  }
  return {};
}

}  // namespace dumphook
