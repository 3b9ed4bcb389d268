// SPDX-License-Identifier: Apache-2.0
#include "source/mcap_record.h"

#include <gtest/gtest.h>

#include <vector>

namespace dumphook {
namespace {

ConstBytes view(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

constexpr uint8_t op(McapOp opcode) { return static_cast<uint8_t>(opcode); }

// id 7, schema 1, topic "/m/t", "flatbuffer", {"tensor_id": "3"}
const std::vector<uint8_t> kChannel = {7,   0,   1,   0,                                                    //
                                       4,   0,   0,   0, '/', 'm', '/', 't',                                //
                                       10,  0,   0,   0, 'f', 'l', 'a', 't', 'b', 'u', 'f', 'f', 'e', 'r',  //
                                       18,  0,   0,   0, 9,   0,   0,   0,   't', 'e', 'n', 's', 'o', 'r',
                                       '_', 'i', 'd', 1, 0,   0,   0,   '3'};

TEST(McapRecord, Channel_FromLiteralBytes) {
  const auto channel = parse_channel(view(kChannel));
  ASSERT_TRUE(channel);
  EXPECT_EQ(channel->id, 7);
  EXPECT_EQ(channel->schema_id, 1);
  EXPECT_EQ(channel->topic, "/m/t");
  EXPECT_EQ(channel->message_encoding, "flatbuffer");
  EXPECT_EQ(channel->metadata.at("tensor_id"), "3");
  EXPECT_EQ(fields_fit(op(McapOp::kChannel), view(kChannel)), Fit::exact);
}

TEST(McapRecord, CutAnywhere_IsNoRecord) {
  for (size_t size = 0; size < kChannel.size(); ++size) {
    const ConstBytes cut(kChannel.data(), size);
    EXPECT_FALSE(parse_channel(cut)) << size;
    EXPECT_EQ(fields_fit(op(McapOp::kChannel), cut), Fit::broken) << size;
  }
}

TEST(McapRecord, BytesAfterTheLastField_AreIgnored) {
  std::vector<uint8_t> longer = kChannel;
  longer.push_back(9);
  EXPECT_TRUE(parse_channel(view(longer)));
  EXPECT_EQ(fields_fit(op(McapOp::kChannel), view(longer)), Fit::loose);
}

TEST(McapRecord, MapLengthThatSplitsAnEntry_IsRefused) {
  std::vector<uint8_t> split = kChannel;
  split[26] = 17;
  EXPECT_FALSE(parse_channel(view(split)));
}

TEST(McapRecord, ChunkHeader_SaysWhereTheRecordsBegin) {
  std::vector<uint8_t> chunk(28, 0);
  chunk[16] = 5;                                                                   // uncompressed_size
  chunk.insert(chunk.end(), {3, 0, 0, 0, 'l', 'z', '4', 5, 0, 0, 0, 0, 0, 0, 0});  // compression, records
  const auto header = parse_chunk_header(view(chunk));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->compression, "lz4");
  EXPECT_EQ(header->records_size, 5u);
  EXPECT_EQ(header->header_bytes, chunk.size());
}

TEST(McapRecord, LengthsThatCannotBe_AreKnown) {
  EXPECT_FALSE(length_plausible(0, 0));
  EXPECT_FALSE(length_plausible(op(McapOp::kMessage), 21));
  EXPECT_TRUE(length_plausible(op(McapOp::kMessage), 22));
  EXPECT_FALSE(length_plausible(op(McapOp::kMessage), (uint64_t{64} << 20) + 1));
  EXPECT_TRUE(length_plausible(op(McapOp::kChunk), uint64_t{1} << 40));
  EXPECT_FALSE(length_plausible(op(McapOp::kFooter), 21));
  EXPECT_TRUE(length_plausible(0x80, ~uint64_t{0}));
}

}  // namespace
}  // namespace dumphook
