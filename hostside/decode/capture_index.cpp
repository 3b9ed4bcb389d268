// SPDX-License-Identifier: Apache-2.0
// CaptureReader's second half: what the messages say, put together.
#include <algorithm>
#include <limits>
#include <tuple>

#include "decode/capture_reader.h"
#include "decode/dtype.h"

namespace dumphook {
namespace {

// Images in planes and raw bytes: the shape does not say how many bytes there are.
bool shape_says_bytes(const Descriptor& descriptor, DType dtype) {
  return dtype != DType::raw && descriptor.planes.empty() && descriptor.layout != Layout::nv12 &&
         descriptor.layout != Layout::nv21;
}

// A session attribute that the app set later is a change of the form "attr.KEY = VALUE".
void take_attribute(const ConfigChange& change, std::map<std::string, std::string>& attributes) {
  static const std::string kPrefix = "attr.", kAssign = " = ";
  const size_t assign = change.text.find(kAssign);
  if (change.text.rfind(kPrefix, 0) != 0 || assign == std::string::npos) return;
  attributes[change.text.substr(kPrefix.size(), assign - kPrefix.size())] = change.text.substr(assign + kAssign.size());
}

}  // namespace

bool CaptureReader::TensorKey::operator==(const TensorKey& other) const {
  return session == other.session && key.descriptor_hash == other.key.descriptor_hash && key.frame == other.key.frame &&
         key.capture_id == other.key.capture_id && key.instance == other.key.instance &&
         key.occurrence == other.key.occurrence;
}

size_t CaptureReader::TensorKeyHash::operator()(const TensorKey& key) const {
  uint64_t hash = key.session;
  for (const uint64_t value : {key.key.descriptor_hash, key.key.frame, key.key.capture_id,
                               uint64_t{key.key.instance} << 32 | key.key.occurrence}) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return static_cast<size_t>(hash);
}

void CaptureReader::apply(uint32_t number, const McapRecord& record, uint32_t session, const Channel* channel,
                          Message& message, uint64_t log_time) {
  CaptureSession& to = sessions[session];
  if (auto* tensor = std::get_if<TensorNews>(&message.body)) {
    apply_tensor(number, record, session, channel, *tensor);
  } else if (auto* begin = std::get_if<FrameBeginNews>(&message.body)) {
    CapturedFrame& frame = frame_of(session, begin->frame);
    frame.begun = true;
    frame.model = std::move(begin->model);
    frame.capture_time_ns = begin->capture_time_ns;
    frame.begin_time_ns = begin->begin_time_ns;
  } else if (auto* end = std::get_if<FrameEndNews>(&message.body)) {
    CapturedFrame& frame = frame_of(session, end->frame);
    frame.ended = true;
    frame.state = end->state;
    frame.seen = end->seen;
    frame.accepted = end->accepted;
    frame.lost = std::move(end->lost);
    frame.end_time_ns = end->end_time_ns;
    frame.attributes = std::move(end->attributes);
  } else if (auto* graph = std::get_if<GraphNews>(&message.body)) {
    apply_graph(session, *graph);
  } else if (auto* loss = std::get_if<LossNews>(&message.body)) {
    to.losses.insert(to.losses.end(), loss->ranges.begin(), loss->ranges.end());
  } else if (auto* counters = std::get_if<SessionCounters>(&message.body)) {
    // Each lists only the tensors that changed: the others' last word stays.
    if (!to.counters) {
      to.counters = std::move(*counters);
    } else if (to.counters->stream_seq < counters->stream_seq) {
      std::map<uint32_t, SessionTensorCounters> kept = std::move(to.counters->tensors);
      for (const auto& [id, news] : counters->tensors) kept[id] = news;
      to.counters = std::move(*counters);
      to.counters->tensors = std::move(kept);
    } else {
      to.counters->tensors.insert(counters->tensors.begin(), counters->tensors.end());
    }
  } else if (auto* change = std::get_if<ConfigChange>(&message.body)) {
    change->log_time = log_time;
    take_attribute(*change, to.attributes);
    to.config_changes.push_back(std::move(*change));
  } else if (auto* sync = std::get_if<ClockSync>(&message.body)) {
    to.clock_syncs.push_back(*sync);
  } else if (auto* line = std::get_if<LogLine>(&message.body)) {
    line->log_time = log_time;
    to.log.push_back(std::move(*line));
  }
}

CapturedFrame& CaptureReader::frame_of(uint32_t session, uint64_t number) {
  CapturedFrame& frame = frame_index_[{session, number}];
  frame.session = session;
  frame.number = number;
  return frame;
}

void CaptureReader::apply_graph(uint32_t session, GraphNews& news) {
  const auto [at, fresh] = graph_index_.try_emplace({session, news.model}, graphs.size());
  if (fresh) graphs.emplace_back();
  CapturedGraph& graph = graphs[at->second];
  if (news.first_node == 0) graph = {};  // declared again
  graph.session = session;
  graph.model = news.model;
  if (!news.model_hash.empty()) graph.model_hash = std::move(news.model_hash);
  graph.node_total = std::max<uint64_t>(news.node_total, graph.nodes.size() + news.nodes.size());
  if (news.first_node >= graph.nodes.size()) {
    std::move(news.nodes.begin(), news.nodes.end(), std::back_inserter(graph.nodes));
  }
  for (auto& [key, value] : news.attributes) graph.attributes[key] = std::move(value);
}

std::shared_ptr<const Descriptor> CaptureReader::made_up_descriptor(uint32_t session, const TensorNews& news,
                                                                    const Channel* channel) {
  std::shared_ptr<const Descriptor>& kept = made_up_[{session, news.key->descriptor_hash}];
  if (kept == nullptr) {
    auto descriptor = std::make_shared<Descriptor>();
    descriptor->hash = news.key->descriptor_hash;
    if (channel != nullptr) {
      descriptor->model = channel->model;
      descriptor->name = channel->name;
    }
    if (descriptor->name.empty()) descriptor->name = "tensor_" + std::to_string(news.key->descriptor_hash);
    descriptor->dtype = news.dtype;
    descriptor->shape = news.shape;
    kept = std::move(descriptor);
  }
  return kept;
}

void CaptureReader::apply_tensor(uint32_t number, const McapRecord& record, uint32_t session, const Channel* channel,
                                 TensorNews& news) {
  if (news.descriptor != nullptr) {
    sessions[session].tensor_names[news.descriptor->tensor_id] = news.descriptor->name;
    sessions[session].tensor_models[news.descriptor->tensor_id] = news.descriptor->model;
    descriptors_[{session, news.descriptor->hash}] = news.descriptor;
  }
  if (!news.key) return;
  const auto [at, fresh] = tensor_index_.try_emplace(TensorKey{session, *news.key}, tensors.size());
  if (fresh) tensors.emplace_back();
  CapturedTensor& tensor = tensors[at->second];
  if (fresh) {
    tensor.session = session;
    tensor.frame = news.key->frame;
    tensor.capture_id = news.key->capture_id;
    tensor.instance = news.key->instance;
    tensor.occurrence = news.key->occurrence;
    tensor.dtype = news.dtype;
    tensor.shape = news.shape;
    tensor.file = number;
    tensor.file_offset = record.offset;
    const auto described = descriptors_.find({session, news.key->descriptor_hash});
    tensor.described = described != descriptors_.end();
    tensor.descriptor = tensor.described ? described->second : made_up_descriptor(session, news, channel);
    frame_of(session, tensor.frame);
  } else if (tensor.dtype != news.dtype || tensor.shape != news.shape) {
    tensor.contradictory = true;
  }
  if (news.capture_time_ns != 0) tensor.capture_time_ns = news.capture_time_ns;
  if (news.statistics) tensor.statistics = std::move(news.statistics);
  if (news.digest) tensor.digest = news.digest;
  if (!news.part) {
    if (tensor.parts.empty() && tensor.part_count == 0) {
      tensor.state = tensor.statistics ? TensorState::statistics : TensorState::digest;
    }
    return;
  }
  const TensorPart& part = *news.part;
  if (tensor.part_count == 0) {
    tensor.part_count = part.part_count;
    tensor.total_bytes = part.total;
  } else if (tensor.part_count != part.part_count || tensor.total_bytes != part.total) {
    tensor.contradictory = true;
  }
  PartLocation location;
  location.file_offset = record.content_offset + kMessageFieldsBytes + part.data_at;
  location.offset = part.offset;
  location.file = number;
  location.stored_bytes = static_cast<uint32_t>(part.data_bytes);
  location.raw_bytes = part.raw_bytes;
  location.part_index = part.part_index;
  location.codec = part.codec;
  tensor.parts.push_back(location);
  tensor.raw_bytes += part.raw_bytes;
  tensor.stored_bytes += part.data_bytes;
  tensor.codec = std::max(tensor.codec, part.codec);
  tensor.state = TensorState::truncated;
}

void CaptureReader::settle_tensor(CapturedTensor& tensor) const {
  if (!tensor.described) {
    const auto found = descriptors_.find({tensor.session, tensor.descriptor->hash});
    if (found != descriptors_.end()) {
      tensor.described = true;
      tensor.descriptor = found->second;
    }
  }
  if (tensor.state != TensorState::truncated) return;
  if (tensor.contradictory) {
    tensor.state = TensorState::damaged;
    tensor.why = "its messages have different types, shapes or totals";
    return;
  }
  const auto by_offset = [](const PartLocation& a, const PartLocation& b) {
    return std::tie(a.offset, a.part_index) < std::tie(b.offset, b.part_index);
  };
  if (!std::is_sorted(tensor.parts.begin(), tensor.parts.end(), by_offset)) {
    std::sort(tensor.parts.begin(), tensor.parts.end(), by_offset);
  }
  uint64_t end = 0;
  bool hole = false, overlap = false;
  for (const PartLocation& part : tensor.parts) {
    overlap = overlap || part.offset < end;
    hole = hole || part.offset > end;
    end = std::max(end, part.offset + part.raw_bytes);
  }
  overlap = overlap || tensor.parts.size() > tensor.part_count;
  if (overlap) {
    tensor.state = TensorState::damaged;
    tensor.why = "its parts overlap";
  } else if (hole || end < tensor.total_bytes) {
    tensor.why = std::to_string(tensor.parts.size()) + " of " + std::to_string(tensor.part_count) +
                 " parts are here, " + std::to_string(tensor.raw_bytes) + " of " + std::to_string(tensor.total_bytes) +
                 " bytes";
  } else if (const std::optional<uint64_t> needed = dense_bytes(tensor.dtype, tensor.shape);
             tensor.described && shape_says_bytes(*tensor.descriptor, tensor.dtype) && needed != tensor.total_bytes) {
    tensor.state = TensorState::damaged;
    tensor.why = "it has " + std::to_string(tensor.total_bytes) + " bytes, and its shape " + shape_text(tensor.shape) +
                 " " + dtype_name(tensor.dtype) + " needs " + (needed ? std::to_string(*needed) : "more than can be");
  } else {
    tensor.state = TensorState::whole;
    tensor.why.clear();
  }
}

void CaptureReader::settle_gaps() {
  for (size_t i = 0; i < sessions.size(); ++i) {
    CaptureSession& session = sessions[i];
    const SessionState& state = states_[i];
    session.first_seq = state.first_known;
    session.last_seq = state.last_known;
    session.gaps.clear();
    uint64_t next = state.first_known;
    for (const auto& [first, last] : state.seqs.ranges()) {
      if (last < next) continue;  // repeats of what came before
      if (first > next) session.gaps.push_back({next, first - 1});
      next = last == std::numeric_limits<uint64_t>::max() ? last : last + 1;
    }
    if (next <= state.last_known && next != 0 && state.last_known != std::numeric_limits<uint64_t>::max()) {
      session.gaps.push_back({next, state.last_known});
    }
  }
}

void CaptureReader::settle() {
  for (CapturedTensor& tensor : tensors) settle_tensor(tensor);
  const auto in_order = [](const CapturedTensor& a, const CapturedTensor& b) {
    return std::tie(a.session, a.frame, a.capture_id, a.instance, a.occurrence) <
           std::tie(b.session, b.frame, b.capture_id, b.instance, b.occurrence);
  };
  if (!std::is_sorted(tensors.begin(), tensors.end(), in_order)) {
    std::stable_sort(tensors.begin(), tensors.end(), in_order);
    tensor_index_.clear();
    if (follow) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        const CapturedTensor& tensor = tensors[i];
        const TensorNews::Key key{tensor.descriptor->hash, tensor.frame, tensor.capture_id, tensor.instance,
                                  tensor.occurrence};
        tensor_index_[TensorKey{tensor.session, key}] = i;
      }
    }
  }
  for (auto& [key, frame] : frame_index_) frame.tensors = frame.whole = 0;
  for (const CapturedTensor& tensor : tensors) {
    CapturedFrame& frame = frame_index_[{tensor.session, tensor.frame}];
    ++frame.tensors;
    if (tensor.state != TensorState::truncated && tensor.state != TensorState::damaged) ++frame.whole;
    if (frame.model.empty()) frame.model = tensor.model();
  }
  frames.clear();
  for (const auto& [key, frame] : frame_index_) frames.push_back(frame);
  settle_gaps();
}

}  // namespace dumphook
