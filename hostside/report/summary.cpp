// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"
#include "report/words.h"

namespace dumphook {
namespace {

std::string side_line(const char* which, const std::string& label, const SideCoverage& side) {
  std::string text = fmt::format("{:<9} {}", which, printable(label));
  if (side.frame) text += fmt::format(" · frame {} {}", *side.frame, side.frame_state);
  text += fmt::format(" · {} of {} tensors whole", side.captured, std::max(side.seen, side.captured));
  for (const auto& [reason, count] : side.lost) text += fmt::format(" · {} lost: {}", count, reason);
  if (side.declared)
    text += fmt::format(" · model declares {}, {} can be captured", *side.declared, side.visible.value_or(0));
  else if (side.frame)
    text += " · no model declared: layers never hooked are not known";
  return text + (side.unconfirmed ? " · unconfirmed" : "");
}

}  // namespace

std::vector<std::string> coverage_lines(const Comparison& comparison, bool unmatched_allowed) {
  std::vector<std::string> lines{side_line("target", comparison.target, comparison.target_coverage),
                                 side_line("golden", comparison.golden, comparison.golden_coverage)};
  std::string text = fmt::format("coverage  {} of {} rows judged", comparison.judged(),
                                 comparison.inputs.size() + comparison.layers.size());
  for (const auto& [state, count] : comparison.counts)
    if (!is_judged(state)) text += fmt::format(" · {} {}", count, name_of(state));
  lines.push_back(text + (comparison.has_holes(unmatched_allowed) ? " · DATA ARE MISSING" : ""));
  for (const std::string& note : comparison.notes) lines.push_back("note      " + printable(note));
  return lines;
}

std::string counts_text(const Comparison& comparison, const std::function<std::string(State)>& word) {
  std::string text;
  for (const auto& [state, count] : comparison.counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : " · ", count, word(state));
  return text;
}

Judgement verdict_over_all(const Comparison& comparison, bool unmatched_allowed) {
  const bool holes = comparison.has_holes(unmatched_allowed);
  if (comparison.failed()) return {State::fail, holes ? "FAIL, and data are missing" : "FAIL"};
  if (holes) return {State::warn, "INCOMPLETE: nothing judged fails, but data are missing"};
  return {State::pass, comparison.count(State::warn) > 0 ? "PASS, with warnings" : "PASS"};
}

std::string summary_report(const Comparison& comparison, bool unmatched_allowed, bool only_measured) {
  std::string text;
  for (const std::string& line : coverage_lines(comparison, unmatched_allowed)) text += line + "\n";
  size_t left_out = 0;
  for (const auto* scores : {&comparison.inputs, &comparison.layers})
    left_out += static_cast<size_t>(
        std::count_if(scores->begin(), scores->end(), [](const LayerScore& score) { return !score.metrics; }));
  if (only_measured && left_out > 0) text += fmt::format("left out  {} rows without numbers\n", left_out);
  text += "counts    " + counts_text(comparison, [](State state) { return std::string(name_of(state)); }) + "\n";
  return text + "verdict   " + verdict_over_all(comparison, unmatched_allowed).reason + "\n";
}

}  // namespace dumphook
