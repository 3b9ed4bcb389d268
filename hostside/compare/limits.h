// SPDX-License-Identifier: Apache-2.0
// Limits: what a layer's metrics may be before the layer is suspicious (warn) or bad (fail); and the vendors' own
// rules.
//
// Presets            fails                                                           warns
//   default          cosine < 0.95 · norm_ratio outside 0.8 .. 1.25                  cosine < 0.99 · norm_ratio outside
//   0.9 .. 1.1 ascend           cosine < 0.99 · rel_euclidean > 0.05 · rmse > 1 · norm gate     norm_ratio outside 0.9
//   .. 1.1 sigmastar        cosine < 0.99 · rel_l1 > 0.1 · norm gate                        norm_ratio outside 0.9
//   .. 1.1
// Every preset has the norm gate (fails outside 0.8 .. 1.25): a wrong scale leaves the cosine at 1. The default cosine
// limits let 8-bit quantization noise pass, which adds up to a cosine of 0.95 .. 0.999 over a deep network.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/metrics.h"

namespace dumphook {

enum class State : uint8_t {
  pass,
  warn,
  fail,
  unmatched,
  not_captured,
  truncated,
  inside_npu,
  hidden_by_fusion,
  not_comparable
};
const char* name_of(State state);   // as in JSON: "pass", ..., "not captured", "inside-npu", "hidden by fusion"
bool is_judged(State state);        // pass, warn or fail
bool is_missing_data(State state);  // unmatched, not captured, truncated, not comparable: a hole in the verdict

enum class Preset : uint8_t { standard, ascend, sigmastar };
inline constexpr std::string_view kPresetNames[] = {"default", "ascend", "sigmastar"};
std::optional<Preset> preset_named(std::string_view name);

struct Limit {
  const MetricInfo* metric;
  State outside;     // fail or warn
  double low, high;  // allowed, both included
};

struct Limits {
  Preset preset = Preset::standard;
  std::vector<Limit> list;  // fails before warns

  // Replaces the limit of that metric and severity, or adds one.
  void set(const MetricInfo& metric, State outside, double low, double high);
};
Limits limits_of(Preset preset);
const MetricInfo& metric_named(std::string_view key);  // throws std::out_of_range

struct Judgement {
  State state;
  std::string reason;  // which limit, with the number; empty for pass
};
// NaN or Inf in the target where the golden is finite fails whatever the limits. The reverse, and tensors without any
// finite pair, warn. Tensors without elements pass.
Judgement judge(const Metrics& metrics, const Limits& limits);

// The vendor's verdict by the vendor's own rule, with its own treatment of zero vectors and scalars; none for
// `standard`.
//   ascend     msaccucmp IsPrecisionError without its KL and mean-relative-error terms: cosine < 0.99, rel_euclidean >
//   0.05
//              or rmse > 1. One element: cosine 1. One side zero: cosine undefined, the row is exempt.
//   sigmastar  DumpDebug: COS < 0.99 or "RMSE" (rel_l1) > 0.1. A zero vector on either side: COS 0.
std::optional<State> vendor_judge(Preset preset, const Metrics& metrics);
double sigmastar_cosine(const Metrics& metrics);

}  // namespace dumphook
