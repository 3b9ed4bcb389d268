// SPDX-License-Identifier: Apache-2.0
#include "wire/mcap.h"

#include "wire/crc32.h"

namespace dumphook {
namespace {

// Appends fields to one record and fills in its length at the end. After a field that does not fit, nothing more is
// written.
class RecordWriter {
 public:
  RecordWriter(Bytes out, McapOp op) : out_(out) {
    number(static_cast<uint8_t>(op));
    number(uint64_t{0});
  }

  template <class T>
  void number(T value) {
    if (uint8_t* to = take(sizeof value)) store_le(to, value);
  }

  void bytes(const void* data, size_t count) {
    uint8_t* to = take(count);
    if (to != nullptr && count != 0) memcpy(to, data, count);
  }

  void text(const char* text_or_null) {
    const size_t length = text_length(text_or_null);
    number(static_cast<uint32_t>(length));
    bytes(text_or_null, length);
  }

  // Maps and arrays begin with their length in bytes.
  size_t begin_list() {
    const size_t at = used_;
    number(uint32_t{0});
    return at;
  }
  void end_list(size_t at) {
    if (!overflowed_) store_le(out_.data + at, static_cast<uint32_t>(used_ - at - sizeof(uint32_t)));
  }

  void map(Span<const KeyValue> entries) {
    const size_t list = begin_list();
    for (const KeyValue& entry : entries) {
      text(entry.key);
      text(entry.value);
    }
    end_list(list);
  }

  void map(Span<const ChannelNumber> entries) {
    const size_t list = begin_list();
    for (const ChannelNumber& entry : entries) {
      if (entry.number == 0) continue;
      number(entry.channel);
      number(entry.number);
    }
    end_list(list);
  }

  size_t finish() {
    if (overflowed_) return 0;
    store_le(out_.data + 1, static_cast<uint64_t>(used_ - kRecordPrefixBytes));
    return used_;
  }

 private:
  uint8_t* take(size_t count) {
    if (overflowed_ || count > out_.size - used_) {
      overflowed_ = true;
      return nullptr;
    }
    uint8_t* at = out_.data + used_;
    used_ += count;
    return at;
  }

  Bytes out_;
  size_t used_ = 0;
  bool overflowed_ = false;
};

// Decimal, with a NUL.
void format_decimal(uint32_t value, char (&out)[11]) {
  char digits[10];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  for (size_t i = 0; i < count; ++i) out[i] = digits[count - 1 - i];
  out[count] = '\0';
}

// Bytes of the valid UTF-8 sequence at `p`, which ends in NUL; 0 when there is none (RFC 3629, section 4).
size_t utf8_length(const unsigned char* p) {
  const auto is_tail = [](unsigned char c) { return (c & 0xC0) == 0x80; };
  if (p[0] < 0x80) return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) return is_tail(p[1]) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    if (!is_tail(p[1]) || !is_tail(p[2])) return 0;
    const bool is_overlong = p[0] == 0xE0 && p[1] < 0xA0;
    const bool is_surrogate = p[0] == 0xED && p[1] >= 0xA0;
    return is_overlong || is_surrogate ? 0 : 3;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    if (!is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3])) return 0;
    const bool is_overlong = p[0] == 0xF0 && p[1] < 0x90;
    const bool is_too_large = p[0] == 0xF4 && p[1] >= 0x90;
    return is_overlong || is_too_large ? 0 : 4;
  }
  return 0;
}

class TopicWriter {
 public:
  explicit TopicWriter(Span<char> out) : out_(out) {}

  void put(char c) {
    if (used_ < out_.size) {
      out_[used_++] = c;
    } else {
      overflowed_ = true;
    }
  }

  void put_escaped(const char* name_or_null) {
    const unsigned char* p = reinterpret_cast<const unsigned char*>(name_or_null == nullptr ? "" : name_or_null);
    while (*p != '\0') {
      const size_t length = utf8_length(p);
      if (length == 0 || *p == '/' || *p == '%' || *p < 0x20 || *p == 0x7F) {
        constexpr const char* kDigits = "0123456789ABCDEF";
        put('%');
        put(kDigits[*p >> 4]);
        put(kDigits[*p & 15]);
        ++p;
        continue;
      }
      for (size_t i = 0; i < length; ++i) put(static_cast<char>(*p++));
    }
  }

  size_t finish() {
    put('\0');
    return overflowed_ ? 0 : used_ - 1;
  }

 private:
  Span<char> out_;
  size_t used_ = 0;
  bool overflowed_ = false;
};

}  // namespace

size_t write_magic(Bytes out) {
  if (out.size < sizeof kMcapMagic) return 0;
  memcpy(out.data, kMcapMagic, sizeof kMcapMagic);
  return sizeof kMcapMagic;
}

size_t write_header_record(Bytes out, const char* profile, const char* library) {
  RecordWriter record(out, McapOp::kHeader);
  record.text(profile);
  record.text(library);
  return record.finish();
}

size_t write_metadata_record(Bytes out, const char* name, Span<const KeyValue> entries) {
  RecordWriter record(out, McapOp::kMetadata);
  record.text(name);
  record.map(entries);
  return record.finish();
}

size_t write_schema_record(Bytes out, uint16_t id, const char* name, const char* encoding, ConstBytes data) {
  RecordWriter record(out, McapOp::kSchema);
  record.number(id);
  record.text(name);
  record.text(encoding);
  record.number(static_cast<uint32_t>(data.size));
  record.bytes(data.data, data.size);
  return record.finish();
}

size_t write_channel_record(Bytes out, uint16_t id, uint16_t schema_id, const char* topic, const char* message_encoding,
                            Span<const KeyValue> metadata) {
  RecordWriter record(out, McapOp::kChannel);
  record.number(id);
  record.number(schema_id);
  record.text(topic);
  record.text(message_encoding);
  record.map(metadata);
  return record.finish();
}

size_t write_tensor_channel_record(Bytes out, uint32_t tensor_id, const char* topic) {
  char digits[11];
  format_decimal(tensor_id, digits);
  const KeyValue metadata[] = {{kTensorIdKey, digits}};
  return write_channel_record(out, static_cast<uint16_t>(kFirstTensorChannel + tensor_id), kSchemaTensor, topic,
                              kEncoding, metadata);
}

size_t write_message_header(uint8_t* out, uint64_t data_bytes, uint16_t channel, uint32_t sequence, uint64_t log_time,
                            uint64_t publish_time) {
  out[0] = static_cast<uint8_t>(McapOp::kMessage);
  store_le(out + 1, kMessageHeaderBytes - kRecordPrefixBytes + data_bytes);
  store_le(out + 9, channel);
  store_le(out + 11, sequence);
  store_le(out + 15, log_time);
  store_le(out + 23, publish_time);
  return kMessageHeaderBytes;
}

size_t write_chunk_header(uint8_t* out, uint64_t start_time, uint64_t end_time, uint64_t records_bytes,
                          uint32_t records_crc) {
  out[0] = static_cast<uint8_t>(McapOp::kChunk);
  store_le(out + 1, kChunkHeaderBytes - kRecordPrefixBytes + records_bytes);
  store_le(out + 9, start_time);
  store_le(out + 17, end_time);
  store_le(out + 25, records_bytes);
  store_le(out + 33, records_crc);
  store_le(out + 37, uint32_t{0});  // compression: empty
  store_le(out + 41, records_bytes);
  return kChunkHeaderBytes;
}

size_t write_message_index_record(Bytes out, uint16_t channel, Span<const MessageIndexEntry> entries) {
  RecordWriter record(out, McapOp::kMessageIndex);
  record.number(channel);
  const size_t list = record.begin_list();
  for (const MessageIndexEntry& entry : entries) {
    record.number(entry.log_time);
    record.number(entry.offset);
  }
  record.end_list(list);
  return record.finish();
}

size_t write_chunk_index_record(Bytes out, const ChunkIndexView& index) {
  RecordWriter record(out, McapOp::kChunkIndex);
  record.number(index.start_time);
  record.number(index.end_time);
  record.number(index.chunk_offset);
  record.number(index.chunk_bytes);
  record.map(index.index_offsets);
  record.number(index.index_bytes);
  record.text("");
  record.number(index.records_bytes);
  record.number(index.records_bytes);
  return record.finish();
}

size_t write_statistics_record(Bytes out, const McapStatisticsView& statistics) {
  RecordWriter record(out, McapOp::kStatistics);
  record.number(statistics.message_count);
  record.number(statistics.schema_count);
  record.number(statistics.channel_count);
  record.number(uint32_t{0});  // attachments
  record.number(statistics.metadata_count);
  record.number(statistics.chunk_count);
  record.number(statistics.start_time);
  record.number(statistics.end_time);
  record.map(statistics.message_counts);
  return record.finish();
}

size_t write_metadata_index_record(Bytes out, uint64_t offset, uint64_t length, const char* name) {
  RecordWriter record(out, McapOp::kMetadataIndex);
  record.number(offset);
  record.number(length);
  record.text(name);
  return record.finish();
}

size_t write_summary_offset_record(Bytes out, McapOp group, uint64_t group_start, uint64_t group_bytes) {
  RecordWriter record(out, McapOp::kSummaryOffset);
  record.number(static_cast<uint8_t>(group));
  record.number(group_start);
  record.number(group_bytes);
  return record.finish();
}

size_t write_data_end_record(Bytes out, uint32_t data_crc) {
  RecordWriter record(out, McapOp::kDataEnd);
  record.number(data_crc);
  return record.finish();
}

size_t write_footer_record(Bytes out, uint64_t summary_start, uint64_t summary_offset_start, uint32_t crc_so_far) {
  RecordWriter record(out, McapOp::kFooter);
  record.number(summary_start);
  record.number(summary_offset_start);
  record.number(uint32_t{0});
  const size_t bytes = record.finish();
  if (bytes != 0 && summary_start != 0) {
    const size_t crc_at = kFooterRecordBytes - sizeof(uint32_t);
    store_le(out.data + crc_at, crc32(crc_so_far, out.data, crc_at));
  }
  return bytes;
}

size_t escape_topic(Span<char> out, const char* model, const char* tensor) {
  TopicWriter topic(out);
  topic.put('/');
  topic.put_escaped(model);
  topic.put('/');
  topic.put_escaped(tensor);
  return topic.finish();
}

}  // namespace dumphook
