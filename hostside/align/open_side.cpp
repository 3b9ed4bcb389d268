// SPDX-License-Identifier: Apache-2.0
#include "align/open_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "align/npy_folder.h"
#include "decode/capture.h"
#include "decode/coverage.h"

namespace dumphook {
namespace {

using SharedCapture = std::shared_ptr<const Capture>;
using Frames = std::vector<const CapturedFrame*>;
using Key = std::pair<std::string, std::string>;  // model, name

[[noreturn]] void fail(const Error& error) {
  throw std::runtime_error(error.todo.empty() ? error.what : error.what + "; " + error.todo);
}

struct Opened {
  std::string path;
  SharedCapture capture;  // null: a folder of npy files

  explicit Opened(const std::string& path_of_side) : path(path_of_side) {
    if (is_npy_folder(path)) return;
    Expected<Capture> opened = Capture::open(path);
    if (!opened) fail(opened.error());
    capture = std::make_shared<const Capture>(std::move(*opened));
    if (frames().empty()) throw std::runtime_error(path + " holds no frame; `dumphook info` shows what is in it");
    refuse_several_sessions();
  }

  Frames frames() const {
    Frames list;
    if (capture)
      for (const CapturedFrame& frame : capture->frames()) list.push_back(&frame);
    return list;
  }

 private:
  // Files of several sessions lie together by accident: which of them is meant?
  void refuse_several_sessions() const {
    std::map<std::string, std::set<std::string>> sessions_of;  // by file
    std::set<uint32_t> with_frames;
    for (const CapturedFrame& frame : capture->frames()) with_frames.insert(frame.session);
    for (const CaptureStream& stream : capture->streams()) {
      if (!stream.session || with_frames.count(*stream.session) == 0) continue;
      sessions_of[capture->files()[stream.file]].insert(capture->sessions()[*stream.session].uuid.substr(0, 8));
    }
    if (with_frames.size() < 2 || sessions_of.size() < 2) return;
    std::string list;
    for (const auto& [file, sessions] : sessions_of)
      for (const std::string& session : sessions)
        list += fmt::format("{}{} (session {})", list.empty() ? "" : ", ", file, session.empty() ? "?" : session);
    throw std::runtime_error(
        fmt::format("{} holds {} sessions: {}; name the file of one of them", path, with_frames.size(), list));
  }
};

const CapturedFrame* find(const Frames& frames, uint64_t number) {
  const auto found = std::find_if(frames.begin(), frames.end(), [&](auto* frame) { return frame->number == number; });
  return found == frames.end() ? nullptr : *found;
}

const CapturedFrame* first_complete(const Frames& frames) {
  const auto found =
      std::find_if(frames.begin(), frames.end(), [](auto* frame) { return frame->complete() && frame->tensors > 0; });
  return found == frames.end() ? nullptr : *found;
}

const CapturedFrame* first_complete_or_first(const Frames& frames) {
  if (frames.empty()) return nullptr;
  const CapturedFrame* complete = first_complete(frames);
  return complete ? complete : frames.front();
}

const CapturedFrame* chosen(const Opened& side, uint64_t number, const char* option) {
  const Frames frames = side.frames();
  if (frames.empty())
    throw std::runtime_error(
        fmt::format("{} is a folder of arrays and has no frames; leave {} out", side.path, option));
  if (const CapturedFrame* frame = find(frames, number)) return frame;
  throw std::runtime_error(fmt::format("{} has no frame {}; it holds {} frames, from {} to {}", side.path, number,
                                       frames.size(), frames.front()->number, frames.back()->number));
}

struct Picked {
  const CapturedFrame* target = nullptr;
  const CapturedFrame* golden = nullptr;
};

Picked pick_frames(const Opened& target, const Opened& golden, const FrameChoice& choice) {
  const Frames t = target.frames(), g = golden.frames();
  Picked picked;
  if (choice.target) picked.target = chosen(target, *choice.target, "--frame");
  if (choice.golden) picked.golden = chosen(golden, *choice.golden, "--golden-frame");
  if (!choice.target && !choice.golden)
    for (const CapturedFrame* frame : t) {
      const CapturedFrame* same = find(g, frame->number);
      if (frame->complete() && frame->tensors > 0 && same && same->complete() && same->tensors > 0)
        return {frame, same};
    }
  if (!picked.target) picked.target = picked.golden ? find(t, picked.golden->number) : nullptr;
  if (!picked.target) picked.target = first_complete_or_first(t);
  if (picked.golden || g.empty()) return picked;
  if (picked.target) picked.golden = find(g, picked.target->number);
  if (!picked.golden && g.size() > 1 && choice.target)
    throw std::runtime_error(fmt::format("{} has no frame {}; choose one of its {} with --golden-frame", golden.path,
                                         *choice.target, g.size()));
  if (!picked.golden) picked.golden = first_complete_or_first(g);
  return picked;
}

// One frame of a capture as a Side.
class FrameSide {
 public:
  FrameSide(const Opened& opened, const CapturedFrame& frame)
      : capture_(opened.capture), frame_(frame), session_(capture_->sessions()[frame.session]) {
    side_.label = opened.path;
  }

  Side side() {
    fill_coverage();
    take_captured();
    take_absent();
    add_notes();
    return std::move(side_);
  }

 private:
  void fill_coverage() {
    SideCoverage& c = side_.coverage;
    c.frame = frame_.number;
    c.frame_state = frame_.state_name();
    c.seen = frame_.ended ? frame_.seen : frame_.tensors;
    for (const auto& [reason, count] : frame_.lost)
      if (count > 0) c.lost[loss_reason_name(reason)] += count;
    for (const CapturedGraph& graph : capture_->graphs()) {
      if (graph.session != frame_.session) continue;
      if (!c.declared) c.declared = c.visible = 0;
      for (const GraphNode& node : graph.nodes) {
        if (node.visibility == Visibility::constant) continue;
        *c.declared += node.outputs.size();
        if (node.visibility == Visibility::visible) *c.visible += node.outputs.size();
      }
    }
    c.unconfirmed = !session_.confirmed();
  }

  void take_captured() {
    for (size_t position : ordered_positions()) {
      const CapturedTensor& tensor = capture_->tensors()[position];
      side_.coverage.captured += tensor.state == TensorState::whole;
      known_.insert({tensor.model(), tensor.name()});
      side_.tensors.push_back(side_tensor(tensor, position));
    }
  }

  // As the graph has them; without a graph, by the hooks' node_index, tensors without one behind the one before them.
  std::vector<size_t> ordered_positions() {
    std::vector<size_t> positions = capture_->execution_order(frame_.session, frame_.number);
    side_.order_known = side_.coverage.declared.has_value();
    if (side_.order_known) return positions;
    // Instance and occurrence: a run of the model after the other.
    std::vector<std::tuple<uint32_t, uint32_t, int, int, size_t, size_t>> keys;
    std::tuple<uint32_t, uint32_t, int, int> place(0, 0, -1, 0);
    for (size_t position : positions) {
      const CapturedTensor& tensor = capture_->tensors()[position];
      if (tensor.descriptor->node_index >= 0) {
        place = {tensor.instance, tensor.occurrence, tensor.descriptor->node_index, tensor.descriptor->output_slot};
        side_.order_known = true;
      }
      keys.push_back(std::tuple_cat(place, std::tuple(keys.size(), position)));
    }
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i) positions[i] = std::get<5>(keys[i]);
    return positions;
  }

  SideTensor side_tensor(const CapturedTensor& tensor, size_t position) const {
    SideTensor result;
    result.descriptor = *tensor.descriptor;
    result.descriptor.dtype = tensor.dtype;
    result.descriptor.shape = tensor.shape;
    result.instance = tensor.instance;
    result.occurrence = tensor.occurrence;
    result.why = tensor.why;
    switch (tensor.state) {
      case TensorState::whole:
        if (tensor.described) break;
        result.presence = Presence::unusable;
        result.why = "its descriptor is missing";
        break;
      case TensorState::truncated: result.presence = Presence::truncated; break;
      case TensorState::damaged: result.presence = Presence::unusable; break;
      case TensorState::statistics:
      case TensorState::digest:
        result.presence = Presence::unusable;
        result.why = fmt::format("only its {} was kept", tensor_state_name(tensor.state));
    }
    if (result.presence != Presence::whole) return result;
    result.load = [capture = capture_, position] {
      Expected<Tensor> loaded = capture->load(capture->tensors()[position]);
      if (!loaded) fail(loaded.error());
      return std::move(*loaded);
    };
    return result;
  }

  // Layers that are not in the frame, each behind the captured layer that it follows.
  void take_absent() {
    std::vector<SideTensor> merged;
    std::map<Key, std::vector<SideTensor>> behind;
    Key predecessor;
    for (const LayerCoverage& layer : coverage(*capture_, {{{frame_.number, frame_.number}}}).layers) {
      if (layer.session != frame_.session || layer.state == LayerState::constant) continue;
      if (known_.insert({layer.model, layer.name}).second)
        behind[predecessor].push_back(absent(layer));
      else if (layer.whole + layer.truncated + layer.damaged + layer.summarised > 0)
        predecessor = {layer.model, layer.name};
    }
    merged = std::move(behind[Key()]);
    for (SideTensor& tensor : side_.tensors) {
      const Key key{tensor.descriptor.model, tensor.descriptor.name};
      merged.push_back(std::move(tensor));
      const auto followers = behind.find(key);
      if (followers == behind.end()) continue;
      std::move(followers->second.begin(), followers->second.end(), std::back_inserter(merged));
      behind.erase(followers);
    }
    side_.tensors = std::move(merged);
    take_seen_elsewhere();
  }

  static SideTensor absent(const LayerCoverage& layer) {
    SideTensor result;
    result.descriptor.model = layer.model;
    result.descriptor.name = layer.name;
    result.descriptor.op = layer.op;
    result.descriptor.node_index = layer.node_index;
    result.presence = Presence::not_captured;
    switch (layer.state) {
      case LayerState::inside_delegate: result.presence = Presence::inside_npu; break;
      case LayerState::fused_away: result.presence = Presence::hidden_by_fusion; break;
      case LayerState::lost:
        result.why = "lost:";
        for (const auto& entry : layer.lost) result.why += fmt::format(" {}", loss_reason_name(entry.first));
        break;
      default: result.why = "declared, never offered";
    }
    return result;
  }

  // Captured in other frames: not a hole of its own, but a golden of that name has no counterpart for this reason.
  void take_seen_elsewhere() {
    for (const auto& [id, name] : session_.tensor_names) {
      const auto model = session_.tensor_models.find(id);
      const Key key{model == session_.tensor_models.end() ? "" : model->second, name};
      if (!known_.insert(key).second) continue;
      SideTensor result;
      result.descriptor.model = key.first;
      result.descriptor.name = name;
      result.presence = Presence::not_captured;
      result.expected = false;
      result.why = "not in this frame";
      side_.tensors.push_back(std::move(result));
    }
  }

  void add_notes() {
    if (capture_->sessions().size() > 1)
      side_.notes.push_back(fmt::format("holds {} sessions; session {} is compared", capture_->sessions().size(),
                                        session_.uuid.empty() ? std::to_string(frame_.session) : session_.uuid));
    if (capture_->problems().errors() > 0)
      side_.notes.push_back(
          fmt::format("{} problems while reading; `dumphook info` lists them", capture_->problems().errors()));
  }

  const SharedCapture capture_;
  const CapturedFrame& frame_;
  const CaptureSession& session_;
  Side side_;
  std::set<Key> known_;
};

Side side_of(const Opened& opened, const CapturedFrame* frame) {
  return frame ? FrameSide(opened, *frame).side() : npy_folder_side(opened.path);
}

}  // namespace

Sides open_sides(const std::string& target_path, const std::string& golden_path, const FrameChoice& choice) {
  const Opened target(target_path), golden(golden_path);
  const Picked picked = pick_frames(target, golden, choice);
  Sides sides{side_of(target, picked.target), side_of(golden, picked.golden)};
  if (picked.target && picked.golden && picked.target->number != picked.golden->number)
    sides.golden.notes.push_back(
        fmt::format("frame {} stands against the target's frame {}", picked.golden->number, picked.target->number));
  return sides;
}

}  // namespace dumphook
