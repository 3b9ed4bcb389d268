// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <new>
#include <stdexcept>

#include "align/arrangement.h"
#include "base/bytes.h"
#include "compare/operand.h"
#include "compare/wide_integers.h"
#include "decode/dtype.h"

namespace dumphook {
namespace {

void add_reason(LayerScore& score, const std::string& reason) {
  if (reason.empty()) return;
  score.reason += (score.reason.empty() ? "" : "; ") + reason;
}

State state_of(Presence presence) {
  switch (presence) {
    case Presence::whole: return State::pass;
    case Presence::truncated: return State::truncated;
    case Presence::unusable: return State::not_comparable;
    case Presence::not_captured: return State::not_captured;
    case Presence::inside_npu: return State::inside_npu;
    case Presence::hidden_by_fusion: return State::hidden_by_fusion;
  }
  return State::not_comparable;
}

// The state of a pair that lacks a tensor; pass when both are whole.
State presence_of(const Pair& pair, LayerScore& score) {
  if (!pair.target) {
    add_reason(score, "only in the golden");
    return State::unmatched;
  }
  if (pair.target->presence != Presence::whole) {
    add_reason(score, pair.target->why);
    return state_of(pair.target->presence);
  }
  if (!pair.golden) {
    add_reason(score, "only in the target");
    return State::unmatched;
  }
  if (pair.golden->presence != Presence::whole)
    add_reason(score, "in the golden" + (pair.golden->why.empty() ? "" : ": " + pair.golden->why));
  return state_of(pair.golden->presence);
}

std::string text_of(const Tensor& tensor) {
  std::string text(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return text.substr(0, text.find_last_not_of(std::string_view("\0\n\r ", 4)) + 1);
}

void score_text(LayerScore& score, const Tensor& target, const Tensor& golden) {
  score.text = LayerScore::Text{text_of(target), text_of(golden)};
  score.verdict = score.text->target == score.text->golden ? State::pass : State::warn;
  if (score.verdict == State::warn) add_reason(score, "text differs");
}

void score_raw(LayerScore& score, const Tensor& target, const Tensor& golden) {
  const bool equal = target.descriptor.dtype == golden.descriptor.dtype && target.bytes == golden.bytes;
  score.verdict = equal ? State::pass : State::not_comparable;
  add_reason(score, equal ? "raw bytes, equal" : "raw bytes, different: their type is not known");
}

bool is_quantize_op(std::string op) {
  std::transform(op.begin(), op.end(), op.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return op == "quantize" || op == "quantizelinear" || op == "ascendquant" || op == "quant";
}

// The error of an input that was only brought into the target's format.
bool within_own_quantization_step(const LayerScore& score, const Tensor& target, const Tensor& golden) {
  const auto& scale = target.descriptor.quantization.scale;
  const bool only_quantized = score.role == Role::input || score.role == Role::preprocessed || is_quantize_op(score.op);
  return only_quantized && scale.size() == 1 && golden.descriptor.quantization.scale.empty() &&
         score.metrics->max_abs <= static_cast<double>(scale[0]) * (1 + 1e-6);
}

// What a pair takes: its bytes, and, where a side is to be rearranged, that in double before, between and after.
bool too_large(LayerScore& score, uint64_t stored_bytes, uint64_t rearranged_elements) {
  const double needed = static_cast<double>(stored_bytes) + 24 * static_cast<double>(rearranged_elements);
  if (needed <= static_cast<double>(kMostPairBytes)) return false;
  score.verdict = State::not_comparable;
  add_reason(score, fmt::format("needs {:.1f} GiB of memory, and a pair may take {:.0f}", needed / 0x1p30,
                                static_cast<double>(kMostPairBytes) / 0x1p30));
  return true;
}

void score_numbers(LayerScore& score, const Tensor& target, const Tensor& golden, const Limits& limits) {
  const uint64_t bytes = uint64_t{target.bytes.size()} + golden.bytes.size();
  uint64_t rearranged = 0;
  for (const Tensor* tensor : {&target, &golden})
    if (!lies_unpacked(tensor->descriptor, stored_elements(*tensor))) rearranged += stored_elements(*tensor);
  if (too_large(score, bytes, rearranged)) return;
  Operand t(target);
  const Operand g(golden);
  score.shape = t.shape;
  add_reason(score, t.note);
  for (const Tensor* tensor : {&target, &golden})
    if (!quantization_fits(tensor->descriptor.quantization, tensor->descriptor.shape))
      add_reason(score, fmt::format("the {}'s quantization does not fit its shape: taken as stored",
                                    tensor == &target ? "target" : "golden"));
  if (!g.note.empty()) add_reason(score, "golden: " + g.note);
  const Arrangement arrangement = arrange(t.shape, t.layout, g.shape, g.layout);
  add_reason(score, arrangement.note);
  if (!arrangement.possible || t.count() != g.count()) {
    score.verdict = State::not_comparable;
    return;
  }
  if (!arrangement.target_axes.empty()) {
    if (too_large(score, bytes, rearranged + t.count())) return;
    t.permute(arrangement.target_axes);
  }

  score.metrics = measure(g.count(), [&](uint64_t first, size_t count, double* of_target, double* of_golden) {
    t.read(first, count, of_target);
    g.read(first, count, of_golden);
  });
  Judgement judgement = judge(*score.metrics, limits);
  if (judgement.state == State::fail && within_own_quantization_step(score, target, golden)) {
    judgement.state = State::warn;
    judgement.reason += ", within its own quantization step";
  }
  judge_beyond_double(judgement, target, golden, !t.moved() && !g.moved());
  score.verdict = judgement.state;
  score.vendor_verdict = vendor_judge(limits.preset, *score.metrics);
  score.reason = judgement.reason + (judgement.reason.empty() || score.reason.empty() ? "" : "; ") + score.reason;
}

LayerScore describe(const Pair& pair, size_t index) {
  LayerScore score;
  score.index = index;
  const auto fill = [&](const SideTensor& tensor) {
    const Descriptor& d = tensor.descriptor;
    const Presence presence = tensor.presence;
    score.name = tensor.label();
    score.op = score.op.empty() ? d.op : score.op;
    if (presence == Presence::whole || presence == Presence::truncated || score.shape.empty()) score.shape = d.shape;
    if (d.role != Role::intermediate) score.role = d.role;
    const bool known = presence == Presence::whole || presence == Presence::truncated;
    return known && (d.dtype != DType::raw || !d.shape.empty()) ? std::optional(d.dtype) : std::optional<DType>();
  };
  if (pair.golden) {
    score.golden_dtype = fill(*pair.golden);
    score.golden_name = score.name;
  }
  if (pair.target) {
    score.op = pair.target->descriptor.op.empty() ? score.op : pair.target->descriptor.op;
    score.target_dtype = fill(*pair.target);
  }
  return score;
}

LayerScore score_pair(const Pair& pair, size_t index, const Limits& limits) {
  LayerScore score = describe(pair, index);
  score.verdict = presence_of(pair, score);
  add_reason(score, pair.note);
  if (score.verdict != State::pass) return score;
  const auto bytes_of = [](const SideTensor& tensor) {
    return dense_bytes(tensor.descriptor.dtype, tensor.descriptor.shape).value_or(0);
  };
  uint64_t bytes = 0;
  if (!checked_add(bytes_of(*pair.target), bytes_of(*pair.golden), &bytes))
    bytes = std::numeric_limits<uint64_t>::max();
  if (too_large(score, bytes, 0)) return score;
  try {
    const Tensor target = pair.target->load(), golden = pair.golden->load();
    score.target_dtype = target.descriptor.dtype;
    score.golden_dtype = golden.descriptor.dtype;
    score.shape = target.descriptor.shape;
    if (target.descriptor.layout == Layout::text || golden.descriptor.layout == Layout::text)
      score_text(score, target, golden);
    else if (target.descriptor.dtype == DType::raw || golden.descriptor.dtype == DType::raw)
      score_raw(score, target, golden);
    else
      score_numbers(score, target, golden, limits);
  } catch (const std::bad_alloc&) {
    score.verdict = State::not_comparable;
    add_reason(score, "there is not enough memory");
  } catch (const std::runtime_error& error) {
    score.verdict = State::not_comparable;
    add_reason(score, error.what());
  }
  return score;
}

double error_of(const LayerScore& score) {
  const Metrics& m = *score.metrics;
  if (m.target_only_nonfinite > 0 || m.different_nonfinite() > 0) return std::numeric_limits<double>::infinity();
  return m.finite_pairs > 0 ? m.rel_euclidean : 0;
}

void summarize(Comparison& result) {
  for (const auto* rows : {&result.inputs, &result.layers})
    for (const LayerScore& score : *rows) ++result.counts[score.verdict];

  std::vector<TrendPoint> points;
  std::vector<size_t> position_of;
  double largest = 0;
  for (size_t i = 0; i < result.layers.size(); ++i) {
    const LayerScore& score = result.layers[i];
    if (score.verdict == State::fail && !result.first_bad) result.first_bad = i;
    if (!score.metrics) continue;
    points.push_back({error_of(score), score.verdict == State::fail});
    position_of.push_back(i);
    if (error_of(score) > largest) {
      largest = error_of(score);
      result.worst = i;
    }
  }
  result.trend = find_trend(points);
  if (result.trend.at) result.trend.at = position_of[*result.trend.at];
}

}  // namespace

size_t Comparison::count(State state) const {
  const auto found = counts.find(state);
  return found == counts.end() ? 0 : found->second;
}

size_t Comparison::judged() const { return count(State::pass) + count(State::warn) + count(State::fail); }

bool Comparison::has_holes(bool unmatched_allowed) const {
  for (const auto& [state, number] : counts)
    if (number > 0 && is_missing_data(state) && !(unmatched_allowed && state == State::unmatched)) return true;
  return judged() == 0 || !target_coverage.complete() || !golden_coverage.complete();
}

Comparison compare(const Alignment& alignment, const Limits& limits, const Progress& progress) {
  Comparison result;
  result.target = alignment.target->label;
  result.golden = alignment.golden->label;
  result.limits = limits;
  result.target_coverage = alignment.target->coverage;
  result.golden_coverage = alignment.golden->coverage;
  for (const auto& note : alignment.target->notes) result.notes.push_back("target: " + note);
  for (const auto& note : alignment.golden->notes) result.notes.push_back("golden: " + note);
  result.notes.insert(result.notes.end(), alignment.notes.begin(), alignment.notes.end());

  const size_t total = alignment.inputs.size() + alignment.layers.size();
  size_t index = 0;
  const auto score_all = [&](const std::vector<Pair>& pairs, std::vector<LayerScore>& scores) {
    for (const Pair& pair : pairs) {
      scores.push_back(score_pair(pair, index++, limits));
      if (progress) progress(index, total, scores.back().name);
    }
  };
  score_all(alignment.inputs, result.inputs);
  score_all(alignment.layers, result.layers);
  summarize(result);
  return result;
}

}  // namespace dumphook
