// SPDX-License-Identifier: Apache-2.0
#include "decode/capture_reader.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "decode/dtype.h"
#include "wire/format.h"

namespace dumphook {
namespace {

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

std::string without_percent(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    plain += escaped ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escaped) i += 2;
  }
  return plain;
}

uint64_t number_in(const TextMap& values, const char* key) {
  const auto found = values.find(key);
  if (found == values.end() || found->second.empty() || found->second.size() > 20) return 0;
  uint64_t number = 0;
  for (const char digit : found->second) {
    if (digit < '0' || digit > '9' || !checked_mul(number, 10, &number) ||
        !checked_add(number, static_cast<uint64_t>(digit - '0'), &number)) {
      return 0;
    }
  }
  return number;
}

std::string text_in(const TextMap& values, const char* key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

// Images in planes and raw bytes: the shape does not say how many bytes there are.
bool shape_says_bytes(const Descriptor& descriptor, DType dtype) {
  return dtype != DType::raw && descriptor.planes.empty() && descriptor.layout != Layout::nv12 &&
         descriptor.layout != Layout::nv21;
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

Expected<bool> CaptureReader::add_file(const std::string& path) {
  Expected<std::shared_ptr<FileSource>> source = FileSource::open(path);
  if (!source) return source.error();
  paths.push_back(path);
  File file;
  file.source = *source;
  file.scanner = std::make_unique<RecordScanner>(*source, static_cast<uint32_t>(files_.size()), problems);
  files_.push_back(std::move(file));
  return true;
}

Expected<bool> CaptureReader::read(bool final, int timeout_ms) {
  bool news = false;
  for (uint32_t number = 0; number < files_.size(); ++number) {
    FileSource& source = *files_[number].source;
    const Expected<bool> grew = final && !follow ? source.drain() : source.refresh(timeout_ms);
    if (!grew) return grew.error();
    news = read_file(number, final) || news;
  }
  settle();
  return news;
}

uint64_t CaptureReader::file_bytes() const {
  uint64_t bytes = 0;
  for (const File& file : files_) bytes += file.source->size();
  return bytes;
}

bool CaptureReader::read_file(uint32_t number, bool final) {
  bool news = false;
  for (;;) {
    File& file = files_[number];
    const RecordScanner::Step step = file.scanner->next(final);
    if (step == RecordScanner::Step::end) break;
    news = true;
    if (step == RecordScanner::Step::stream) {
      begin_stream(number, file.scanner->stream_offset());
    } else if (step == RecordScanner::Step::sealed) {
      if (file.stream != kNone) streams[file.stream].sealed = true;
    } else {
      take(number, file.scanner->record());
    }
  }
  File& file = files_[number];
  if (file.stream != kNone) {
    CaptureStream& stream = streams[file.stream];
    stream.chunked = file.scanner->stream_chunked();
    stream.cut = file.scanner->cut() && !follow;
    stream.zero_tail_bytes = file.scanner->zero_tail_bytes();
  }
  return news;
}

void CaptureReader::begin_stream(uint32_t number, uint64_t offset) {
  File& file = files_[number];
  file.stream = static_cast<uint32_t>(streams.size());
  file.skip_stream = false;
  CaptureStream stream;
  stream.file = number;
  stream.file_offset = offset;
  streams.push_back(std::move(stream));
}

void CaptureReader::take(uint32_t number, const McapRecord& record) {
  File& file = files_[number];
  if (file.stream == kNone) begin_stream(number, record.offset);
  if (file.scanner->stream_chunked()) streams[file.stream].chunked = true;
  if (record.is(McapOp::kMessage)) {
    take_message(number, record);
  } else if (record.is(McapOp::kHeader)) {
    if (const auto header = parse_header(record.content)) {
      streams[file.stream].library = header->library.substr(0, kMaxNameBytes);
      if (header->library.rfind(kMcapLibraryPrefix, 0) == 0) any_of_ours_ = true;
    }
  } else if (record.is(McapOp::kSchema)) {
    if (const auto schema = parse_schema(record.content)) file.schemas[schema->id] = schema->name.substr(0, kMaxNameBytes);
  } else if (record.is(McapOp::kChannel)) {
    take_channel(file, record);
  } else if (record.is(McapOp::kMetadata)) {
    take_metadata(file, record);
  }
}

void CaptureReader::take_channel(File& file, const McapRecord& record) {
  const auto parsed = parse_channel(record.content);
  if (!parsed || parsed->topic.size() > 8 * kMaxNameBytes) return;
  Channel channel;
  channel.schema_id = parsed->schema_id;
  channel.topic = parsed->topic;
  channel.flatbuffer = parsed->message_encoding == kEncoding;
  const size_t second = parsed->topic.find('/', 1);
  if (!parsed->topic.empty() && parsed->topic[0] == '/' && second != std::string::npos) {
    channel.model = without_percent(parsed->topic.substr(1, second - 1));
    channel.name = without_percent(parsed->topic.substr(second + 1));
  } else {
    channel.name = without_percent(parsed->topic);
  }
  // Names for losses of tensors that were never described.
  const auto id = parsed->metadata.find(kTensorIdKey);
  const std::optional<uint32_t> session = streams[file.stream].session;
  if (id != parsed->metadata.end() && session) {
    const uint64_t tensor_id = number_in(parsed->metadata, kTensorIdKey);
    if (tensor_id < kNoTensorId) {
      sessions[*session].tensor_names.emplace(static_cast<uint32_t>(tensor_id), channel.name);
      sessions[*session].tensor_models.emplace(static_cast<uint32_t>(tensor_id), channel.model);
    }
  }
  file.channels[parsed->id] = std::move(channel);
}

void CaptureReader::take_metadata(File& file, const McapRecord& record) {
  auto parsed = parse_metadata(record.content);
  if (!parsed || parsed->name != kMetadataName) return;
  any_of_ours_ = true;
  CaptureStream& stream = streams[file.stream];
  if (stream.session) return;
  const uint64_t oldest = number_in(parsed->values, "format_oldest");
  if (oldest > kFormatCurrent) {
    report(Severity::error, stream.file, record.offset,
           "this stream is of format " + std::to_string(oldest) + ", and this program reads up to format " +
               std::to_string(kFormatCurrent),
           "use a newer dumphook");
    file.skip_stream = true;
  }
  stream.metadata = std::move(parsed->values);
  stream.first_stream_seq = number_in(stream.metadata, "first_stream_seq");
  stream.session = find_session(text_in(stream.metadata, "session").substr(0, 64));
  CaptureSession& session = sessions[*stream.session];
  const std::pair<const char*, std::string*> texts[] = {{"board", &session.board}, {"soc", &session.soc},
                                                        {"sdk", &session.sdk},     {"build", &session.build},
                                                        {"model_hash", &session.model_hash}, {"clock", &session.clock}};
  for (const auto& [key, to] : texts) {
    if (to->empty()) *to = text_in(stream.metadata, key);
  }
  for (const auto& [key, value] : stream.metadata) {
    if (key.rfind("attr.", 0) == 0) session.attributes[key.substr(5)] = value;
  }
  SessionState& state = states_[*stream.session];
  if (stream.first_stream_seq > 0) {
    state.first_known = state.first_known == 0 ? stream.first_stream_seq : std::min(state.first_known, stream.first_stream_seq);
    state.last_known = std::max(state.last_known, stream.first_stream_seq - 1);
  }
}

uint32_t CaptureReader::find_session(const std::string& uuid) {
  for (uint32_t i = 0; i < sessions.size() && !uuid.empty(); ++i) {
    if (sessions[i].uuid == uuid) return i;
  }
  CaptureSession session;
  session.uuid = uuid;
  sessions.push_back(std::move(session));
  states_.emplace_back();
  return static_cast<uint32_t>(sessions.size() - 1);
}

uint32_t CaptureReader::session_of(File& file) {
  CaptureStream& stream = streams[file.stream];
  if (!stream.session) {
    report(Severity::error, stream.file, stream.file_offset,
           "this stream does not say which session it belongs to: its metadata is missing or damaged",
           "what it repeats of other streams is counted twice");
    stream.session = find_session("");
  }
  return *stream.session;
}

// What the messages of a channel are. Where Schema or Channel were lost to damage, the numbers that our own writers always
// use help out.
std::optional<MessageKind> CaptureReader::kind_of(File& file, uint16_t channel_id, uint64_t offset, uint32_t number) {
  const auto channel = file.channels.find(channel_id);
  if (channel != file.channels.end()) {
    const auto schema = file.schemas.find(channel->second.schema_id);
    if (schema != file.schemas.end()) {
      if (!channel->second.flatbuffer) return std::nullopt;
      return message_kind(schema->second);
    }
  }
  if (streams[file.stream].library.rfind(kMcapLibraryPrefix, 0) == 0 || streams[file.stream].session) {
    if (!file.schemas_fell_back) {
      file.schemas_fell_back = true;
      report(Severity::warning, number, offset, "a Schema or Channel record is missing or damaged",
             "the usual channel numbers were taken for granted");
    }
    if (channel_id >= kFirstTensorChannel) return MessageKind::tensor;
    for (const ControlChannel& known : kControlChannels) {
      if (known.channel == channel_id) return message_kind(known.schema_name);
    }
  }
  file.strange_channels.resize(65536);
  if (!file.strange_channels[channel_id]) {
    file.strange_channels[channel_id] = true;
    report(Severity::error, number, offset, "messages of channel " + std::to_string(channel_id) + ", which was never declared");
  }
  return std::nullopt;
}

void CaptureReader::take_message(uint32_t number, const McapRecord& record) {
  File& file = files_[number];
  if (file.skip_stream) return;
  const auto header = parse_message_header(record.content);
  if (!header) return;
  const auto found = file.channels.find(header->channel_id);
  const Channel* channel = found == file.channels.end() ? nullptr : &found->second;
  const std::string topic = channel == nullptr ? "channel " + std::to_string(header->channel_id) : channel->topic;
  const std::optional<MessageKind> kind = kind_of(file, header->channel_id, record.offset, number);
  if (!kind) return;
  if (!record.sound) {
    report(Severity::error, number, record.offset, "a message of " + topic + " is damaged: its CRC does not match",
           "the tensor or frame it belongs to is incomplete");
    return;
  }
  Expected<Message> message = read_message(*kind, record.content.from(kMessageFieldsBytes));
  if (!message) {
    report(Severity::error, number, record.offset, "a message of " + topic + " was left out: " + message.error().what,
           message.error().todo);
    return;
  }
  any_of_ours_ = true;
  const uint32_t session = session_of(file);
  CaptureStream& stream = streams[file.stream];
  ++stream.messages;
  const uint64_t seq = message->stream_seq;
  SessionState& state = states_[session];
  const bool repeat = stream.first_stream_seq > 0 && seq < stream.first_stream_seq;
  if (seq == 0) {
    report(Severity::warning, number, record.offset, "a message of " + topic + " has no stream_seq");
  } else if (!state.seqs.add(seq)) {
    ++stream.repeats;
    return;
  }
  if (repeat) {
    ++stream.repeats;
  } else if (seq != 0) {
    note_seq(stream, seq, header->log_time);
  }
  for (std::string& remark : message->remarks) report(Severity::warning, number, record.offset, std::move(remark));
  apply(number, record, session, channel, *message, header->log_time);
}

void CaptureReader::note_seq(CaptureStream& stream, uint64_t seq, uint64_t log_time) {
  SessionState& state = states_[*stream.session];
  if (stream.first_stream_seq == 0 || state.first_known == 0) {
    state.first_known = state.first_known == 0 ? seq : std::min(state.first_known, seq);
  }
  state.last_known = std::max(state.last_known, seq);
  CaptureSession& session = sessions[*stream.session];
  if (session.first_log_time == 0 || log_time < session.first_log_time) session.first_log_time = log_time;
  session.last_log_time = std::max(session.last_log_time, log_time);
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
    if (!to.counters || to.counters->stream_seq < counters->stream_seq) {
      if (to.counters) counters->tensors.insert(to.counters->tensors.begin(), to.counters->tensors.end());
      to.counters = std::move(*counters);
    } else {
      to.counters->tensors.insert(counters->tensors.begin(), counters->tensors.end());
    }
  } else if (auto* change = std::get_if<ConfigChange>(&message.body)) {
    change->log_time = log_time;
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
  graph.attributes.merge(news.attributes);
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
  location.lz4 = part.lz4;
  tensor.parts.push_back(location);
  tensor.raw_bytes += part.raw_bytes;
  tensor.stored_bytes += part.data_bytes;
  tensor.lz4 = tensor.lz4 || part.lz4;
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
    tensor.why = std::to_string(tensor.parts.size()) + " of " + std::to_string(tensor.part_count) + " parts are here, " +
                 std::to_string(tensor.raw_bytes) + " of " + std::to_string(tensor.total_bytes) + " bytes";
  } else if (const std::optional<uint64_t> needed = dense_bytes(tensor.dtype, tensor.shape);
             tensor.described && shape_says_bytes(*tensor.descriptor, tensor.dtype) && needed != tensor.total_bytes) {
    tensor.state = TensorState::damaged;
    tensor.why = "it has " + std::to_string(tensor.total_bytes) + " bytes, and its shape " + shape_text(tensor.shape) + " " +
                 dtype_name(tensor.dtype) + " needs " + (needed ? std::to_string(*needed) : "more than can be");
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
        const TensorNews::Key key{tensor.descriptor->hash, tensor.frame, tensor.capture_id, tensor.instance, tensor.occurrence};
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

void CaptureReader::report(Severity severity, uint32_t file, uint64_t offset, std::string what, std::string todo) {
  Problem problem;
  problem.severity = severity;
  problem.file = file;
  problem.offset = offset;
  problem.what = std::move(what);
  problem.todo = std::move(todo);
  problems.add(std::move(problem));
}

}  // namespace dumphook
