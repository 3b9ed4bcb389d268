// SPDX-License-Identifier: Apache-2.0
// The records of MCAP version 0, as a reader meets them. Field order is in the MCAP specification.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "wire/mcap.h"

namespace dumphook {

constexpr size_t kMessageFieldsBytes =
    kMessageHeaderBytes - kRecordPrefixBytes;  // of a Message's content, before the data
constexpr uint8_t kLastKnownOpcode = static_cast<uint8_t>(McapOp::kDataEnd);
constexpr uint8_t kFirstPrivateOpcode = 0x80;

// Duplicate keys: the last one holds.
using TextMap = std::map<std::string, std::string>;

struct HeaderRecord {
  std::string profile, library;
};
struct SchemaRecord {
  uint16_t id = 0;
  std::string name, encoding;
};
struct ChannelRecord {
  uint16_t id = 0, schema_id = 0;
  std::string topic, message_encoding;
  TextMap metadata;
};
struct MetadataRecord {
  std::string name;
  TextMap values;
};
struct MessageHeader {
  uint16_t channel_id = 0;
  uint32_t sequence = 0;
  uint64_t log_time = 0, publish_time = 0;
};
// What stands before a chunk's records.
struct ChunkHeader {
  uint64_t start_time = 0, end_time = 0, uncompressed_size = 0, records_size = 0;
  uint32_t uncompressed_crc = 0;  // 0: none
  std::string compression;
  size_t header_bytes = 0;  // where the records begin in the content
};

// Nothing when the content is not such a record. Bytes after the last field are ignored, as MCAP demands.
std::optional<HeaderRecord> parse_header(ConstBytes content);
std::optional<SchemaRecord> parse_schema(ConstBytes content);
std::optional<ChannelRecord> parse_channel(ConstBytes content);
std::optional<MetadataRecord> parse_metadata(ConstBytes content);
std::optional<MessageHeader> parse_message_header(ConstBytes content);
std::optional<ChunkHeader> parse_chunk_header(ConstBytes content);

enum class Fit : uint8_t {
  broken,  // the fields do not fit into the content
  loose,   // bytes follow the last field
  exact,
};
// How the fields of a record of this kind fill its content. Chunk contents are judged by the chunk header, and private
// and unknown records are always loose.
Fit fields_fit(uint8_t opcode, ConstBytes content);

// Whether a record of this kind can have this length at all.
bool length_plausible(uint8_t opcode, uint64_t length);

}  // namespace dumphook
