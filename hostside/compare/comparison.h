// SPDX-License-Identifier: Apache-2.0
// Comparison: the judged rows of an Alignment, and what they add up to. Reports print it, diagnose reads it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "align/pairs.h"
#include "compare/limits.h"
#include "compare/metrics.h"
#include "compare/trend.h"

namespace dumphook {

struct LayerScore {
  size_t index = 0;         // of the row: inputs from 0, layers after them, in execution order
  std::string name;         // the target's, with run_suffix(); the golden's where the target has none
  std::string golden_name;  // empty: no counterpart
  std::string op;
  Role role = Role::intermediate;
  std::optional<DType> target_dtype, golden_dtype;
  Shape shape;                     // the target's; the golden's where the target has none
  std::optional<Metrics> metrics;  // numeric pairs only
  State verdict = State::not_comparable;
  std::optional<State> vendor_verdict;
  std::string reason;  // why not pass; how the pair was brought together, where that was not plain

  struct Text {
    std::string target, golden;
  };
  std::optional<Text> text;  // pairs of text tensors (detections): shown side by side
};

struct Comparison {
  std::string target, golden;  // as the user named them
  Limits limits;
  SideCoverage target_coverage, golden_coverage;
  std::vector<std::string> notes;
  std::vector<LayerScore> inputs, layers;
  std::map<State, size_t> counts;          // over inputs and layers
  std::optional<size_t> first_bad, worst;  // positions in layers
  Trend trend;                             // at: position in layers

  size_t count(State state) const;
  size_t judged() const;
  bool failed() const { return count(State::fail) > 0; }
  // Something that was there, or should have been, was not judged. Layers inside an NPU or fused away are no hole: they
  // cannot be captured. With `unmatched_allowed`, neither are tensors that only one side has.
  bool has_holes(bool unmatched_allowed = false) const;
};

// A pair that would take more memory than this is not comparable: a small file may hold a huge tensor.
inline constexpr uint64_t kMostPairBytes = uint64_t{4} << 30;

// first_bad is the first layer that fails; inputs are apart and never first_bad. An input, or the output of a quantize
// op, that is nowhere further from its golden than one quantization step warns instead of failing: that error is the
// format's. worst is the layer with the largest rel_euclidean (NaN or Inf of its own: larger than any).
using Progress = std::function<void(size_t done, size_t total, const std::string& name)>;
Comparison compare(const Alignment& alignment, const Limits& limits, const Progress& progress = {});

}  // namespace dumphook
