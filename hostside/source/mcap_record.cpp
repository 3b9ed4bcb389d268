// SPDX-License-Identifier: Apache-2.0
#include "source/mcap_record.h"

namespace dumphook {
namespace {

// Takes fields from the front of a content; after a field that does not fit, everything fails.
class Fields {
 public:
  explicit Fields(ConstBytes content) : rest_(content) {}

  template <class T>
  T number() {
    if (!has(sizeof(T))) return T{};
    const T value = load_le<T>(rest_.data);
    rest_ = rest_.from(sizeof(T));
    return value;
  }
  // With a length before it.
  template <class Length>
  ConstBytes bytes() {
    const Length length = number<Length>();
    if (!has(length)) return {};
    const ConstBytes taken = rest_.first(static_cast<size_t>(length));
    rest_ = rest_.from(taken.size);
    return taken;
  }
  std::string text() {
    const ConstBytes taken = bytes<uint32_t>();
    return std::string(reinterpret_cast<const char*>(taken.data), taken.size);
  }
  TextMap map() {
    TextMap values;
    Fields inner(bytes<uint32_t>());
    while (inner.ok() && !inner.rest_.empty()) {
      std::string key = inner.text();
      std::string value = inner.text();
      if (inner.ok()) values[std::move(key)] = std::move(value);
    }
    good_ = good_ && inner.ok();
    return values;
  }
  // An array or map whose entries are `entry_bytes` each.
  void array(size_t entry_bytes) {
    if (bytes<uint32_t>().size % entry_bytes != 0) good_ = false;
  }
  void skip(size_t count) {
    if (has(count)) rest_ = rest_.from(count);
  }

  bool ok() const { return good_; }
  size_t left() const { return rest_.size; }

 private:
  bool has(uint64_t count) {
    if (count > rest_.size) good_ = false;
    return good_;
  }

  ConstBytes rest_;
  bool good_ = true;
};

}  // namespace

std::optional<HeaderRecord> parse_header(ConstBytes content) {
  Fields fields(content);
  HeaderRecord record;
  record.profile = fields.text();
  record.library = fields.text();
  if (!fields.ok()) return std::nullopt;
  return record;
}

std::optional<SchemaRecord> parse_schema(ConstBytes content) {
  Fields fields(content);
  SchemaRecord record;
  record.id = fields.number<uint16_t>();
  record.name = fields.text();
  record.encoding = fields.text();
  fields.bytes<uint32_t>();
  if (!fields.ok()) return std::nullopt;
  return record;
}

std::optional<ChannelRecord> parse_channel(ConstBytes content) {
  Fields fields(content);
  ChannelRecord record;
  record.id = fields.number<uint16_t>();
  record.schema_id = fields.number<uint16_t>();
  record.topic = fields.text();
  record.message_encoding = fields.text();
  record.metadata = fields.map();
  if (!fields.ok()) return std::nullopt;
  return record;
}

std::optional<MetadataRecord> parse_metadata(ConstBytes content) {
  Fields fields(content);
  MetadataRecord record;
  record.name = fields.text();
  record.values = fields.map();
  if (!fields.ok()) return std::nullopt;
  return record;
}

std::optional<MessageHeader> parse_message_header(ConstBytes content) {
  Fields fields(content);
  MessageHeader header;
  header.channel_id = fields.number<uint16_t>();
  header.sequence = fields.number<uint32_t>();
  header.log_time = fields.number<uint64_t>();
  header.publish_time = fields.number<uint64_t>();
  if (!fields.ok()) return std::nullopt;
  return header;
}

std::optional<ChunkHeader> parse_chunk_header(ConstBytes content) {
  Fields fields(content);
  ChunkHeader header;
  header.start_time = fields.number<uint64_t>();
  header.end_time = fields.number<uint64_t>();
  header.uncompressed_size = fields.number<uint64_t>();
  header.uncompressed_crc = fields.number<uint32_t>();
  header.compression = fields.text();
  header.records_size = fields.number<uint64_t>();
  if (!fields.ok()) return std::nullopt;
  header.header_bytes = content.size - fields.left();
  return header;
}

Fit fields_fit(uint8_t opcode, ConstBytes content) {
  if (opcode == 0 || opcode > kLastKnownOpcode) return Fit::loose;
  Fields fields(content);
  switch (static_cast<McapOp>(opcode)) {
    case McapOp::kHeader: fields.text(), fields.text(); break;
    case McapOp::kFooter: fields.skip(20); break;
    case McapOp::kSchema:
      fields.skip(2), fields.bytes<uint32_t>(), fields.bytes<uint32_t>(), fields.bytes<uint32_t>();
      break;
    case McapOp::kChannel: fields.skip(4), fields.bytes<uint32_t>(), fields.bytes<uint32_t>(), fields.map(); break;
    case McapOp::kMessage: fields.skip(kMessageFieldsBytes); return fields.ok() ? Fit::exact : Fit::broken;
    case McapOp::kChunk: fields.skip(28), fields.bytes<uint32_t>(), fields.bytes<uint64_t>(); break;
    case McapOp::kMessageIndex: fields.skip(2), fields.array(16); break;
    case McapOp::kChunkIndex:
      fields.skip(32), fields.array(10), fields.skip(8), fields.bytes<uint32_t>(), fields.skip(16);
      break;
    case McapOp::kAttachment:
      fields.skip(16), fields.bytes<uint32_t>(), fields.bytes<uint32_t>(), fields.bytes<uint64_t>(), fields.skip(4);
      break;
    case McapOp::kAttachmentIndex: fields.skip(40), fields.bytes<uint32_t>(), fields.bytes<uint32_t>(); break;
    case McapOp::kStatistics: fields.skip(42), fields.array(10); break;
    case McapOp::kMetadata: fields.bytes<uint32_t>(), fields.map(); break;
    case McapOp::kMetadataIndex: fields.skip(16), fields.bytes<uint32_t>(); break;
    case McapOp::kSummaryOffset: fields.skip(17); break;
    case McapOp::kDataEnd: fields.skip(4); break;
  }
  if (!fields.ok()) return Fit::broken;
  return fields.left() == 0 ? Fit::exact : Fit::loose;
}

bool length_plausible(uint8_t opcode, uint64_t length) {
  if (opcode == 0) return false;
  if (opcode > kLastKnownOpcode) return length <= kMaxRecordBytes || opcode >= kFirstPrivateOpcode;
  switch (static_cast<McapOp>(opcode)) {
    case McapOp::kFooter: return length == 20;
    case McapOp::kDataEnd: return length == 4;
    case McapOp::kMessage: return length >= kMessageFieldsBytes && length <= kMaxRecordBytes;
    case McapOp::kChunk: return length >= 40 && length < uint64_t{1} << 62;
    case McapOp::kAttachment: return length >= 36 && length < uint64_t{1} << 62;
    case McapOp::kSchema: return length >= 14 && length <= kMaxRecordBytes;
    case McapOp::kChannel: return length >= 16 && length <= kMaxRecordBytes;
    default: return length >= 6 && length <= kMaxRecordBytes;
  }
}

}  // namespace dumphook
