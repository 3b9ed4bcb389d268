// SPDX-License-Identifier: Apache-2.0
#include "decode/capture_reader.h"

#include <algorithm>

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
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
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

}  // namespace

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
    if (const auto schema = parse_schema(record.content))
      file.schemas[schema->id] = schema->name.substr(0, kMaxNameBytes);
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
  const std::pair<const char*, std::string*> texts[] = {
      {"board", &session.board},           {"soc", &session.soc},    {"sdk", &session.sdk}, {"build", &session.build},
      {"model_hash", &session.model_hash}, {"clock", &session.clock}};
  for (const auto& [key, to] : texts) {
    if (to->empty()) *to = text_in(stream.metadata, key);
  }
  for (const auto& [key, value] : stream.metadata) {
    if (key.rfind("attr.", 0) == 0) session.attributes[key.substr(5)] = value;
  }
  session.begins = session.begins || text_in(stream.metadata, "stream") == "0";
  SessionState& state = states_[*stream.session];
  if (stream.first_stream_seq > 0) {
    state.first_known =
        state.first_known == 0 ? stream.first_stream_seq : std::min(state.first_known, stream.first_stream_seq);
    state.last_known = std::max(state.last_known, stream.first_stream_seq - 1);
  }
}

uint32_t CaptureReader::find_session(const std::string& uuid) {
  const auto next = static_cast<uint32_t>(sessions.size());
  if (!uuid.empty()) {
    const auto [at, fresh] = session_index_.try_emplace(uuid, next);
    if (!fresh) return at->second;
  }
  CaptureSession session;
  session.uuid = uuid;
  sessions.push_back(std::move(session));
  states_.emplace_back();
  return next;
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

// What the messages of a channel are. Where Schema or Channel were lost to damage, the numbers that our own writers
// always use help out.
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
    report(Severity::error, number, offset,
           "messages of channel " + std::to_string(channel_id) + ", which was never declared");
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
