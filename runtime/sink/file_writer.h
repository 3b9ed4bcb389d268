// SPDX-License-Identifier: Apache-2.0
// FileWriter: appends to a new file in large writes, and knows at every moment how many bytes the kernel took.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace dumphook {

// The system calls, so that tests can make them fail. Each behaves as its namesake: -1 and errno.
struct FileCalls {
  void* user = nullptr;
  int64_t (*append)(void* user, int fd, const iovec* runs, int count);                    // writev
  int64_t (*patch)(void* user, int fd, const void* data, size_t bytes, uint64_t offset);  // pwrite
  int (*cut)(void* user, int fd, uint64_t bytes);                                         // ftruncate
  int (*sync)(void* user, int fd);                                                        // fdatasync
  int (*remove)(void* user, const char* path);                                            // unlink

  static FileCalls system();
};

class FileWriter {
 public:
  // 0, or an errno: EEXIST when there is such a file and `overwrite` is not set.
  int open(const char* path, bool overwrite, const FileCalls& calls);
  bool is_open() const { return fd_ >= 0; }

  // Appends bytes that stay valid until flush(), or a copy of them. Errors are kept: see ok().
  void refer(ConstBytes bytes);
  void copy(ConstBytes bytes);
  // Hands everything to the kernel. May block, as files do.
  bool flush();

  bool ok() const { return error_ == 0; }
  int error() const { return error_; }
  // Where the next byte goes; and how far the kernel took them.
  uint64_t position() const { return position_; }
  uint64_t written() const { return written_; }

  // CRC of what is appended from begin_crc() on.
  void begin_crc();
  uint32_t crc() const { return crc_; }

  // Repairs after an error: overwrite bytes before written(), and cut the file to `bytes`, after which it is ok()
  // again. False when that fails too.
  bool patch(uint64_t offset, ConstBytes bytes);
  bool cut(uint64_t bytes);
  // To the medium. 0, or an errno.
  int sync();
  // The folder entry of a new file to the medium.
  static void sync_folder_of(const char* path);
  void close();

 private:
  void push(const uint8_t* data, size_t bytes);

  static constexpr int kRuns = 64;
  static constexpr size_t kCopyBytes = 8192;
  FileCalls calls_ = {};
  int fd_ = -1;
  int error_ = 0;
  int run_count_ = 0;
  size_t copied_ = 0;
  uint64_t position_ = 0;
  uint64_t written_ = 0;
  uint32_t crc_ = 0;
  bool with_crc_ = false;
  iovec runs_[kRuns];
  uint8_t buffer_[kCopyBytes];
};

}  // namespace dumphook
