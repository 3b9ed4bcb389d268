// SPDX-License-Identifier: Apache-2.0
#include "decode/coverage.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace dumphook {
namespace {

using LayerKey = std::tuple<uint32_t, std::string, std::string>;  // session, model, name

// Layers in order of first mention.
class Layers {
 public:
  explicit Layers(std::vector<LayerCoverage>& list) : list_(list) {}

  LayerCoverage& at(uint32_t session, const std::string& model, const std::string& name) {
    return list_[position(session, model, name)];
  }
  size_t position(uint32_t session, const std::string& model, const std::string& name) {
    const auto [found, fresh] = index_.try_emplace(LayerKey{session, model, name}, list_.size());
    if (fresh) {
      LayerCoverage layer;
      layer.session = session;
      layer.model = model;
      layer.name = name;
      list_.push_back(std::move(layer));
    }
    return found->second;
  }

 private:
  std::vector<LayerCoverage>& list_;
  std::map<LayerKey, size_t> index_;
};

LayerState hidden_state(Visibility visibility) {
  switch (visibility) {
    case Visibility::inside_delegate: return LayerState::inside_delegate;
    case Visibility::fused_away: return LayerState::fused_away;
    case Visibility::constant: return LayerState::constant;
    default: return LayerState::not_selected;
  }
}

// In how many frames a layer is: whole, and among the frames that lack something, at all.
struct InFrames {
  uint64_t whole = 0, in_unfinished = 0;
  uint64_t last_whole = 0, last_unfinished = 0;  // frame + 1, so that no frame counts twice
};

// What a session's frames are in which something happened.
struct ActiveFrames {
  std::vector<uint64_t> all;
  std::set<uint64_t> unfinished;  // open, abandoned or incomplete: what is not in them may be lost
};

// `hidden` is what the graph says of it where nothing was captured.
LayerState state_of(const LayerCoverage& layer, const InFrames& presence, LayerState hidden,
                    const ActiveFrames& frames) {
  const bool faults =
      layer.truncated + layer.damaged > 0 || !layer.lost.empty() || presence.in_unfinished < frames.unfinished.size();
  if (layer.whole > 0)
    return presence.whole >= frames.all.size() || !faults ? LayerState::captured : LayerState::partly_captured;
  if (layer.damaged > 0) return LayerState::damaged;
  if (layer.truncated > 0) return LayerState::truncated;
  if (!layer.lost.empty()) return LayerState::lost;
  if (layer.summarised > 0) return LayerState::statistics_only;
  return hidden;
}

std::string loss_text(const LossCounts& lost) {
  std::string text;
  for (const auto& [reason, count] : lost) {
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(loss_reason_name(reason)) + " " + std::to_string(count);
  }
  return text;
}

uint64_t sum(const LossCounts& lost) {
  uint64_t total = 0;
  for (const auto& entry : lost) total += entry.second;
  return total;
}

}  // namespace

const char* layer_state_name(LayerState state) {
  static constexpr const char* kNames[] = {"captured",   "partly_captured", "lost",         "truncated",
                                           "damaged",    "statistics_only", "not_selected", "inside_delegate",
                                           "fused_away", "constant"};
  return kNames[static_cast<size_t>(state)];
}

Coverage coverage(const Capture& capture, const FrameSelection& selection) {
  Coverage result;
  Layers layers(result.layers);
  std::map<LayerKey, LayerState> hidden;
  for (const CapturedGraph& graph : capture.graphs()) {
    result.graph_known = true;
    result.graph_complete = result.graph_complete && graph.complete();
    for (const GraphNode& node : graph.nodes) {
      for (const std::string& output : node.outputs) {
        LayerCoverage& layer = layers.at(graph.session, graph.model, output);
        layer.op = node.op;
        layer.declared = true;
        layer.node_index = node.index;
        hidden[LayerKey{graph.session, graph.model, output}] = hidden_state(node.visibility);
      }
    }
  }

  std::map<uint32_t, ActiveFrames> active;  // by session
  LossCounts in_frame_ends;
  for (const CapturedFrame& frame : capture.frames()) {
    if (!selection.contains(frame.number)) continue;
    ++result.frames;
    result.frames_complete += frame.complete();
    result.seen += frame.seen;
    result.accepted += frame.accepted;
    if (frame.seen > 0 || frame.tensors > 0) {
      active[frame.session].all.push_back(frame.number);
      if (!frame.complete()) active[frame.session].unfinished.insert(frame.number);
    }
    for (const auto& [reason, count] : frame.lost) in_frame_ends[reason] += count;
  }
  std::vector<InFrames> presence;  // by position in layers
  for (const CapturedTensor& tensor : capture.tensors()) {
    if (!selection.contains(tensor.frame)) continue;
    const size_t position = layers.position(tensor.session, tensor.model(), tensor.name());
    LayerCoverage& layer = result.layers[position];
    presence.resize(std::max(presence.size(), position + 1));
    InFrames& where = presence[position];
    if (tensor.state == TensorState::whole && where.last_whole != tensor.frame + 1) {
      ++where.whole;
      where.last_whole = tensor.frame + 1;
    }
    if (where.last_unfinished != tensor.frame + 1 && active[tensor.session].unfinished.count(tensor.frame) != 0) {
      ++where.in_unfinished;
      where.last_unfinished = tensor.frame + 1;
    }
    if (layer.op.empty()) layer.op = tensor.descriptor->op;
    const auto count = [&](uint64_t LayerCoverage::*of_layer, uint64_t Coverage::*of_all) {
      ++(layer.*of_layer);
      ++(result.*of_all);
    };
    switch (tensor.state) {
      case TensorState::whole: count(&LayerCoverage::whole, &Coverage::whole); break;
      case TensorState::truncated: count(&LayerCoverage::truncated, &Coverage::truncated); break;
      case TensorState::damaged: count(&LayerCoverage::damaged, &Coverage::damaged); break;
      case TensorState::statistics:
      case TensorState::digest: count(&LayerCoverage::summarised, &Coverage::summarised); break;
    }
  }

  LossCounts in_losses;
  bool confirmed = !capture.sessions().empty();
  for (uint32_t index = 0; index < capture.sessions().size(); ++index) {
    const CaptureSession& session = capture.sessions()[index];
    confirmed = confirmed && session.confirmed();
    for (const SeqRange& gap : session.gaps) result.missing_messages += gap.last - gap.first + 1;
    const std::vector<uint64_t>& frames = active[index].all;
    for (const LossRange& range : session.losses) {
      uint64_t count = range.count;
      if (!selection.ranges.empty()) {
        // The range may be wider than the selection: no more than one in each frame of both.
        const auto first = std::lower_bound(frames.begin(), frames.end(), range.first_frame);
        const auto last = std::upper_bound(first, frames.end(), range.last_frame);
        count = std::min(count, static_cast<uint64_t>(last - first));
      }
      if (count == 0) continue;
      in_losses[range.reason] += count;
      const auto name = range.tensor_id ? session.tensor_names.find(*range.tensor_id) : session.tensor_names.end();
      if (name == session.tensor_names.end()) continue;
      const auto model = session.tensor_models.find(*range.tensor_id);
      layers.at(index, model == session.tensor_models.end() ? "" : model->second, name->second).lost[range.reason] +=
          count;
    }
  }
  for (const LossCounts* counts : {&in_frame_ends, &in_losses}) {
    for (const auto& [reason, count] : *counts) {
      if (count > 0) result.lost[reason] = std::max(result.lost[reason], count);
    }
  }
  presence.resize(result.layers.size());
  for (size_t i = 0; i < result.layers.size(); ++i) {
    LayerCoverage& layer = result.layers[i];
    const auto known = hidden.find(LayerKey{layer.session, layer.model, layer.name});
    const LayerState state = known == hidden.end() ? LayerState::not_selected : known->second;
    layer.state = state_of(layer, presence[i], state, active[layer.session]);
  }
  result.confirmed = confirmed;
  result.sealed = !capture.streams().empty() && std::all_of(capture.streams().begin(), capture.streams().end(),
                                                            [](const CaptureStream& stream) { return stream.sealed; });
  return result;
}

size_t Coverage::count(LayerState state) const {
  return static_cast<size_t>(std::count_if(layers.begin(), layers.end(),
                                           [state](const LayerCoverage& layer) { return layer.state == state; }));
}

size_t Coverage::declared_count(LayerState state) const {
  return static_cast<size_t>(std::count_if(layers.begin(), layers.end(), [state](const LayerCoverage& layer) {
    return layer.declared && layer.state == state;
  }));
}

size_t Coverage::declared() const {
  return static_cast<size_t>(
      std::count_if(layers.begin(), layers.end(), [](const LayerCoverage& layer) { return layer.declared; }));
}

bool Coverage::data_missing() const {
  return sum(lost) > 0 || truncated > 0 || damaged > 0 || frames_complete < frames || missing_messages > 0 ||
         !graph_complete;
}

bool Coverage::complete() const {
  return !data_missing() && confirmed && graph_known && count(LayerState::not_selected) == 0 &&
         count(LayerState::statistics_only) == 0;
}

std::vector<std::string> Coverage::lines() const {
  std::vector<std::string> text;
  const auto rest_of = [](const auto& count_of) {
    static constexpr std::pair<LayerState, const char*> kRest[] = {
        {LayerState::partly_captured, "in some frames only"},
        {LayerState::lost, "lost"},
        {LayerState::truncated, "truncated"},
        {LayerState::damaged, "damaged"},
        {LayerState::statistics_only, "as statistics or digest only"},
        {LayerState::not_selected, "not selected"},
        {LayerState::inside_delegate, "inside the NPU, not visible"},
        {LayerState::fused_away, "fused away"},
        {LayerState::constant, "constant"}};
    std::string words;
    for (const auto& [state, what] : kRest) {
      if (const size_t number = count_of(state); number > 0) words += ", " + std::to_string(number) + " " + what;
    }
    return words;
  };
  if (graph_known) {
    const auto declared_of = [this](LayerState state) { return declared_count(state); };
    const auto others_of = [this](LayerState state) { return count(state) - declared_count(state); };
    text.push_back(std::to_string(declared_of(LayerState::captured)) + " of " + std::to_string(declared()) +
                   " declared layers captured" + rest_of(declared_of) +
                   (graph_complete ? "" : "; a part of the model graph is missing"));
    if (layers.size() > declared()) {
      text.push_back(std::to_string(others_of(LayerState::captured)) + " of " +
                     std::to_string(layers.size() - declared()) + " other tensors captured" + rest_of(others_of));
    }
  } else {
    const auto all_of = [this](LayerState state) { return count(state); };
    text.push_back(std::to_string(all_of(LayerState::captured)) + " of " + std::to_string(layers.size()) +
                   " tensors seen are captured" + rest_of(all_of) +
                   "; no model graph was declared, so tensors that were never offered are unknown");
  }
  text.push_back(std::to_string(frames_complete) + " of " + std::to_string(frames) + " frames complete; " +
                 std::to_string(whole) + " tensors whole, " + std::to_string(truncated) + " truncated, " +
                 std::to_string(damaged) + " damaged, " + std::to_string(summarised) + " summarised");
  if (sum(lost) > 0) text.push_back(std::to_string(sum(lost)) + " captures lost: " + loss_text(lost));
  if (missing_messages > 0)
    text.push_back(std::to_string(missing_messages) + " messages are missing between those that are here");
  if (!confirmed) {
    text.push_back(
        "unconfirmed: the session's closing message or what came before it is not here, so more may be missing");
  }
  return text;
}

}  // namespace dumphook
