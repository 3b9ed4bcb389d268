// SPDX-License-Identifier: Apache-2.0
// The MCAP records that captures are made of (https://mcap.dev/spec, version 0).
//
// Each write_*_record puts one whole record at the front of `out` and returns its length, or 0, with `out` in any
// state, when it does not fit. Nothing is ever written outside `out`. NULL strings are written as empty ones.
#pragma once

#include "base/bytes.h"
#include "wire/format.h"

namespace dumphook {

constexpr uint8_t kMcapMagic[8] = {0x89, 'M', 'C', 'A', 'P', '0', '\r', '\n'};

enum class McapOp : uint8_t {
  kHeader = 0x01,
  kFooter = 0x02,
  kSchema = 0x03,
  kChannel = 0x04,
  kMessage = 0x05,
  kChunk = 0x06,
  kMessageIndex = 0x07,
  kChunkIndex = 0x08,
  kAttachment = 0x09,
  kAttachmentIndex = 0x0A,
  kStatistics = 0x0B,
  kMetadata = 0x0C,
  kMetadataIndex = 0x0D,
  kSummaryOffset = 0x0E,
  kDataEnd = 0x0F,
};

constexpr size_t kRecordPrefixBytes = 9;    // opcode, length of the content
constexpr size_t kMessageHeaderBytes = 31;  // all of a Message record before the message
constexpr size_t kChunkHeaderBytes = 49;    // all of an uncompressed Chunk record before the records
constexpr size_t kDataEndRecordBytes = 13;
constexpr size_t kFooterRecordBytes = 29;

struct KeyValue {
  const char* key = nullptr;
  const char* value = nullptr;
};

size_t write_magic(Bytes out);

size_t write_header_record(Bytes out, const char* profile, const char* library);

size_t write_metadata_record(Bytes out, const char* name, Span<const KeyValue> entries);

size_t write_schema_record(Bytes out, uint16_t id, const char* name, const char* encoding, ConstBytes data);

size_t write_channel_record(Bytes out, uint16_t id, uint16_t schema_id, const char* topic, const char* message_encoding,
                            Span<const KeyValue> metadata);

// The channel of a tensor as FORMAT.md section 1 has it: id, schema, encoding and metadata follow from tensor_id.
size_t write_tensor_channel_record(Bytes out, uint32_t tensor_id, const char* topic);

// All of a Message record but the message itself, which comes next and has `data_bytes`. Always kMessageHeaderBytes.
size_t write_message_header(uint8_t* out, uint64_t data_bytes, uint16_t channel, uint32_t sequence, uint64_t log_time,
                            uint64_t publish_time);

// All of an uncompressed Chunk record but its records, which come next. The times are those of its earliest and latest
// message, 0 without messages; `records_crc` is their crc32, or 0 for none. Always kChunkHeaderBytes.
size_t write_chunk_header(uint8_t* out, uint64_t start_time, uint64_t end_time, uint64_t records_bytes,
                          uint32_t records_crc);

struct MessageIndexEntry {
  uint64_t log_time = 0;
  uint64_t offset = 0;  // of the Message record from the first byte of the chunk's records
};

size_t write_message_index_record(Bytes out, uint16_t channel, Span<const MessageIndexEntry> entries);

// In a list; those whose number is 0 are left out.
struct ChannelNumber {
  uint16_t channel = 0;
  uint64_t number = 0;
};

struct ChunkIndexView {
  uint64_t start_time = 0, end_time = 0;
  uint64_t chunk_offset = 0;                // of the Chunk record's opcode from the start of the file
  uint64_t chunk_bytes = 0;                 // the whole record, opcode and length included
  Span<const ChannelNumber> index_offsets;  // where each channel's MessageIndex record is
  uint64_t index_bytes = 0;                 // all MessageIndex records of the chunk
  uint64_t records_bytes = 0;
};

size_t write_chunk_index_record(Bytes out, const ChunkIndexView& index);

struct McapStatisticsView {
  uint64_t message_count = 0;
  uint16_t schema_count = 0;
  uint32_t channel_count = 0;
  uint32_t metadata_count = 0;
  uint32_t chunk_count = 0;
  uint64_t start_time = 0, end_time = 0;
  Span<const ChannelNumber> message_counts;
};

size_t write_statistics_record(Bytes out, const McapStatisticsView& statistics);

size_t write_metadata_index_record(Bytes out, uint64_t offset, uint64_t length, const char* name);

size_t write_summary_offset_record(Bytes out, McapOp group, uint64_t group_start, uint64_t group_bytes);

// `data_crc` is the crc32 from the file's first byte to here, or 0 for none.
size_t write_data_end_record(Bytes out, uint32_t data_crc);

// `crc_so_far` is the crc32 from summary_start to here; the footer adds its own share. Without a summary both offsets
// are 0, and no CRC is written.
size_t write_footer_record(Bytes out, uint64_t summary_start, uint64_t summary_offset_start, uint32_t crc_so_far);

// Writes the topic /<model>/<tensor>, escaped as FORMAT.md section 1 has it, and a NUL. Returns its length without the
// NUL, or 0 when it does not fit; kMaxTopicBytes is always enough for names of at most kMaxNameBytes.
size_t escape_topic(Span<char> out, const char* model, const char* tensor);

constexpr size_t kMaxTopicBytes = 2 + 2 * 3 * kMaxNameBytes + 1;

}  // namespace dumphook
