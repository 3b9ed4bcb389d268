// SPDX-License-Identifier: Apache-2.0
// FileSource: a file, or a pipe, as bytes that can be read at any offset. Reads with pread, never by mapping, so that a
// file that somebody cuts short while we read it is an error and not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "source/problem.h"

namespace dumphook {

class FileSource {
 public:
  // A regular file, a pipe, or "-" for standard input. What comes out of a pipe is kept in a temporary file without a
  // name ($TMPDIR); nothing is read from it before refresh() or drain().
  static Expected<std::shared_ptr<FileSource>> open(const std::string& path);
  ~FileSource();
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // bytes that can be read now

  // Looks for more bytes: true when size() grew. Waits up to timeout_ms for a pipe (-1: for ever), not for a file.
  Expected<bool> refresh(int timeout_ms);
  // A pipe: takes all there is until the writer closes it. A file: as refresh(0).
  Expected<bool> drain();
  // A pipe that its writer has not closed.
  bool is_open_pipe() const { return pipe_ >= 0; }

  // 0, an errno, or ENODATA when the file is shorter. Any thread.
  [[nodiscard]] int read(uint64_t offset, void* to, size_t bytes) const;

 private:
  FileSource(std::string path, int file, int pipe) : path_(std::move(path)), file_(file), pipe_(pipe) {}

  std::string path_;
  int file_;
  int pipe_;
  uint64_t size_ = 0;
};

}  // namespace dumphook
