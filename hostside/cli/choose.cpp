// SPDX-License-Identifier: Apache-2.0
#include "cli/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "base/glob.h"
#include "cli/output.h"

namespace dumphook {
namespace {

bool read_number(std::string_view text, uint64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

Expected<FrameSelection> read_selection(const std::string& text) {
  FrameSelection selection;
  if (text == "all") return selection;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t dash = part.find('-');
    SeqRange range;
    const bool good = dash == std::string::npos ? read_number(part, &range.first) && read_number(part, &range.last)
                                                : read_number(std::string_view(part).substr(0, dash), &range.first) &&
                                                      read_number(std::string_view(part).substr(dash + 1), &range.last);
    if (!good || range.last < range.first)
      return Error{"the frames '" + text + "' cannot be understood", "e.g. 3, 7-9, 3,7-9 or all"};
    selection.ranges.push_back(range);
    begin = end + 1;
  }
  return selection;
}

std::vector<SeqRange> absent_of(const Capture& capture, const FrameSelection& wanted) {
  std::set<uint64_t> numbers;
  for (const CapturedFrame& frame : capture.frames()) numbers.insert(frame.number);
  std::vector<SeqRange> absent;
  for (const SeqRange& range : wanted.ranges) {
    uint64_t next = range.first;
    bool more = true;
    for (auto at = numbers.lower_bound(range.first); more && at != numbers.end() && *at <= range.last; ++at) {
      if (*at > next) absent.push_back({next, *at - 1});
      more = *at < range.last;
      next = *at + 1;
    }
    if (more) absent.push_back({next, range.last});
  }
  return absent;
}

std::string known_frames(const Capture& capture) {
  const auto& frames = capture.frames();
  if (frames.empty()) return "the capture has no frames";
  return fmt::format("the capture has {} frames, {} to {}", frames.size(), frames.front().number, frames.back().number);
}

}  // namespace

Expected<ChosenFrames> choose_frames(const Capture& capture, const std::string& text) {
  const std::vector<CapturedFrame>& frames = capture.frames();
  ChosenFrames chosen;
  if (text.empty()) {
    const CapturedFrame* best = nullptr;
    for (const CapturedFrame& frame : frames) {
      if (frame.tensors == 0) continue;
      if (frame.complete()) {
        best = &frame;
        break;
      }
      if (best == nullptr || frame.tensors > best->tensors) best = &frame;
    }
    if (best == nullptr) return Error{"there are no tensors in the capture", "see dumphook info"};
    chosen.frames.push_back({best->session, best->number});
    return chosen;
  }
  const Expected<FrameSelection> selection = read_selection(text);
  if (!selection) return selection.error();
  for (const CapturedFrame& frame : frames) {
    if (selection->contains(frame.number)) chosen.frames.push_back({frame.session, frame.number});
  }
  if (chosen.frames.empty()) return Error{"there is no frame " + text, known_frames(capture)};
  chosen.absent = absent_of(capture, *selection);
  return chosen;
}

const CapturedFrame* find_frame(const Capture& capture, FrameKey key) {
  const auto before = [](const CapturedFrame& frame, const FrameKey& wanted) {
    return std::tie(frame.session, frame.number) < std::tie(wanted.session, wanted.frame);
  };
  const auto found = std::lower_bound(capture.frames().begin(), capture.frames().end(), key, before);
  const bool there = found != capture.frames().end() && found->session == key.session && found->number == key.frame;
  return there ? &*found : nullptr;
}

std::string lack_text(const CapturedFrame& frame) {
  std::string text = std::string(frame.state_name()) == "complete" ? "" : frame.state_name();
  std::string lost;
  for (const auto& [reason, count] : frame.lost) {
    if (count > 0) lost += fmt::format("{}{} {}", lost.empty() ? "lost: " : ", ", loss_reason_name(reason), count);
  }
  return text.empty() || lost.empty() ? text + lost : text + ", " + lost;
}

std::string absent_text(const std::vector<SeqRange>& absent) {
  std::string text;
  for (const SeqRange& range : absent) {
    text += text.empty() ? "" : ", ";
    text += range.first == range.last ? fmt::format("there is no frame {}", range.first)
                                      : fmt::format("there are no frames {} to {}", range.first, range.last);
  }
  return text;
}

Error no_descriptor(const CapturedTensor& tensor) {
  return {
      fmt::format("{} of frame {} has no real values: its descriptor is missing", shown(tensor.label()), tensor.frame),
      "--stored gives the stored numbers"};
}

std::vector<size_t> choose_tensors(const Capture& capture, FrameKey frame, const std::string& glob) {
  std::vector<size_t> chosen = capture.execution_order(frame.session, frame.frame);
  if (glob.empty()) return chosen;
  const auto differs = [&](size_t index) {
    const CapturedTensor& tensor = capture.tensors()[index];
    const std::string qualified = tensor.model() + "/" + tensor.name();
    return !glob_match(glob.c_str(), tensor.name().c_str()) && !glob_match(glob.c_str(), qualified.c_str());
  };
  chosen.erase(std::remove_if(chosen.begin(), chosen.end(), differs), chosen.end());
  return chosen;
}

Expected<size_t> choose_tensor(const Capture& capture, FrameKey frame, const std::string& name) {
  const std::vector<size_t> order = capture.execution_order(frame.session, frame.frame);
  const auto at = [&](size_t index) -> const CapturedTensor& { return capture.tensors()[index]; };
  for (const size_t index : order) {
    if (at(index).name() == name || at(index).model() + "/" + at(index).name() == name) return index;
  }
  for (const size_t index : order) {
    if (at(index).label() == name || at(index).model() + "/" + at(index).label() == name) return index;
  }
  const size_t colon = name.rfind(':');
  uint64_t output = 0;
  if (colon != std::string::npos && read_number(std::string_view(name).substr(colon + 1), &output)) {
    const std::string node_name = name.substr(0, colon);
    for (const CapturedGraph& graph : capture.graphs()) {
      if (graph.session != frame.session) continue;
      for (const GraphNode& node : graph.nodes) {
        if (node.name != node_name || output >= node.outputs.size()) continue;
        for (const size_t index : order) {
          if (at(index).model() == graph.model && at(index).name() == node.outputs[output]) return index;
        }
      }
    }
    for (const size_t index : order) {
      if (at(index).name() == node_name && at(index).descriptor->output_slot == static_cast<int>(output)) return index;
    }
  }
  std::string near;
  size_t found = 0;
  for (const size_t index : order) {
    if (at(index).name().find(name.substr(0, colon)) == std::string::npos) continue;
    if (++found <= 5) near += (near.empty() ? "" : ", ") + shown(at(index).label());
  }
  return Error{fmt::format("there is no tensor {} in frame {}", shown(name), frame.frame),
               near.empty() ? "names are listed by dumphook ls" : "did you mean: " + near};
}

std::vector<std::string> problem_lines(const Capture& capture, size_t limit) {
  std::vector<std::string> lines;
  const std::vector<Problem>& kept = capture.problems().kept();
  for (size_t i = 0; i < kept.size() && i < limit; ++i) {
    const Problem& problem = kept[i];
    static constexpr const char* kWords[] = {"note", "warning", "error"};
    lines.push_back(fmt::format("{}: {}, offset {}: {}{}{}", kWords[static_cast<size_t>(problem.severity)],
                                shown(capture.files()[problem.file]), problem.offset, shown(problem.what),
                                problem.todo.empty() ? "" : "; ", shown(problem.todo)));
  }
  const size_t all = kept.size() + capture.problems().not_kept();
  if (all > lines.size()) lines.push_back(fmt::format("... and {} more", all - lines.size()));
  return lines;
}

}  // namespace dumphook
