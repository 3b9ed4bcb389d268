// SPDX-License-Identifier: Apache-2.0
#include "cli/recovery.h"

#include <algorithm>

#include "base/version.h"
#include "counters_bfbs.h"
#include "decode/seq_set.h"
#include "frame_bfbs.h"
#include "graph_bfbs.h"
#include "loss_bfbs.h"
#include "session_bfbs.h"
#include "source/record_scanner.h"
#include "tensor_bfbs.h"
#include "wire/format.h"

namespace dumphook {
namespace {

std::vector<uint8_t> whole_record(const McapRecord& record) {
  std::vector<uint8_t> bytes(kRecordPrefixBytes + record.content.size);
  bytes[0] = record.opcode;
  store_le<uint64_t>(bytes.data() + 1, record.content.size);
  std::copy(record.content.begin(), record.content.end(), bytes.begin() + kRecordPrefixBytes);
  return bytes;
}

ConstBytes view(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }
ConstBytes content(const std::vector<uint8_t>& record) { return view(record).from(kRecordPrefixBytes); }

const ControlChannel* control_channel(uint16_t id) {
  for (const ControlChannel& known : kControlChannels) {
    if (known.channel == id) return &known;
  }
  return nullptr;
}

// The records that our own writers always use, for where theirs was lost to damage. Empty when it is none of them.
std::vector<uint8_t> usual_schema(uint16_t id) {
  const char* name = id == kSchemaTensor ? kTensorSchemaName : nullptr;
  for (const ControlChannel& known : kControlChannels) name = known.schema == id ? known.schema_name : name;
  if (name == nullptr) return {};
  ConstBytes data(bfbs::kSession, bfbs::kSessionSize);
  if (id == kSchemaTensor) data = {bfbs::kTensor, bfbs::kTensorSize};
  if (id == kFrameBeginChannel.schema || id == kFrameEndChannel.schema) data = {bfbs::kFrame, bfbs::kFrameSize};
  if (id == kModelGraphChannel.schema) data = {bfbs::kGraph, bfbs::kGraphSize};
  if (id == kLossChannel.schema) data = {bfbs::kLoss, bfbs::kLossSize};
  if (id == kCountersChannel.schema) data = {bfbs::kCounters, bfbs::kCountersSize};
  std::vector<uint8_t> record(data.size + 256);
  record.resize(write_schema_record(Bytes(record.data(), record.size()), id, name, kEncoding, data));
  return record;
}

std::vector<uint8_t> usual_channel(uint16_t id, const std::string& topic) {
  std::vector<uint8_t> record(kMaxTopicBytes + 256);
  const Bytes out(record.data(), record.size());
  const ControlChannel* control = control_channel(id);
  if (control != nullptr) {
    record.resize(write_channel_record(out, id, control->schema, control->topic, kEncoding, {}));
  } else if (id >= kFirstTensorChannel) {
    const uint32_t tensor_id = id - kFirstTensorChannel;
    const std::string name = topic.empty() ? "/unknown/tensor_" + std::to_string(tensor_id) : topic;
    record.resize(write_tensor_channel_record(out, tensor_id, name.c_str()));
  } else {
    record.clear();
  }
  return record;
}

// What a message is, by its channel's records or, without them, by the usual numbers.
std::optional<MessageKind> kind_of(uint16_t channel_id, const std::map<uint16_t, std::vector<uint8_t>>& channels,
                                   const std::map<uint16_t, std::vector<uint8_t>>& schemas) {
  const auto channel = channels.find(channel_id);
  const auto parsed = channel == channels.end() ? std::nullopt : parse_channel(content(channel->second));
  if (parsed && parsed->message_encoding != kEncoding) return std::nullopt;
  const auto schema = parsed ? schemas.find(parsed->schema_id) : schemas.end();
  if (schema != schemas.end()) return message_kind(parse_schema(content(schema->second))->name);
  if (channel_id >= kFirstTensorChannel) return MessageKind::tensor;
  const ControlChannel* control = control_channel(channel_id);
  return control == nullptr ? std::nullopt : message_kind(control->schema_name);
}

}  // namespace

// One session's sealed capture in the making: writes a schema and a channel before their first use.
class Recovery::Output {
 public:
  Output(const Session& session, CaptureWriter& writer) : session_(session), writer_(writer) {}

  Expected<bool> begin() {
    std::vector<uint8_t> header = session_.header;
    if (header.empty()) {
      header.resize(128);
      const std::string library = kMcapLibraryPrefix + std::string(kVersionText);
      header.resize(write_header_record(Bytes(header.data(), header.size()), kMcapProfile, library.c_str()));
    }
    const Expected<bool> begun = writer_.add_header(view(header));
    if (!begun.ok() || session_.metadata.empty()) return begun;
    return writer_.add_metadata(view(session_.metadata), kMetadataName);
  }

  // False: the channel is at odds with what another stream of the session called so.
  Expected<bool> declare(uint16_t id, const Stream& stream) {
    const auto own = stream.channels.find(id);
    const auto topic = session_.topics.find(id);
    const std::vector<uint8_t> channel = own != stream.channels.end()
                                             ? own->second
                                             : usual_channel(id, topic == session_.topics.end() ? "" : topic->second);
    if (channel.empty()) return false;
    const auto known = channels_.find(id);
    if (known != channels_.end()) return own == stream.channels.end() || known->second == channel;
    const uint16_t schema_id = parse_channel(content(channel))->schema_id;
    if (schemas_.insert(schema_id).second) {
      const auto schema = stream.schemas.find(schema_id);
      const std::vector<uint8_t> record = schema == stream.schemas.end() ? usual_schema(schema_id) : schema->second;
      if (record.empty()) return false;
      const Expected<bool> added = writer_.add_schema(view(record));
      if (!added.ok()) return added;
    }
    channels_[id] = channel;
    return writer_.add_channel(view(channel));
  }

  CaptureWriter& writer() { return writer_; }

 private:
  const Session& session_;
  CaptureWriter& writer_;
  std::map<uint16_t, std::vector<uint8_t>> channels_;
  std::set<uint16_t> schemas_;
};

Expected<Recovery> Recovery::open(const std::string& path) {
  Expected<std::shared_ptr<FileSource>> source = FileSource::open(path);
  if (!source.ok()) return source.error();
  const Expected<bool> read = (*source)->drain();
  if (!read.ok()) return read.error();
  Recovery recovery;
  recovery.source_ = *source;
  recovery.problems_ = std::make_unique<ProblemList>();
  const Expected<bool> learnt = recovery.learn();
  if (!learnt.ok()) return learnt.error();
  return recovery;
}

Expected<bool> Recovery::learn() {
  RecordScanner scanner(source_, 0, *problems_);
  std::map<std::string, size_t> by_uuid;
  std::vector<Record> headers;  // by stream
  std::vector<std::string> streams_uuid;
  std::vector<Record> metadata;
  std::vector<std::map<uint16_t, std::string>> topics;
  bool any = false;
  const auto begin_stream = [&] {
    streams_.emplace_back();
    headers.emplace_back();
    metadata.emplace_back();
    streams_uuid.emplace_back();
    topics.emplace_back();
  };
  for (RecordScanner::Step step; (step = scanner.next(true)) != RecordScanner::Step::end;) {
    if (step == RecordScanner::Step::sealed) continue;
    if (step == RecordScanner::Step::stream || streams_.empty()) begin_stream();
    if (step == RecordScanner::Step::stream) continue;
    const McapRecord& record = scanner.record();
    if (!record.sound) continue;
    Stream& stream = streams_.back();
    if (record.is(McapOp::kHeader) && headers.back().empty()) {
      headers.back() = whole_record(record);
    } else if (record.is(McapOp::kSchema)) {
      stream.schemas.try_emplace(load_le<uint16_t>(record.content.data), whole_record(record));
    } else if (record.is(McapOp::kChannel)) {
      stream.channels.try_emplace(load_le<uint16_t>(record.content.data), whole_record(record));
    } else if (record.is(McapOp::kMetadata) && metadata.back().empty()) {
      const auto parsed = parse_metadata(record.content);
      if (!parsed || parsed->name != kMetadataName) continue;
      any = true;
      metadata.back() = whole_record(record);
      const auto uuid = parsed->values.find("session");
      if (uuid != parsed->values.end()) streams_uuid.back() = uuid->second.substr(0, 64);
    } else if (record.is(McapOp::kMessage)) {
      any = true;
      const uint16_t channel = parse_message_header(record.content)->channel_id;
      if (channel < kFirstTensorChannel || stream.channels.count(channel) != 0) continue;
      const Expected<Message> message = read_message(MessageKind::tensor, record.content.from(kMessageFieldsBytes));
      const TensorNews* news = message.ok() ? std::get_if<TensorNews>(&message->body) : nullptr;
      if (news == nullptr || news->descriptor == nullptr) continue;
      char topic[kMaxTopicBytes];
      if (escape_topic(Span<char>(topic), news->descriptor->model.c_str(), news->descriptor->name.c_str()) != 0)
        topics.back()[channel] = topic;
    }
  }
  if (scanner.cut()) {
    problems_->add({Severity::error, scanner.position(),
                    "the file is cut off here, in mid-record: " + std::to_string(source_->size() - scanner.position()) +
                        " bytes of it are of no use",
                    "", 0});
  }
  if (!any) return Error{source_->path() + " is no capture of dumphook's", "nothing in it could be read"};
  for (size_t i = 0; i < streams_.size(); ++i) {
    const std::string& uuid = streams_uuid[i];
    const auto known = uuid.empty() ? by_uuid.end() : by_uuid.find(uuid);
    const size_t session = known == by_uuid.end() ? sessions_.size() : known->second;
    if (session == sessions_.size()) {
      sessions_.emplace_back();
      found_.emplace_back();
      found_.back().uuid = uuid;
      if (!uuid.empty()) by_uuid[uuid] = session;
    }
    streams_[i].session = session;
    ++found_[session].streams;
    if (sessions_[session].header.empty()) sessions_[session].header = headers[i];
    if (sessions_[session].metadata.empty()) sessions_[session].metadata = metadata[i];
    sessions_[session].topics.insert(topics[i].begin(), topics[i].end());
  }
  return true;
}

Expected<bool> Recovery::write(size_t session, CaptureWriter& writer) {
  ProblemList told_already;
  RecordScanner scanner(source_, 0, told_already);
  RecoveredSession& found = found_[session];
  found.messages = found.repeats = found.damaged = 0;
  Output output(sessions_[session], writer);
  if (const Expected<bool> begun = output.begin(); !begun.ok()) return begun;
  SeqSet seqs;
  size_t streams = 0;
  for (RecordScanner::Step step; (step = scanner.next(true)) != RecordScanner::Step::end;) {
    if (step == RecordScanner::Step::sealed) continue;
    if (step == RecordScanner::Step::stream || streams == 0) ++streams;
    if (step == RecordScanner::Step::stream || streams > streams_.size()) continue;
    const Stream& stream = streams_[streams - 1];
    const McapRecord& record = scanner.record();
    if (stream.session != session || !record.is(McapOp::kMessage)) continue;
    const auto header = parse_message_header(record.content);
    const auto kind = header ? kind_of(header->channel_id, stream.channels, stream.schemas) : std::nullopt;
    if (!kind || !record.sound) {
      ++found.damaged;
      continue;
    }
    const Expected<Message> message = read_message(*kind, record.content.from(kMessageFieldsBytes));
    if (!message.ok()) {
      ++found.damaged;
      problems_->add({Severity::error, record.offset, "a message was left out: " + message.error().what, "", 0});
      continue;
    }
    if (message->stream_seq != 0 && !seqs.add(message->stream_seq)) {
      ++found.repeats;
      continue;
    }
    const Expected<bool> declared = output.declare(header->channel_id, stream);
    if (!declared.ok()) return declared;
    if (!*declared) {
      ++found.damaged;
      problems_->add({Severity::error, record.offset,
                      "a message was left out: its channel " + std::to_string(header->channel_id) +
                          " is another one in this session's first stream",
                      "", 0});
      continue;
    }
    if (const Expected<bool> added = writer.add_message(view(whole_record(record))); !added.ok()) return added;
    ++found.messages;
  }
  return writer.seal();
}

}  // namespace dumphook
