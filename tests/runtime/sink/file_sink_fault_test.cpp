// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "file_sink_fixture.h"

namespace dumphook {
namespace {

// The fault twin of the disk: it fills up, or breaks, after every possible byte.
struct Fault {
  dh_on_full on_full;
  int error;
  bool patch_works;
};

class BadDisk : public FileSinkTest, public ::testing::WithParamInterface<Fault> {
 protected:
  struct Outcome {
    Walked walked;
    uint64_t shipped_seq = 0, file_bytes = 0, used = 0;
    SinkState state = SinkState::open;
    std::string log;
  };

  // What is in the file when the disk takes `capacity` bytes.
  Outcome run(uint64_t capacity) {
    Board board(32 << 10, 8);
    FileSink sink;
    SmallDisk disk;
    disk.capacity = capacity;
    disk.error = GetParam().error;
    disk.patch_works = GetParam().patch_works;
    unlink(path_.c_str());
    options_.calls = disk.calls();
    options_.on_full = GetParam().on_full;
    Outcome outcome;
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
    outcome.walked = walk(bytes);
    outcome.shipped_seq = board.last_shipped_seq;
    outcome.file_bytes = bytes.size();
    outcome.used = disk.used;
    outcome.state = sink.state();
    outcome.log = board.log;
    return outcome;
  }
};

TEST_P(BadDisk, AfterEveryByte_TheFileDecodesToTheLastWholeRecord) {
  const Outcome complete = run(~uint64_t{0});
  ASSERT_EQ(complete.state, SinkState::finished);
  ASSERT_EQ(complete.walked.seqs, range(1, 12));
  size_t partly = 0, sealed = 0, sealed_with_all = 0;
  // The schemas, in the preamble and in the summary, are long and all alike; the reserve is noise.
  const Walked& all = complete.walked;
  const auto is_long = [&](uint64_t at) {
    const uint64_t reserve = complete.used - complete.file_bytes;
    return at < all.preamble_bytes + reserve - 100 || at > all.data_bytes + reserve + 100;
  };
  for (uint64_t capacity = 0;; capacity += is_long(capacity) ? 997 : 1) {
    const Outcome outcome = run(capacity);
    if (outcome.state == SinkState::finished && capacity > complete.used) break;
    ASSERT_EQ(outcome.walked.wrong, "") << capacity;
    ASSERT_EQ(outcome.walked.whole_bytes, outcome.file_bytes) << capacity << ": ends within a record";
    ASSERT_EQ(outcome.walked.seqs.size(), outcome.shipped_seq) << capacity << ": shipped is what is in the file";
    ASSERT_EQ(outcome.walked.seqs, range(1, outcome.shipped_seq));
    if (outcome.state != SinkState::finished) {
      ASSERT_EQ(outcome.state, SinkState::failed);
      ASSERT_NE(outcome.log.find(strerror(GetParam().error)), std::string::npos) << outcome.log;
    }
    const uint64_t shipped = outcome.shipped_seq;
    if (shipped != 0 && shipped != 6 && shipped != 12) ++partly;
    if (outcome.walked.sealed) ++sealed;
    sealed_with_all += outcome.walked.sealed && shipped == 12;
  }
  EXPECT_EQ(GetParam().patch_works, partly > 100) << "whole messages of a cut chunk are kept";
  if (GetParam().error == ENOSPC) {
    EXPECT_GT(sealed, 500u) << "the room in reserve seals the segment";
    EXPECT_GT(sealed_with_all, 10u);
  }
}

std::string name_of(const ::testing::TestParamInfo<Fault>& test) {
  static constexpr const char* kModes[] = {"", "Stop", "Retry", "Rotate"};
  return std::string(kModes[test.param.on_full]) + (test.param.error == EIO ? "_EIO" : "_Full") +
         (test.param.patch_works ? "" : "_WithoutRepair");
}

INSTANTIATE_TEST_SUITE_P(Disks, BadDisk,
                         ::testing::Values(Fault{DH_ON_FULL_STOP, ENOSPC, true}, Fault{DH_ON_FULL_STOP, ENOSPC, false},
                                           Fault{DH_ON_FULL_STOP, EIO, true}, Fault{DH_ON_FULL_RETRY, ENOSPC, true},
                                           Fault{DH_ON_FULL_RETRY, EIO, true}, Fault{DH_ON_FULL_ROTATE, ENOSPC, true},
                                           Fault{DH_ON_FULL_ROTATE, EIO, true}),
                         name_of);

class FullDisk : public FileSinkTest {
 protected:
  uint64_t in_files(uint32_t segments) {
    uint64_t messages = 0;
    for (uint32_t i = 0; i < segments; ++i) {
      if (!std::filesystem::exists(segment_path(i))) continue;
      messages += walk_segment(static_cast<int>(i)).seqs.size();
    }
    return messages;
  }
};

TEST_F(FullDisk, Retry_WaitsInTheSpool_AndGoesOnWhenThereIsRoom) {
  Board board(256 << 10);
  FileSink sink;
  SmallDisk disk;
  disk.capacity = 200 << 10;
  options_.calls = disk.calls();
  options_.on_full = DH_ON_FULL_RETRY;
  ASSERT_EQ(open(board, sink), DH_OK);
  int emitted = 0;
  for (int i = 0; i < 1000 && board.emit(0, 1000); ++i) {
    ++emitted;
    const SinkStep step = board.step(sink);
    if (step.wake_ns != ~uint64_t{0}) board.now_ns = std::max(board.now_ns, step.wake_ns);
  }
  EXPECT_LT(emitted, 1000) << "the spool fills up, so that the pool does, and the policy decides";
  EXPECT_GT(emitted, 200);
  ASSERT_EQ(sink.state(), SinkState::open);
  EXPECT_EQ(walk_segment().seqs, range(1, board.last_shipped_seq));
  uint64_t least = ~uint64_t{0}, most = 0;
  for (int i = 0; i < 10; ++i) {
    const uint64_t wait = board.step(sink).wake_ns - board.now_ns;
    least = std::min(least, wait);
    most = std::max(most, wait);
    board.now_ns += wait;
  }
  EXPECT_GE(least, 100 * kMs);
  EXPECT_LE(most, 3200 * kMs);
  EXPECT_EQ(board.log.find("trying again"), board.log.rfind("trying again")) << "said once:\n" << board.log;
  disk.capacity = ~uint64_t{0};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(board.emit(0, 1000) || board.step(sink).wake_ns > board.now_ns);
    board.now_ns += 3200 * kMs;
    board.step(sink);
  }
  EXPECT_NE(board.log.find("room on the disk again"), std::string::npos);
  finish(board, sink);
  const Walked walked = walk_segment();
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.seqs, range(1, board.state.next_stream_seq() - 1));
}

TEST_F(FullDisk, Retry_AtTheEnd_SealsWhatIsThere) {
  Board board(256 << 10);
  FileSink sink;
  SmallDisk disk;
  disk.capacity = 200 << 10;
  options_.calls = disk.calls();
  options_.on_full = DH_ON_FULL_RETRY;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (int i = 0; i < 150; ++i) {
    board.emit(0, 1000);
    board.step(sink);
  }
  sink.finish();
  board.step(sink);
  EXPECT_EQ(sink.state(), SinkState::failed);
  const Walked walked = walk_segment();
  EXPECT_TRUE(walked.sealed) << board.log;
  EXPECT_EQ(walked.seqs, range(1, board.last_shipped_seq));
  EXPECT_GT(board.last_shipped_seq, 50u);
}

TEST_F(FullDisk, Rotate_RemovesItsOldestSegment_AndOnlyThat) {
  std::ofstream(folder_ + "/run-9999.mcap") << "of somebody else";
  Board board;
  FileSink sink;
  SmallDisk disk;
  disk.capacity = 600 << 10;
  options_.calls = disk.calls();
  options_.on_full = DH_ON_FULL_ROTATE;
  options_.segment_bytes = 150 << 10;
  ASSERT_EQ(open(board, sink), DH_OK);
  for (int i = 0; i < 2000; ++i) {
    board.frame = static_cast<uint64_t>(i);
    ASSERT_TRUE(board.emit(0, 1000));
    if (i % 10 == 0) sink.flush();
    board.step(sink);
    ASSERT_EQ(sink.state(), SinkState::open) << board.log;
    ASSERT_LE(disk.used, disk.capacity);
  }
  finish(board, sink);
  EXPECT_EQ(board.shipped[0], 2000u);
  EXPECT_EQ(in_files(sink.segment()), 2000u - board.removed[0]);
  EXPECT_GT(board.removed[0], 1000u);
  EXPECT_EQ(read_file(folder_ + "/run-9999.mcap"), "of somebody else");
  EXPECT_NE(board.notes.find("run.mcap"), std::string::npos) << board.notes;
  EXPECT_NE(board.notes.find("the disk is full"), std::string::npos);
}

TEST_F(FullDisk, Rotate_WithNothingOfItsOwn_Retries) {
  Board board(256 << 10);
  FileSink sink;
  SmallDisk disk;
  disk.capacity = 100 << 10;
  options_.calls = disk.calls();
  options_.on_full = DH_ON_FULL_ROTATE;
  ASSERT_EQ(open(board, sink), DH_OK);
  while (board.emit(0, 1000)) board.step(sink);
  EXPECT_EQ(sink.state(), SinkState::open);
  EXPECT_NE(board.log.find("trying again"), std::string::npos) << board.log;
}

// Full at random places, with writes of random sizes and interruptions, and room that comes back.
TEST_F(FullDisk, AtRandomPlaces_TheBooksAreRight) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    std::minstd_rand random(seed);
    const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random()) % n; };
    const dh_on_full modes[] = {DH_ON_FULL_STOP, DH_ON_FULL_RETRY, DH_ON_FULL_ROTATE};
    Board board(128 << 10, 16);
    FileSink sink;
    SmallDisk disk;
    disk.random.seed(seed);
    disk.random_sizes = true;
    disk.interrupt_every = 2 + below(7);
    disk.capacity = (100 << 10) + below(400 << 10);
    options_ = FileSinkOptions();
    options_.overwrite = true;
    options_.calls = disk.calls();
    options_.on_full = modes[below(3)];
    options_.segment_bytes = below(2) == 0 ? 0 : (90 << 10) + below(100 << 10);
    options_.segment_ns = below(2) == 0 ? 0 : 50 * kMs;
    ASSERT_EQ(open(board, sink), DH_OK);
    for (uint32_t i = 0; i < 400; ++i) {
      board.frame = i;
      if (below(10) == 0) board.describe(below(16));
      board.emit(below(16), below(3000), below(5) == 0);
      if (below(20) == 0) disk.capacity = below(2) == 0 ? ~uint64_t{0} : disk.used + below(100000);
      if (below(7) == 0) sink.flush();
      board.step(sink);
      board.now_ns += below(10 * static_cast<uint32_t>(kMs));
    }
    sink.finish();
    board.step(sink);
    ASSERT_NE(sink.state(), SinkState::open) << "seed " << seed;
    uint64_t tensors = 0, shipped = 0, removed = 0;
    for (const auto& [id, count] : board.shipped) shipped += count;
    for (const auto& [id, count] : board.removed) removed += count;
    for (uint32_t i = 0; i <= sink.segment(); ++i) {
      if (!std::filesystem::exists(segment_path(i))) continue;
      const std::string bytes = read_file(segment_path(i));
      const Walked walked = walk(bytes);
      ASSERT_EQ(walked.wrong, "") << "seed " << seed << ", segment " << i << "\n" << board.log;
      ASSERT_EQ(walked.whole_bytes, bytes.size()) << "seed " << seed << ", segment " << i;
      for (const uint64_t seq : walked.seqs) tensors += board.part_seqs.count(seq);
      unlink(segment_path(i).c_str());
    }
    ASSERT_EQ(tensors, shipped - removed) << "seed " << seed << "\n" << board.log;
  }
}

// A real one: a file system in memory of 1 MiB.
TEST_F(FullDisk, ARealOne_StopsSealed_AndRotates) {
  const std::string mounted = folder_ + "/disk";
  std::filesystem::create_directory(mounted);
  if (mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "this user may not mount a tmpfs: " << strerror(errno);
  }
  for (const dh_on_full mode : {DH_ON_FULL_STOP, DH_ON_FULL_ROTATE}) {
    Board board(512 << 10);
    FileSink sink;
    path_ = mounted + "/run.mcap";
    options_ = FileSinkOptions();
    options_.on_full = mode;
    options_.overwrite = true;
    options_.segment_bytes = mode == DH_ON_FULL_ROTATE ? 200 << 10 : 0;
    ASSERT_EQ(open(board, sink), DH_OK);
    for (int i = 0; i < 3000 && sink.state() == SinkState::open; ++i) {
      ASSERT_TRUE(board.emit(0, 1000));
      board.step(sink);
    }
    EXPECT_EQ(sink.state(), mode == DH_ON_FULL_STOP ? SinkState::failed : SinkState::open) << board.log;
    sink.finish();
    board.step(sink);
    uint64_t messages = 0;
    for (uint32_t i = 0; i <= sink.segment(); ++i) {
      const std::string path = mounted + std::filesystem::path(segment_path(i)).filename().string().insert(0, "/");
      if (!std::filesystem::exists(path)) continue;
      const Walked walked = walk(read_file(path));
      EXPECT_EQ(walked.wrong, "");
      EXPECT_TRUE(walked.sealed) << board.log;
      messages += walked.seqs.size();
      unlink(path.c_str());
    }
    EXPECT_EQ(messages, board.shipped[0] - board.removed[0]);
    EXPECT_GT(messages, 300u);
  }
  EXPECT_EQ(umount(mounted.c_str()), 0);
}

}  // namespace
}  // namespace dumphook
