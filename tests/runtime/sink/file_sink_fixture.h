// SPDX-License-Identifier: Apache-2.0
// A FileSink in a folder of its own, on a disk that can be full or broken.
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "board.h"
#include "sink/file_sink.h"
#include "walk.h"

namespace dumphook {

constexpr uint64_t kMs = 1000000;

inline std::vector<uint64_t> range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// A disk of `capacity` bytes, on which removing and cutting give room back; and one whose writes fail.
struct SmallDisk {
  uint64_t capacity = ~uint64_t{0};
  uint64_t most_at_once = ~uint64_t{0};
  uint32_t interrupt_every = 0;  // nth call
  int error = ENOSPC;
  int syncs = 0;
  bool patch_works = true;
  uint64_t used = 0;  // on a disk that fails: also what was cut off
  uint32_t calls_made = 0;
  std::mt19937 random{1};
  bool random_sizes = false;

  uint64_t size_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  }

  FileCalls calls() {
    FileCalls calls = FileCalls::system();
    calls.user = this;
    calls.append = [](void* user, int fd, const iovec* runs, int) -> int64_t {
      auto* disk = static_cast<SmallDisk*>(user);
      if (disk->interrupt_every != 0 && ++disk->calls_made % disk->interrupt_every == 0) return errno = EINTR, -1;
      uint64_t room = std::min(disk->capacity - std::min(disk->used, disk->capacity), disk->most_at_once);
      if (room == 0) return errno = disk->error, -1;
      if (disk->random_sizes) room = std::min<uint64_t>(room, 1 + disk->random() % 5000);
      const int64_t taken = write(fd, runs[0].iov_base, std::min<uint64_t>(room, runs[0].iov_len));
      disk->used += static_cast<uint64_t>(taken);
      return taken;
    };
    calls.patch = [](void* user, int fd, const void* data, size_t bytes, uint64_t offset) -> int64_t {
      if (!static_cast<SmallDisk*>(user)->patch_works) return errno = EIO, -1;
      return pwrite(fd, data, bytes, static_cast<off_t>(offset));
    };
    calls.cut = [](void* user, int fd, uint64_t bytes) {
      auto* disk = static_cast<SmallDisk*>(user);
      if (disk->error == ENOSPC) disk->used -= disk->size_of(fd) - bytes;
      return ftruncate(fd, static_cast<off_t>(bytes));
    };
    calls.sync = [](void* user, int) { return ++static_cast<SmallDisk*>(user)->syncs, 0; };
    calls.remove = [](void* user, const char* path) {
      struct stat status;
      if (stat(path, &status) == 0) static_cast<SmallDisk*>(user)->used -= static_cast<uint64_t>(status.st_size);
      return unlink(path);
    };
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
    const size_t ledger_bytes = SegmentLedger::memory_bytes(board.max_tensors());
    ledger_memory_.assign(ledger_bytes / 64 + 1, {});
    options_.ledger_memory = options_.quota_bytes == 0 && options_.on_full != DH_ON_FULL_ROTATE
                                 ? Bytes()
                                 : Bytes(reinterpret_cast<uint8_t*>(ledger_memory_.data()), ledger_bytes);
    return sink.open(board.context, options_);
  }

  void finish(Board& board, FileSink& sink) {
    sink.finish();
    board.step(sink);
    EXPECT_EQ(sink.state(), SinkState::finished) << board.log;
  }

  std::string segment_path(uint32_t number) const {
    char suffix[24];
    snprintf(suffix, sizeof suffix, "-%04u.mcap", number);
    return number == 0 ? path_ : folder_ + "/run" + suffix;
  }

  Walked walk_segment(int number = 0) {
    const std::string name = segment_path(static_cast<uint32_t>(number));
    Walked walked = walk(read_file(name));
    EXPECT_EQ(walked.wrong, "") << name;
    return walked;
  }

  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::string folder_, path_;
  FileSinkOptions options_;
  std::vector<Line> index_memory_, ledger_memory_;
};

}  // namespace dumphook
