// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "decode/dtype.h"
#include "report/report.h"
#include "report/summary.h"
#include "report/words.h"

namespace dumphook {
namespace {

enum Column { kIndex, kOp, kName, kDtype, kShape, kFirstMetric };
constexpr std::array<std::string_view, 5> kShownMetrics{"cosine", "rmse", "max_abs", "rel_l1", "norm_ratio"};
constexpr size_t kVerdict = kFirstMetric + kShownMetrics.size();
constexpr size_t kColumns = kVerdict + 1;
using Cells = std::array<std::string, kColumns>;

// Shortened in this order, to no less than this, when the terminal is too narrow.
struct Shrink {
  Column column;
  size_t least;
};
constexpr Shrink kShrinkable[] = {{kName, 24}, {kOp, 8}, {kName, 16}, {kOp, 4}};
constexpr size_t kVerdictWidth = 4;  // pass, warn, fail; the rarer words push the reason aside
constexpr size_t kLeastReason = 30;

size_t code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// The end of a layer's name says more than its beginning: both are kept.
std::string shortened(const std::string& text, size_t width) {
  const size_t length = code_points(text);
  if (length <= width) return text;
  if (width < 3) return std::string(width, '.');
  const size_t head = (width - 2) / 3, tail = width - 2 - head;
  std::string result;
  size_t position = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80) ++position;
    if (position == head + 1 && (text[i] & 0xC0) != 0x80) result += "..";
    if (position <= head || position > length - tail) result += text[i];
  }
  return result;
}

std::string metric_cell(double value) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  if (value == 0) return "0";
  return size >= 1e-4 && size < 1e5 ? fmt::format("{:.{}f}", value,
                                                  size < 10     ? 5
                                                  : size < 1000 ? 3
                                                                : 1)
                                    : fmt::format("{:.2e}", value);
}

std::string cosine_cell(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6f}", value); }

std::string dtypes(const LayerScore& score) {
  const auto word = [](std::optional<DType> dtype) { return dtype ? std::string(dtype_name(*dtype)) : "-"; };
  return word(score.target_dtype) + "/" + word(score.golden_dtype);
}

Cells cells_of(const LayerScore& score, bool is_input) {
  Cells cells;
  cells[kIndex] = std::to_string(score.index);
  cells[kOp] = score.op.empty() ? (is_input ? "input" : "-") : printable(score.op);
  cells[kName] = printable(score.name);
  cells[kDtype] = dtypes(score);
  cells[kShape] = score.target_dtype || score.golden_dtype ? shape_text(score.shape) : "-";
  for (size_t i = 0; i < kShownMetrics.size(); ++i) {
    std::string& cell = cells[kFirstMetric + i];
    if (!score.metrics)
      cell = "-";
    else if (kShownMetrics[i] == "cosine")
      cell = cosine_cell(score.metrics->cosine);
    else
      cell = metric_cell((*score.metrics).*metric_named(kShownMetrics[i]).value);
  }
  cells[kVerdict] = name_of(score.verdict);
  return cells;
}

Cells header() {
  Cells cells{"#", "op", "name", "dtype", "shape"};
  for (size_t i = 0; i < kShownMetrics.size(); ++i)
    cells[kFirstMetric + i] = std::string(metric_named(kShownMetrics[i]).title);
  cells[kVerdict] = "verdict";
  return cells;
}

const char* colour_of(State state) {
  switch (state) {
    case State::pass: return "\x1b[32m";
    case State::warn: return "\x1b[33m";
    case State::fail: return "\x1b[1;31m";
    default: return "\x1b[36m";
  }
}

class Table {
 public:
  Table(const Comparison& comparison, const TableStyle& style) : comparison_(comparison), style_(style) {
    measure_columns();
  }

  std::string text() {
    write_coverage();
    write_rows();
    write_texts();
    write_summary();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  std::string painted(State state, const std::string& text) const {
    return style_.colour ? colour_of(state) + text + "\x1b[0m" : text;
  }

  void measure_columns() {
    const auto widen = [&](const Cells& cells) {
      for (size_t i = 0; i < kColumns; ++i) widths_[i] = std::max(widths_[i], code_points(cells[i]));
    };
    widen(header());
    for (const LayerScore& score : comparison_.inputs) widen(cells_of(score, true));
    for (const LayerScore& score : comparison_.layers) widen(cells_of(score, false));
    if (style_.width <= 0) return;

    size_t needed = kVerdictWidth + 2 + kLeastReason;
    for (size_t i = 0; i < kVerdict; ++i) needed += widths_[i] + 2;
    const auto limit = static_cast<size_t>(style_.width);
    for (const Shrink& shrink : kShrinkable) {
      size_t& width = widths_[shrink.column];
      if (needed <= limit || width <= shrink.least) continue;
      const size_t less = std::min(width - shrink.least, needed - limit);
      width -= less;
      needed -= less;
    }
  }

  void write_row(const Cells& cells, std::optional<State> state, const std::string& reason) {
    std::string row;
    for (size_t i = 0; i < kVerdict; ++i) {
      const bool right = i == kIndex || i >= kFirstMetric;
      const std::string cell = shortened(cells[i], widths_[i]);
      const std::string padding(widths_[i] - code_points(cell), ' ');
      row += (right ? padding + cell : cell + padding) + "  ";
    }
    const size_t left = code_points(row);
    std::string verdict = state ? painted(*state, cells[kVerdict]) : cells[kVerdict];
    std::string why = printable(reason);
    if (!why.empty()) {
      const size_t word = code_points(cells[kVerdict]), padding = (word < kVerdictWidth ? kVerdictWidth - word : 0) + 2;
      verdict += std::string(padding, ' ');
      const size_t taken = left + word + padding;
      if (style_.width > 0)
        why = static_cast<size_t>(style_.width) > taken + 3 ? head_of(why, static_cast<size_t>(style_.width) - taken)
                                                            : "";
    }
    out_ += row + verdict + why + "\n";
  }

  static std::string head_of(const std::string& text, size_t width) {
    if (code_points(text) <= width) return text;
    size_t bytes = 0;
    for (size_t points = 0; bytes < text.size(); ++bytes)
      if ((text[bytes] & 0xC0) != 0x80 && ++points > width - 2) break;
    return text.substr(0, bytes) + "..";
  }

  void write_coverage() {
    for (const std::string& text : coverage_lines(comparison_, style_.unmatched_allowed)) line("{}", text);
    for (const LayerScore& score : comparison_.inputs)
      if (score.verdict == State::fail)
        line("{}", painted(State::fail, fmt::format("INPUT DIFFERS: {}: {}; settle this before reading the layers",
                                                    printable(score.name), printable(score.reason))));
    out_ += "\n";
  }

  void write_rows() {
    write_row(header(), {}, {});
    for (const LayerScore& score : comparison_.inputs) write_row(cells_of(score, true), score.verdict, score.reason);
    if (!comparison_.inputs.empty() && !comparison_.layers.empty()) out_ += "\n";
    for (const LayerScore& score : comparison_.layers) write_row(cells_of(score, false), score.verdict, score.reason);
    out_ +=
        "\ndtype target/golden · COS cosine · RMSE root mean square error · MAXABS largest difference\n"
        "RELL1 sum of differences / sum of golden (SigmaStar's RMSE) · NORM norm of target / norm of golden\n";
  }

  void write_texts() {
    for (const auto* scores : {&comparison_.inputs, &comparison_.layers})
      for (const LayerScore& score : *scores)
        if (score.text) write_text(score);
  }

  // Two columns; lines that differ are marked.
  void write_text(const LayerScore& score) {
    constexpr size_t kMostLines = 100;
    line("\n{} ({}), target | golden", printable(score.name), score.verdict == State::pass ? "equal" : "different");
    const auto lines_of = [](const std::string& text) {
      std::vector<std::string> lines;
      std::istringstream stream(text);
      for (std::string one; std::getline(stream, one);) lines.push_back(printable(one));
      return lines;
    };
    const auto target = lines_of(score.text->target), golden = lines_of(score.text->golden);
    const size_t count = std::max(target.size(), golden.size());
    size_t width = 0;
    for (const auto& one : target) width = std::max(width, code_points(one));
    if (style_.width > 8) width = std::min(width, static_cast<size_t>(style_.width - 7) / 2);
    for (size_t i = 0; i < std::min(count, kMostLines); ++i) {
      const std::string t = i < target.size() ? target[i] : "", g = i < golden.size() ? golden[i] : "";
      const std::string cell = head_of(t, std::max<size_t>(width, 3));
      line("  {} {}{} | {}", t == g ? ' ' : '!', cell, std::string(width - std::min(width, code_points(cell)), ' '),
           style_.width > 8 ? head_of(g, std::max<size_t>(width, 3)) : g);
    }
    if (count > kMostLines) line("  ... {} more lines", count - kMostLines);
  }

  std::string layer_line(size_t position) const {
    const LayerScore& score = comparison_.layers[position];
    std::string text = fmt::format("{} {}", score.index, printable(score.name));
    if (!score.reason.empty()) text += fmt::format(" ({})", printable(score.reason));
    return text;
  }

  void write_summary() {
    out_ += "\n";
    line("first bad {}", comparison_.first_bad ? layer_line(*comparison_.first_bad) : "none");
    if (comparison_.worst) line("worst     {}", layer_line(*comparison_.worst));
    if (comparison_.trend.at)
      line("trend     {} at {}", name_of(comparison_.trend.kind),
           printable(comparison_.layers[*comparison_.trend.at].name));
    line("counts    {}", counts_text(comparison_, [this](State state) { return painted(state, name_of(state)); }));
    if (comparison_.limits.preset != Preset::standard) write_vendor_counts();
    const Judgement verdict = verdict_over_all(comparison_, style_.unmatched_allowed);
    line("verdict   {}", painted(verdict.state, verdict.reason));
  }

  void write_vendor_counts() {
    size_t pass = 0, fail = 0;
    for (const auto* scores : {&comparison_.inputs, &comparison_.layers})
      for (const LayerScore& score : *scores)
        if (score.vendor_verdict) ++(*score.vendor_verdict == State::pass ? pass : fail);
    line("vendor    by the rule of {}: {} pass · {} fail", kPresetNames[static_cast<size_t>(comparison_.limits.preset)],
         pass, fail);
  }

  const Comparison& comparison_;
  const TableStyle style_;
  std::array<size_t, kColumns> widths_{};
  std::string out_;
};

}  // namespace

std::string table_report(const Comparison& comparison, const TableStyle& style) {
  return Table(comparison, style).text();
}

}  // namespace dumphook
