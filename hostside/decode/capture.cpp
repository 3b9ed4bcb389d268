// SPDX-License-Identifier: Apache-2.0
#include "decode/capture.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "decode/capture_reader.h"
#include "decode/stem.h"

namespace dumphook {
namespace {

template <size_t N, class Enum>
const char* name_in(const char* const (&names)[N], Enum value) {
  const size_t index = static_cast<size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

const char* loss_reason_name(LossReason reason) {
  static constexpr const char* kNames[] = {"pool_full",     "too_big",       "too_many_tensors", "no_descriptor_room",
                                           "frame_refused", "degraded",      "sink_error",       "not_connected",
                                           "quota_removed", "not_triggered", "abandoned",        "closed"};
  return name_in(kNames, reason);
}

const char* visibility_name(Visibility visibility) {
  static constexpr const char* kNames[] = {"visible", "inside_delegate", "fused_away", "constant"};
  return name_in(kNames, visibility);
}

const char* tensor_state_name(TensorState state) {
  static constexpr const char* kNames[] = {"whole", "truncated", "damaged", "statistics", "digest"};
  return name_in(kNames, state);
}

std::string CapturedTensor::label() const { return name() + run_suffix(occurrence, instance); }

const char* CapturedFrame::state_name() const {
  if (!ended) return "open";
  if (state == FrameState::abandoned) return "abandoned";
  return complete() ? "complete" : "incomplete";
}

LossCounts CaptureSession::lost() const {
  LossCounts counts;
  for (const LossRange& range : losses) counts[range.reason] += range.count;
  return counts;
}

bool FrameSelection::contains(uint64_t frame) const {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [frame](const SeqRange& range) {
           return range.first <= frame && frame <= range.last;
         });
}

Expected<Capture> Capture::open(const std::string& path, const OpenOptions& options) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return open(std::vector<std::string>{path}, options);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".mcap") files.push_back(entry.path().string());
  }
  if (files.empty()) return Error{"there is no capture (*.mcap) in the folder " + path, ""};
  std::sort(files.begin(), files.end());
  return open(files, options);
}

Expected<Capture> Capture::open(const std::vector<std::string>& paths, const OpenOptions& options) {
  auto reader = std::make_unique<CaptureReader>();
  reader->follow = options.follow;
  for (const std::string& path : paths) {
    const Expected<bool> added = reader->add_file(path);
    if (!added) return added.error();
  }
  const Expected<bool> read = reader->read(!options.follow, 0);
  if (!read) return read.error();
  if (!options.follow && !reader->is_capture()) {
    const std::string& name = paths.empty() ? std::string() : paths.front();
    if (reader->file_bytes() == 0) return Error{name + " is empty", "did the board connect, or open its file, at all?"};
    std::string why = name + " is not a capture, or nothing of it can be read";
    if (!reader->problems.kept().empty()) {
      const Problem& problem = reader->problems.kept().front();
      why += ": at offset " + std::to_string(problem.offset) + ", " + problem.what;
    }
    return Error{why, "a capture is an MCAP file that libdumphook wrote"};
  }
  return Capture(std::move(reader));
}

Capture::Capture(std::unique_ptr<CaptureReader> reader) : reader_(std::move(reader)) {}
Capture::Capture(Capture&&) noexcept = default;
Capture& Capture::operator=(Capture&&) noexcept = default;
Capture::~Capture() = default;

Expected<bool> Capture::refresh(int timeout_ms) { return reader_->read(false, timeout_ms); }

const std::vector<std::string>& Capture::files() const { return reader_->paths; }
uint64_t Capture::file_bytes() const { return reader_->file_bytes(); }
const std::vector<CaptureSession>& Capture::sessions() const { return reader_->sessions; }
const std::vector<CaptureStream>& Capture::streams() const { return reader_->streams; }
const std::vector<CapturedTensor>& Capture::tensors() const { return reader_->tensors; }
const std::vector<CapturedFrame>& Capture::frames() const { return reader_->frames; }
const std::vector<CapturedGraph>& Capture::graphs() const { return reader_->graphs; }
const ProblemList& Capture::problems() const { return reader_->problems; }
Expected<Tensor> Capture::load(const CapturedTensor& tensor) const { return reader_->load(tensor); }

std::vector<size_t> Capture::execution_order(uint32_t session, uint64_t frame) const {
  const auto before = [](const CapturedTensor& tensor, const std::pair<uint32_t, uint64_t>& key) {
    return std::tie(tensor.session, tensor.frame) < std::tie(key.first, key.second);
  };
  const auto begin = std::lower_bound(tensors().begin(), tensors().end(), std::make_pair(session, frame), before);
  auto end = begin;
  while (end != tensors().end() && end->session == session && end->frame == frame) ++end;

  // Positions in the graphs; an input comes before every node.
  std::map<std::pair<std::string, std::string>, int64_t> positions;
  for (const CapturedGraph& graph : graphs()) {
    if (graph.session != session) continue;
    int64_t position = 0;
    for (const GraphNode& node : graph.nodes) {
      for (const std::string& output : node.outputs) positions.emplace(std::make_pair(graph.model, output), position);
      ++position;
    }
    for (const GraphNode& node : graph.nodes) {
      for (const std::string& input : node.inputs) positions.emplace(std::make_pair(graph.model, input), -1);
    }
  }
  // Model, in order of appearance; run of the model; place in it.
  using Key = std::tuple<int64_t, uint32_t, uint32_t, int64_t, int>;
  std::map<std::string, int64_t> models;
  std::vector<std::pair<Key, size_t>> keyed;
  Key key{-1, 0, 0, -1, 0};
  for (auto at = begin; at != end; ++at) {
    const auto known = positions.find({at->model(), at->name()});
    if (known != positions.end()) {
      const int64_t model = models.emplace(at->model(), static_cast<int64_t>(models.size())).first->second;
      key = Key{model, at->instance, at->occurrence, known->second, at->descriptor->output_slot};
    }
    keyed.emplace_back(key, static_cast<size_t>(at - tensors().begin()));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<size_t> order;
  order.reserve(keyed.size());
  for (const auto& entry : keyed) order.push_back(entry.second);
  return order;
}

}  // namespace dumphook
