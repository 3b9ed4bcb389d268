// SPDX-License-Identifier: Apache-2.0
#include "encode/stream_state.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "base/version.h"
#include "counters_bfbs.h"
#include "frame_bfbs.h"
#include "graph_bfbs.h"
#include "loss_bfbs.h"
#include "session_bfbs.h"
#include "tensor_bfbs.h"
#include "wire/flat_fields.h"
#include "wire/format.h"
#include "wire/mcap.h"

namespace dumphook {

// The descriptor of the streams that begin now, in the string arena.
struct StreamState::Kept {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;
  uint32_t room = 0;
};

struct StreamState::Channel {
  const char* topic = nullptr;  // escaped; NULL until declared
  Kept descriptor;
};

namespace {

constexpr uint32_t kControlChannelCount = sizeof kControlChannels / sizeof kControlChannels[0];
constexpr uint32_t kSchemaCount = 1 + kControlChannelCount;

struct SchemaSource {
  const char* name;
  ConstBytes bfbs;
};

SchemaSource schema_source(uint32_t index) {
  if (index == 0) return {kTensorSchemaName, {bfbs::kTensor, bfbs::kTensorSize}};
  const ControlChannel& channel = kControlChannels[index - 1];
  switch (channel.schema) {
    case kFrameBeginChannel.schema:
    case kFrameEndChannel.schema: return {channel.schema_name, {bfbs::kFrame, bfbs::kFrameSize}};
    case kModelGraphChannel.schema: return {channel.schema_name, {bfbs::kGraph, bfbs::kGraphSize}};
    case kLossChannel.schema: return {channel.schema_name, {bfbs::kLoss, bfbs::kLossSize}};
    case kCountersChannel.schema: return {channel.schema_name, {bfbs::kCounters, bfbs::kCountersSize}};
    default: return {channel.schema_name, {bfbs::kSession, bfbs::kSessionSize}};
  }
}

// MCAP's sequence is the low half of stream_seq.
uint32_t sequence_of(ConstBytes message) {
  const size_t field = flat_field(message, flat_root(message), kStreamSeqField, sizeof(uint64_t));
  return field == 0 ? 0 : load_le<uint32_t>(message.data + field);
}

}  // namespace

bool StreamState::open(Arena& tables, uint32_t max_tensors, Arena* strings) {
  max_tensors_ = max_tensors;
  strings_ = strings;
  channels_ = tables.take_array<Channel>(max_tensors);
  channel_order_ = tables.take_array<uint32_t>(max_tensors);
  scratch_ = static_cast<uint8_t*>(tables.take(kScratchBytes, 8));
  if (tables.is_measuring() || !tables.ok()) return tables.ok();
  for (uint32_t i = 0; i < max_tensors; ++i) ::new (static_cast<void*>(&channels_[i])) Channel;
  return true;
}

bool StreamState::has_channel(uint32_t tensor_id) const { return channels_[tensor_id].topic != nullptr; }

bool StreamState::add_channel(uint32_t tensor_id, const char* model, const char* name) {
  char topic[kMaxTopicBytes];
  const size_t length = escape_topic(Span<char>(topic), model, name);
  auto* copy = static_cast<char*>(length == 0 ? nullptr : strings_->take_if_room(length + 1, 1));
  if (copy == nullptr) return false;
  std::memcpy(copy, topic, length + 1);
  channels_[tensor_id].topic = copy;
  channel_order_[channel_count_++] = tensor_id;
  return true;
}

bool StreamState::reserve_descriptor(uint32_t tensor_id, size_t bytes) {
  Kept& kept = channels_[tensor_id].descriptor;
  if (bytes <= kept.room) return true;
  // Room to grow a little: a descriptor changes with its shape.
  const size_t room = align_up(bytes + bytes / 8, size_t{8});
  auto* data = static_cast<uint8_t*>(strings_->take_if_room(room, 8));
  if (data == nullptr) return false;
  if (kept.bytes != 0) std::memcpy(data, kept.data, kept.bytes);
  kept.data = data;
  kept.room = static_cast<uint32_t>(room);
  return true;
}

void StreamState::pass(const SpoolEntry& entry, ConstBytes record) {
  if (!entry.descriptor) return;
  const ConstBytes message = record.from(kMessageHeaderBytes);
  Kept& kept = channels_[entry.tensor_id].descriptor;
  std::memcpy(kept.data, message.data, message.size);
  kept.bytes = static_cast<uint32_t>(message.size);
}

bool StreamState::add_graph(ConstBytes message) {
  if (graph_count_ == kMaxGraphMessages) return false;
  graphs_[graph_count_++] = message;
  return true;
}

void StreamState::keep_counters(ConstBytes message) {
  if (message.size > sizeof counters_) return;
  std::memcpy(counters_, message.data, message.size);
  counters_bytes_ = message.size;
}

bool StreamState::add_attribute(const char* key, const char* value) {
  uint32_t at = 0;
  while (at < attribute_count_ && std::strcmp(attributes_[at].key, key) != 0) ++at;
  if (at == kMaxAttributes) return false;
  attributes_[at] = {key, value};
  if (at == attribute_count_) ++attribute_count_;
  return true;
}

size_t StreamState::write_channel(Bytes out, uint32_t tensor_id) const {
  return write_tensor_channel_record(out, tensor_id, channels_[tensor_id].topic);
}

uint32_t StreamState::channel_begin() const { return schema_begin() + kSchemaCount; }

uint32_t StreamState::declaration_count() const { return channel_begin() + kControlChannelCount + channel_count_; }

uint32_t StreamState::item_count() const { return declaration_count() + 1 + graph_count_ + channel_count_; }

StreamItem StreamState::repeat(ConstBytes message, uint16_t channel_id, uint64_t log_time) {
  StreamItem item;
  if (message.empty()) return item;  // declared, but its descriptor is still to come
  write_message_header(scratch_, message.size, channel_id, sequence_of(message), log_time, log_time);
  item.head = {scratch_, kMessageHeaderBytes};
  item.body = message;
  item.channel_id = channel_id;
  item.log_time = log_time;
  return item;
}

// Texts that do not fit the record are left out, the app's attributes first: a stream without this record is worth
// little.
size_t StreamState::write_metadata(Bytes out, uint32_t stream, uint64_t first_stream_seq) const {
  constexpr uint32_t kFixed = 13;
  constexpr size_t kPairBytes = 8;  // two lengths
  KeyValue entries[kFixed + kMaxAttributes];
  char keys[kMaxAttributes][kMaxAttributeKeyBytes + sizeof "attr."];
  char numbers[6][24];
  uint32_t count = 0;
  size_t room = out.size - 64;
  const auto add = [&](const char* key, const char* value) {
    const size_t bytes = kPairBytes + text_length(key) + text_length(value);
    if (bytes > room) return;
    room -= bytes;
    entries[count++] = {key, value};
  };
  const auto number = [&numbers](uint32_t slot, uint64_t value) {
    std::snprintf(numbers[slot], sizeof numbers[slot], "%llu", static_cast<unsigned long long>(value));
    return numbers[slot];
  };
  add("session", info_.uuid);
  add("stream", number(0, stream));
  add("format_current", number(1, kFormatCurrent));
  add("format_oldest", number(2, kFormatOldest));
  add("format_minor", number(3, kFormatMinor));
  add("first_stream_seq", number(4, first_stream_seq));
  add("next_stream_seq", number(5, next_stream_seq_));
  add("clock", "realtime+monotonic");
  const KeyValue optional[] = {{"board", info_.board},
                               {"soc", info_.soc},
                               {"sdk", info_.sdk},
                               {"build", info_.build},
                               {"model_hash", info_.model_hash}};
  for (const KeyValue& entry : optional) {
    if (text_length(entry.value) != 0) add(entry.key, entry.value);
  }
  for (uint32_t i = 0; i < attribute_count_; ++i) {
    std::snprintf(keys[i], sizeof keys[i], "attr.%s", attributes_[i].key);
    add(keys[i], attributes_[i].value);
  }
  return write_metadata_record(out, kMetadataName, {entries, count});
}

StreamItem StreamState::item(uint32_t index, uint32_t stream, uint64_t first_stream_seq, uint64_t log_time) {
  const Bytes out(scratch_, kScratchBytes);
  size_t bytes = 0;
  if (index == 0) {
    char library[32];
    std::snprintf(library, sizeof library, "%s%s", kMcapLibraryPrefix, kVersionText);
    bytes = write_magic(out);
    bytes += write_header_record(out.from(bytes), kMcapProfile, library);
  } else if (index == 1) {
    bytes = write_metadata(out, stream, first_stream_seq);
  } else if (index < channel_begin()) {
    const uint32_t schema = index - schema_begin();
    const SchemaSource source = schema_source(schema);
    bytes =
        write_schema_record(out, static_cast<uint16_t>(schema + kSchemaTensor), source.name, kEncoding, source.bfbs);
  } else if (index < channel_begin() + kControlChannelCount) {
    const ControlChannel& channel = kControlChannels[index - channel_begin()];
    bytes = write_channel_record(out, channel.channel, channel.schema, channel.topic, kEncoding, {});
  } else if (index < declaration_count()) {
    bytes = write_channel(out, channel_order_[index - channel_begin() - kControlChannelCount]);
  } else if (index == declaration_count()) {
    return repeat({counters_, counters_bytes_}, kCountersChannel.channel, log_time);
  } else if (index <= declaration_count() + graph_count_) {
    return repeat(graphs_[index - declaration_count() - 1], kModelGraphChannel.channel, log_time);
  } else {
    const uint32_t tensor_id = channel_order_[index - declaration_count() - 1 - graph_count_];
    const Kept& kept = channels_[tensor_id].descriptor;
    return repeat({kept.data, kept.bytes}, static_cast<uint16_t>(kFirstTensorChannel + tensor_id), log_time);
  }
  StreamItem item;
  item.head = {scratch_, bytes};
  return item;
}

}  // namespace dumphook
