// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <fstream>

#include "file_sink_fixture.h"

namespace dumphook {
namespace {

TEST_F(FileSinkTest, WritesASealedIndexedFile) {
  Board board;
  FileSink sink;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (uint32_t i = 0; i < 500; ++i) {
    if (i % 7 == 0) {
      ASSERT_TRUE(board.describe(i % 50));
    }
    ASSERT_TRUE(board.emit(i % 50, i * 13 % 3000, i % 10 == 9));
    board.step(sink);
  }
  finish(board, sink);
  const Walked walked = walk_segment();
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.seqs, range(1, board.state.next_stream_seq() - 1));
  EXPECT_TRUE(walked.repeats.empty());
  EXPECT_GT(walked.chunks, 3u);
  EXPECT_TRUE(board.spool.empty());
}

TEST_F(FileSinkTest, WithoutMessages_TheFileIsValid) {
  Board board;
  FileSink sink;
  ASSERT_EQ(open(board, sink), DH_OK);
  finish(board, sink);
  const Walked walked = walk_segment();
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.chunks, 0u);
}

TEST_F(FileSinkTest, RefusesAFileThatExists_UnlessOverwriteIsSaid) {
  std::ofstream(path_) << "precious";
  Board board;
  FileSink sink;
  EXPECT_EQ(open(board, sink), DH_ERR_SINK);
  EXPECT_NE(board.log.find("?overwrite=1"), std::string::npos) << board.log;
  EXPECT_EQ(read_file(path_), "precious");
  options_.overwrite = true;
  EXPECT_EQ(open(board, sink), DH_OK);
  finish(board, sink);
  EXPECT_TRUE(walk_segment().sealed);
}

TEST_F(FileSinkTest, SaysWhyItCannotOpen) {
  path_ = folder_ + "/no/such/run.mcap";
  Board board;
  FileSink sink;
  EXPECT_EQ(open(board, sink), DH_ERR_SINK);
  EXPECT_NE(board.log.find("No such file"), std::string::npos) << board.log;
}

TEST_F(FileSinkTest, AtMostOneWindowIsOutsideTheKernel) {
  Board board;
  FileSink sink;
  ASSERT_EQ(open(board, sink), DH_OK);
  board.emit(0, 100);
  const SinkStep step = board.step(sink);
  EXPECT_EQ(board.last_shipped_seq, 0u);
  EXPECT_LE(step.wake_ns, board.now_ns + board.context.window_ns);
  board.now_ns += board.context.window_ns;
  board.step(sink);
  EXPECT_EQ(board.last_shipped_seq, 1u);
  EXPECT_EQ(walk_segment().seqs, range(1, 1));  // without a seal
  board.emit(0, 100);
  sink.flush();
  board.step(sink);
  EXPECT_EQ(walk_segment().seqs, range(1, 2));
  sink.abandon();
  EXPECT_EQ(sink.state(), SinkState::failed);
}

TEST_F(FileSinkTest, ASmallSpoolDoesNotWaitForALargeChunk) {
  Board board(64 << 10);
  FileSink sink;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(board.emit(0, 1000)) << i;
    board.step(sink);
  }
  finish(board, sink);
  EXPECT_EQ(walk_segment().seqs, range(1, 1000));
}

TEST_F(FileSinkTest, EachSegmentIsComplete_WithRepeats) {
  Board board;
  FileSink sink;
  options_.segment_bytes = 200000;
  ASSERT_EQ(open(board, sink), DH_OK);
  ASSERT_TRUE(board.describe(3));
  ASSERT_TRUE(board.describe(4));
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(board.emit(static_cast<uint32_t>(i % 20), 1000, i % 100 == 0));
    board.step(sink);
  }
  finish(board, sink);
  EXPECT_GE(sink.segment(), 3u);
  std::vector<uint64_t> all;
  for (uint32_t i = 0; i < sink.segment(); ++i) {
    const Walked walked = walk_segment(static_cast<int>(i));
    EXPECT_TRUE(walked.sealed);
    EXPECT_EQ(walked.metadata.at(0).at("stream"), std::to_string(i));
    EXPECT_EQ(walked.metadata.at(0).at("first_stream_seq"), std::to_string(all.size() + 1));
    EXPECT_EQ(walked.repeats, i == 0 ? std::vector<uint64_t>{} : range(1, 2));
    all.insert(all.end(), walked.seqs.begin(), walked.seqs.end());
  }
  EXPECT_EQ(all, range(1, 602));
}

TEST_F(FileSinkTest, ASegmentSmallerThanItsPreamble_StillMakesProgress) {
  Board board;
  FileSink sink;
  options_.segment_bytes = 1;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(board.describe(i));
    sink.flush();
    board.step(sink);
  }
  finish(board, sink);
  EXPECT_EQ(sink.segment(), 5u);
}

TEST_F(FileSinkTest, SegmentsEndWithTime) {
  Board board;
  FileSink sink;
  options_.segment_ns = 1000 * kMs;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(board.emit(0, 100));
    board.step(sink);
    board.now_ns += 100 * kMs;
  }
  finish(board, sink);
  EXPECT_GE(sink.segment(), 2u);
  EXPECT_LE(sink.segment(), 4u);
}

TEST_F(FileSinkTest, AFullIndexEndsTheSegment) {
  Board board(1 << 20, 16);
  FileSink sink;
  ASSERT_EQ(open(board, sink, 1), DH_OK);
  ASSERT_TRUE(board.describe(0));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(board.emit(static_cast<uint32_t>(i % 16), 10));
    if (i % 64 == 0) sink.flush();
    board.step(sink);
  }
  finish(board, sink);
  EXPECT_GT(sink.segment(), 1u);
  uint64_t next = 1;
  for (uint32_t i = 0; i < sink.segment(); ++i) {
    const Walked walked = walk_segment(static_cast<int>(i));
    ASSERT_FALSE(walked.seqs.empty());
    EXPECT_EQ(walked.seqs, range(next, walked.seqs.back()));
    next = walked.seqs.back() + 1;
  }
  EXPECT_EQ(next, board.state.next_stream_seq());
}

TEST_F(FileSinkTest, SyncPoliciesSync) {
  for (const auto& [policy, least, most] :
       {std::tuple{DH_SYNC_NEVER, 0, 0}, {DH_SYNC_CLOSE, 1, 1}, {DH_SYNC_INTERVAL, 3, 8}, {DH_SYNC_CHUNK, 20, 22}}) {
    Board board;
    FileSink sink;
    SmallDisk disk;
    options_.overwrite = true;
    options_.calls = disk.calls();
    options_.sync = policy;
    ASSERT_EQ(open(board, sink), DH_OK);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(board.emit(0, 100));
      sink.flush();
      board.step(sink);
      board.now_ns += 300 * kMs;
    }
    finish(board, sink);
    EXPECT_GE(disk.syncs, least) << policy;
    EXPECT_LE(disk.syncs, most) << policy;
  }
}

TEST_F(FileSinkTest, OneByteWrites_GiveTheSameFile) {
  std::string files[2];
  for (std::string& file : files) {
    Board board;
    FileSink sink;
    SmallDisk disk;
    if (&file != files) disk.most_at_once = 1;
    options_.overwrite = true;
    options_.calls = disk.calls();
    ASSERT_EQ(open(board, sink), DH_OK);
    for (uint32_t i = 0; i < 20; ++i) ASSERT_TRUE(board.emit(i % 3, i * 7));
    finish(board, sink);
    file = read_file(path_);
  }
  EXPECT_FALSE(files[0].empty());
  EXPECT_TRUE(files[0] == files[1]);
}

}  // namespace
}  // namespace dumphook
