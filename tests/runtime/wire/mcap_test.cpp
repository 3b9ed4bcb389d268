// SPDX-License-Identifier: Apache-2.0
// Against the bytes that the MCAP specification prescribes.
#include "wire/mcap.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "wire/crc32.h"

namespace dumphook {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text += static_cast<char>(value);
  return text;
}

// Runs `write` with every room from none to enough; what it writes must be whole or nothing, and inside.
std::string written(const std::function<size_t(Bytes)>& write) {
  std::vector<uint8_t> big(4096);
  const size_t needed = write(Bytes(big.data(), big.size()));
  for (size_t room = 0; room <= needed; ++room) {
    std::vector<uint8_t> out(needed + 16, 0xA5);
    EXPECT_EQ(room == needed ? needed : 0, write(Bytes(out.data(), room))) << room;
    for (size_t i = room; i < out.size(); ++i) EXPECT_EQ(0xA5, out[i]) << room;
  }
  return std::string(reinterpret_cast<const char*>(big.data()), needed);
}

TEST(Mcap, Magic) {
  EXPECT_EQ(bytes({0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A}),
            written([](Bytes out) { return write_magic(out); }));
}

TEST(Mcap, Header) {
  EXPECT_EQ(bytes({0x01, 11, 0, 0, 0,   0,   0,  0, 0,  //
                   0,    0,  0, 0,                      // profile
                   3,    0,  0, 0, 'l', 'i', 'b'}),     // library
            written([](Bytes out) { return write_header_record(out, kMcapProfile, "lib"); }));
}

TEST(Mcap, Metadata) {
  const KeyValue entries[] = {{"k", "v"}, {"x", nullptr}};
  EXPECT_EQ(bytes({0x0C, 29, 0, 0, 0,   0,   0, 0, 0,       //
                   2,    0,  0, 0, 'm', 'd',                // name
                   19,   0,  0, 0,                          // map, bytes
                   1,    0,  0, 0, 'k', 1,   0, 0, 0, 'v',  //
                   1,    0,  0, 0, 'x', 0,   0, 0, 0}),
            written([&](Bytes out) { return write_metadata_record(out, "md", entries); }));
}

TEST(Mcap, Schema) {
  const uint8_t data[] = {7, 8, 9};
  EXPECT_EQ(bytes({0x03, 19, 0, 0, 0,   0, 0, 0, 0,  //
                   2,    1,                          // id
                   1,    0,  0, 0, 'T',              // name
                   1,    0,  0, 0, 'f',              // encoding
                   3,    0,  0, 0, 7,   8, 9}),
            written([&](Bytes out) { return write_schema_record(out, 0x0102, "T", "f", data); }));
}

TEST(Mcap, Channel) {
  const KeyValue metadata[] = {{"k", "v"}};
  EXPECT_EQ(bytes({0x04, 28, 0, 0, 0,   0, 0, 0, 0,  //
                   33,   0,  1, 0,                   // id, schema id
                   1,    0,  0, 0, 't',              // topic
                   1,    0,  0, 0, 'f',              // message encoding
                   10,   0,  0, 0, 1,   0, 0, 0, 'k', 1, 0, 0, 0, 'v'}),
            written([&](Bytes out) { return write_channel_record(out, 33, 1, "t", "f", metadata); }));
}

TEST(Mcap, TensorChannel_CarriesItsTensorId) {
  const std::string record = written([](Bytes out) { return write_tensor_channel_record(out, 4210, "/m/t"); });
  const KeyValue metadata[] = {{"tensor_id", "4210"}};
  EXPECT_EQ(written([&](Bytes out) { return write_channel_record(out, 32 + 4210, 1, "/m/t", "flatbuffer", metadata); }),
            record);
  const KeyValue zero[] = {{"tensor_id", "0"}};
  EXPECT_EQ(written([&](Bytes out) { return write_channel_record(out, 32, 1, "/m/t", "flatbuffer", zero); }),
            written([](Bytes out) { return write_tensor_channel_record(out, 0, "/m/t"); }));
}

TEST(Mcap, MessageHeader) {
  uint8_t out[kMessageHeaderBytes];
  EXPECT_EQ(31u, write_message_header(out, 1000, 0x2021, 5, 0x1122334455667788, 9));
  EXPECT_EQ(bytes({0x05, 0xFE, 0x03, 0,    0,    0,    0,    0,    0,  // 22 + 1000
                   0x21, 0x20,                                         // channel
                   5,    0,    0,    0,                                // sequence
                   0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,     // log_time
                   9,    0,    0,    0,    0,    0,    0,    0}),      // publish_time
            std::string(reinterpret_cast<char*>(out), sizeof out));
}

TEST(Mcap, ChunkHeader) {
  uint8_t out[kChunkHeaderBytes];
  EXPECT_EQ(49u, write_chunk_header(out, 1, 2, 0x100, 0xAABBCCDD));
  EXPECT_EQ(bytes({0x06, 0x28, 0x01, 0,    0, 0, 0, 0, 0,                       // 40 + 256
                   1,    0,    0,    0,    0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,  // times
                   0,    1,    0,    0,    0, 0, 0, 0,                          // uncompressed size
                   0xDD, 0xCC, 0xBB, 0xAA,                                      // uncompressed crc
                   0,    0,    0,    0,                                         // compression
                   0,    1,    0,    0,    0, 0, 0, 0}),                        // records
            std::string(reinterpret_cast<char*>(out), sizeof out));
}

TEST(Mcap, MessageIndex) {
  const MessageIndexEntry entries[] = {{10, 0}, {11, 300}};
  EXPECT_EQ(bytes({0x07, 38, 0, 0, 0, 0, 0, 0, 0,                          //
                   1,    0,                                                // channel
                   32,   0,  0, 0,                                         // array, bytes
                   10,   0,  0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0,  //
                   11,   0,  0, 0, 0, 0, 0, 0, 0x2C, 1, 0, 0, 0, 0, 0, 0}),
            written([&](Bytes out) { return write_message_index_record(out, 1, entries); }));
}

TEST(Mcap, ChunkIndex) {
  const ChannelNumber offsets[] = {{32, 600}};
  ChunkIndexView index;
  index.start_time = 1;
  index.end_time = 2;
  index.chunk_offset = 3;
  index.chunk_bytes = 4;
  index.index_offsets = offsets;
  index.index_bytes = 5;
  index.records_bytes = 6;
  EXPECT_EQ(bytes({0x08, 74, 0, 0, 0,  0, 0,    0, 0,                         //
                   1,    0,  0, 0, 0,  0, 0,    0, 2, 0, 0, 0, 0, 0, 0, 0,    // times
                   3,    0,  0, 0, 0,  0, 0,    0, 4, 0, 0, 0, 0, 0, 0, 0,    // chunk
                   10,   0,  0, 0, 32, 0, 0x58, 2, 0, 0, 0, 0, 0, 0,          // index offsets
                   5,    0,  0, 0, 0,  0, 0,    0,                            // index length
                   0,    0,  0, 0,                                            // compression
                   6,    0,  0, 0, 0,  0, 0,    0, 6, 0, 0, 0, 0, 0, 0, 0}),  // sizes
            written([&](Bytes out) { return write_chunk_index_record(out, index); }));
}

TEST(Mcap, Statistics) {
  const ChannelNumber counts[] = {{1, 2}};
  McapStatisticsView statistics;
  statistics.message_count = 2;
  statistics.schema_count = 10;
  statistics.channel_count = 3;
  statistics.metadata_count = 1;
  statistics.chunk_count = 4;
  statistics.start_time = 5;
  statistics.end_time = 6;
  statistics.message_counts = counts;
  EXPECT_EQ(bytes({0x0B, 56, 0, 0, 0, 0, 0, 0, 0,                       //
                   2,    0,  0, 0, 0, 0, 0, 0,                          // messages
                   10,   0,                                             // schemas
                   3,    0,  0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0,  // channels, attachments, metadata, chunks
                   5,    0,  0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,  // times
                   10,   0,  0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0}),
            written([&](Bytes out) { return write_statistics_record(out, statistics); }));
}

TEST(Mcap, MetadataIndex) {
  EXPECT_EQ(bytes({0x0D, 21, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'm'}),
            written([](Bytes out) { return write_metadata_index_record(out, 1, 2, "m"); }));
}

TEST(Mcap, SummaryOffset) {
  EXPECT_EQ(bytes({0x0E, 17, 0, 0, 0, 0, 0, 0, 0, 0x03, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}),
            written([](Bytes out) { return write_summary_offset_record(out, McapOp::kSchema, 1, 2); }));
}

TEST(Mcap, DataEnd) {
  const std::string record = written([](Bytes out) { return write_data_end_record(out, 0x01020304); });
  EXPECT_EQ(bytes({0x0F, 4, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1}), record);
  EXPECT_EQ(kDataEndRecordBytes, record.size());
}

TEST(Mcap, Footer_CrcCoversTheSummaryAndItself) {
  const std::string summary = "all records of the summary";
  const uint32_t so_far = crc32(0, summary.data(), summary.size());
  const std::string record = written([&](Bytes out) { return write_footer_record(out, 1, 2, so_far); });
  const std::string head = bytes({0x02, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(kFooterRecordBytes, record.size());
  EXPECT_EQ(head, record.substr(0, head.size()));
  EXPECT_EQ(crc32(0, (summary + head).data(), summary.size() + head.size()), load_le<uint32_t>(record.data() + 25));
}

TEST(Mcap, Footer_WithoutSummaryHasNoCrc) {
  const std::string record = written([](Bytes out) { return write_footer_record(out, 0, 0, 77); });
  EXPECT_EQ(std::string(20, '\0'), record.substr(9));
}

}  // namespace
}  // namespace dumphook
