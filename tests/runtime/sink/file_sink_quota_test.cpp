// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "file_sink_fixture.h"

namespace dumphook {
namespace {

class Quota : public FileSinkTest {
 protected:
  uint64_t folder_bytes() {
    uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) bytes += file.file_size();
    return bytes;
  }
  // By tensor, those of which all parts are in the files.
  std::map<uint32_t, uint64_t> whole_in_files(const Board& board, uint32_t segments, bool sealed) {
    std::map<uint64_t, std::pair<uint32_t, size_t>> parts;  // by capture
    std::map<uint64_t, size_t> needed;
    for (const auto& [seq, part] : board.part_seqs) ++needed[part.second];
    for (uint32_t i = 0; i < segments; ++i) {
      if (!std::filesystem::exists(segment_path(i))) continue;
      const Walked walked = walk_segment(static_cast<int>(i));
      EXPECT_TRUE(walked.sealed || !sealed);
      for (const uint64_t seq : walked.seqs) {
        const auto part = board.part_seqs.find(seq);
        if (part == board.part_seqs.end()) continue;
        auto& [tensor, count] = parts[part->second.second];
        tensor = part->second.first;
        ++count;
      }
    }
    std::map<uint32_t, uint64_t> whole;
    for (const auto& [capture, found] : parts) whole[found.first] += found.second == needed[capture];
    return whole;
  }
};

TEST_F(Quota, TwentySegmentsWithAQuotaOfFour_NeverExceedIt_AndTheBooksAreRight) {
  for (const uint64_t segment_bytes : {uint64_t{160} << 10, uint64_t{0}}) {
    Board board;
    FileSink sink;
    path_ = folder_ + (segment_bytes == 0 ? "/auto.mcap" : "/run.mcap");
    options_.quota_bytes = 640 << 10;
    options_.segment_bytes = segment_bytes;
    ASSERT_EQ(open(board, sink), DH_OK);
    for (uint64_t i = 0; sink.segment() < 20; ++i) {
      board.frame = i;
      if (i % 40 == 0) board.describe(static_cast<uint32_t>(i / 40 % 5));
      const auto tensor = static_cast<uint32_t>(i % 5);
      const uint32_t parts = i % 7 == 0 ? 3 : 1;  // some reach from one segment into the next
      for (uint32_t part = 0; part < parts; ++part) {
        ASSERT_TRUE(board.emit(tensor, 500 + i % 700, false, part, parts, i));
        board.step(sink);
      }
      if (i % 50 == 0) board.tell_loss(tensor, DH_LOSS_POOL_FULL, 2);
      if (i % 9 == 0) sink.flush();
      board.step(sink);
      ASSERT_EQ(sink.state(), SinkState::open) << board.log;
      ASSERT_LE(folder_bytes(), options_.quota_bytes);
    }
    finish(board, sink);
    EXPECT_LE(folder_bytes(), options_.quota_bytes);
    EXPECT_GT(folder_bytes(), options_.quota_bytes / 2) << "and uses it";
    std::map<uint32_t, uint64_t> expected;
    for (const auto& [tensor, count] : board.shipped) expected[tensor] = count - board.removed[tensor];
    if (segment_bytes != 0) {
      EXPECT_EQ(whole_in_files(board, sink.segment(), true), expected);
    }
    EXPECT_GT(board.told_again[0], 0u);
    EXPECT_NE(board.notes.find("removed segment"), std::string::npos);
    for (const auto& file : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(file);
  }
}

TEST_F(Quota, OfLessThanTwoSegments_KeepsTheNewestData) {
  Board board;
  FileSink sink;
  options_.quota_bytes = 256 << 10;
  options_.segment_bytes = 200 << 10;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (int i = 0; i < 1500; ++i) {
    ASSERT_TRUE(board.emit(0, 1000));
    board.step(sink);
    ASSERT_LE(folder_bytes(), options_.quota_bytes);
  }
  finish(board, sink);
  const Walked last = walk_segment(static_cast<int>(sink.segment()) - 1);
  EXPECT_EQ(last.seqs.back(), 1500u);
  EXPECT_EQ(whole_in_files(board, sink.segment(), true)[0], 0u) << "one capture id for all";
  EXPECT_LT(board.removed[0], 1500u);
}

TEST_F(Quota, TakesNothingOfOthers) {
  for (const char* name : {"run-0500.mcap", "run-0001.mcap.bak", "other.mcap"}) {
    std::ofstream(folder_ + "/" + name) << std::string(100000, 'x');
  }
  Board board;
  FileSink sink;
  options_.quota_bytes = 320 << 10;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(board.emit(0, 1000));
    board.step(sink);
  }
  finish(board, sink);
  EXPECT_GT(board.removed[0], 0u);
  for (const char* name : {"run-0500.mcap", "run-0001.mcap.bak", "other.mcap"}) {
    EXPECT_EQ(std::filesystem::file_size(folder_ + "/" + name), 100000u);
  }
  EXPECT_LE(folder_bytes(), options_.quota_bytes + 300000u);
}

TEST_F(Quota, WithMoreChannelsThanItCanHold_SaysSo) {
  Board board(4 << 20, 500);
  FileSink sink;
  options_.quota_bytes = 256 << 10;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (uint32_t i = 0; i < 500 && sink.state() == SinkState::open; ++i) {
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(board.describe(i, 900));
    sink.flush();
    board.step(sink);
  }
  EXPECT_EQ(sink.state(), SinkState::failed);
  EXPECT_NE(board.log.find("quota_bytes is 262144"), std::string::npos) << board.log;
}

}  // namespace
}  // namespace dumphook
