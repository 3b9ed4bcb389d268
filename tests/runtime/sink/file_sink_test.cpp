// SPDX-License-Identifier: Apache-2.0
#include "sink/file_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>

#include "board.h"
#include "walk.h"

namespace dumphook {
namespace {

constexpr uint64_t kMs = 1000000;

std::vector<uint64_t> range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// A disk that takes `budget` bytes.
struct SmallDisk {
  uint64_t budget = ~uint64_t{0};
  uint64_t most_at_once = ~uint64_t{0};
  int syncs = 0;
  bool patch_works = true;

  FileCalls calls() {
    FileCalls calls = FileCalls::system();
    calls.user = this;
    calls.append = [](void* user, int fd, const iovec* runs, int) -> int64_t {
      auto* disk = static_cast<SmallDisk*>(user);
      const uint64_t room = std::min(disk->budget, disk->most_at_once);
      if (room == 0) return errno = ENOSPC, -1;
      const int64_t taken = write(fd, runs[0].iov_base, std::min<uint64_t>(room, runs[0].iov_len));
      disk->budget -= static_cast<uint64_t>(taken);
      return taken;
    };
    calls.patch = [](void* user, int fd, const void* data, size_t bytes, uint64_t offset) -> int64_t {
      if (!static_cast<SmallDisk*>(user)->patch_works) return errno = EIO, -1;
      return pwrite(fd, data, bytes, static_cast<off_t>(offset));
    };
    calls.sync = [](void* user, int) { return ++static_cast<SmallDisk*>(user)->syncs, 0; };
    return calls;
  }
};

class FileSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/dumphook_file_sink_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/run.mcap";
  }
  void TearDown() override {
    const int failed = system(("rm -r " + folder_).c_str());
    EXPECT_EQ(failed, 0);
  }

  Status open(Board& board, FileSink& sink, uint64_t index_bytes = 1 << 20) {
    const size_t bytes = SegmentIndex::memory_bytes(index_bytes, board.max_tensors());
    index_memory_.assign(bytes / 64 + 1, {});
    options_.path = path_.c_str();
    options_.max_tensors = board.max_tensors();
    options_.index_memory = Bytes(reinterpret_cast<uint8_t*>(index_memory_.data()), bytes);
    return sink.open(board.context, options_);
  }

  void finish(Board& board, FileSink& sink) {
    sink.finish();
    board.step(sink);
    EXPECT_EQ(sink.state(), SinkState::finished) << board.log;
  }

  Walked walk_segment(int number = 0) {
    char suffix[16];
    snprintf(suffix, sizeof suffix, "-%04d.mcap", number);
    const std::string name = number == 0 ? path_ : folder_ + "/run" + suffix;
    Walked walked = walk(read_file(name));
    EXPECT_EQ(walked.wrong, "") << name;
    return walked;
  }

  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::string folder_, path_;
  FileSinkOptions options_;
  std::vector<Line> index_memory_;
};

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

// The fault twin of the disk: it fills up after every possible byte.
class FullDisk : public FileSinkTest, public ::testing::WithParamInterface<bool> {
 protected:
  // What is in the file when the disk takes `budget` bytes. False when it took all.
  bool run(uint64_t budget, Walked* walked, uint64_t* shipped_seq, uint64_t* file_bytes) {
    Board board(32 << 10, 8);
    FileSink sink;
    SmallDisk disk;
    disk.budget = budget;
    disk.patch_works = GetParam();
    unlink(path_.c_str());
    options_.calls = disk.calls();
    EXPECT_EQ(open(board, sink), DH_OK);
    for (uint32_t i = 0; i < 6; ++i) {
      board.describe(i);
      board.emit(i, 30);
      if (i % 3 == 2) sink.flush();
      board.step(sink);
    }
    sink.finish();
    board.step(sink);
    const std::string bytes = read_file(path_);
    *walked = walk(bytes);
    *shipped_seq = board.last_shipped_seq;
    *file_bytes = bytes.size();
    if (sink.state() == SinkState::finished) return false;
    EXPECT_EQ(sink.state(), SinkState::failed);
    EXPECT_NE(board.log.find("No space left"), std::string::npos) << board.log;
    return true;
  }
};

TEST_P(FullDisk, AfterEveryByte_TheFileDecodesToTheLastWholeRecord) {
  Walked complete;
  uint64_t shipped = 0, total = 0;
  ASSERT_FALSE(run(~uint64_t{0}, &complete, &shipped, &total));
  ASSERT_EQ(complete.seqs, range(1, 12));
  size_t partly = 0;
  // The schemas, in the preamble and in the summary, are long and all alike.
  const auto is_long = [&](uint64_t at) { return at < complete.preamble_bytes || at > complete.data_bytes; };
  for (uint64_t budget = 0; budget < total; budget += is_long(budget) ? 29 : 1) {
    Walked walked;
    uint64_t file_bytes = 0;
    ASSERT_TRUE(run(budget, &walked, &shipped, &file_bytes)) << budget;
    ASSERT_EQ(walked.wrong, "") << budget;
    ASSERT_EQ(walked.whole_bytes, file_bytes) << budget << ": ends within a record";
    ASSERT_EQ(walked.seqs.size(), shipped) << budget << ": shipped is what is in the file";
    ASSERT_EQ(walked.seqs, range(1, shipped));
    if (shipped != 0 && shipped != 6 && shipped != 12) ++partly;
  }
  EXPECT_EQ(GetParam(), partly > 100) << "whole messages of a cut chunk are kept";
}

INSTANTIATE_TEST_SUITE_P(Repair, FullDisk, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Works" : "Fails"; });

}  // namespace
}  // namespace dumphook
