// SPDX-License-Identifier: Apache-2.0
#include "sink/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "wire/crc32.h"

namespace dumphook {
namespace {

int64_t system_append(void*, int fd, const iovec* runs, int count) { return writev(fd, runs, count); }

int64_t system_patch(void*, int fd, const void* data, size_t bytes, uint64_t offset) {
  return pwrite(fd, data, bytes, static_cast<off_t>(offset));
}

int system_cut(void*, int fd, uint64_t bytes) { return ftruncate(fd, static_cast<off_t>(bytes)); }

int system_sync(void*, int fd) { return fdatasync(fd); }

int system_remove(void*, const char* path) { return unlink(path); }

}  // namespace

FileCalls FileCalls::system() {
  FileCalls calls;
  calls.append = system_append;
  calls.patch = system_patch;
  calls.cut = system_cut;
  calls.sync = system_sync;
  calls.remove = system_remove;
  return calls;
}

int FileWriter::open(const char* path, bool overwrite, const FileCalls& calls) {
  close();
  calls_ = calls;
  error_ = 0;
  run_count_ = 0;
  copied_ = 0;
  position_ = written_ = 0;
  with_crc_ = false;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (overwrite ? O_TRUNC : O_EXCL);
  do {
    fd_ = ::open(path, flags, 0666);
  } while (fd_ < 0 && errno == EINTR);
  error_ = fd_ < 0 ? errno : 0;
  return error_;
}

void FileWriter::push(const uint8_t* data, size_t bytes) {
  position_ += bytes;
  if (run_count_ > 0) {
    iovec& last = runs_[run_count_ - 1];
    if (static_cast<uint8_t*>(last.iov_base) + last.iov_len == data) {
      last.iov_len += bytes;
      return;
    }
  }
  runs_[run_count_].iov_base = const_cast<uint8_t*>(data);
  runs_[run_count_].iov_len = bytes;
  ++run_count_;
}

void FileWriter::refer(ConstBytes bytes) {
  if (bytes.empty() || !ok()) return;
  if (with_crc_) crc_ = crc32(crc_, bytes.data, bytes.size);
  if (run_count_ == kRuns && !flush()) return;
  push(bytes.data, bytes.size);
}

void FileWriter::copy(ConstBytes bytes) {
  if (!ok()) return;
  if (with_crc_) crc_ = crc32(crc_, bytes.data, bytes.size);
  while (!bytes.empty()) {
    if ((run_count_ == kRuns || copied_ == kCopyBytes) && !flush()) return;
    const size_t room = kCopyBytes - copied_;
    const size_t now = bytes.size < room ? bytes.size : room;
    memcpy(buffer_ + copied_, bytes.data, now);
    push(buffer_ + copied_, now);
    copied_ += now;
    bytes = bytes.from(now);
  }
}

bool FileWriter::flush() {
  int first = 0;
  while (ok() && first < run_count_) {
    const int64_t taken = calls_.append(calls_.user, fd_, runs_ + first, run_count_ - first);
    if (taken < 0) {
      if (errno != EINTR) error_ = errno;
      continue;
    }
    if (taken == 0) {
      error_ = EIO;
      break;
    }
    written_ += static_cast<uint64_t>(taken);
    size_t left = static_cast<size_t>(taken);
    while (left > 0) {
      iovec& run = runs_[first];
      const size_t part = left < run.iov_len ? left : run.iov_len;
      run.iov_base = static_cast<uint8_t*>(run.iov_base) + part;
      run.iov_len -= part;
      left -= part;
      if (run.iov_len == 0) ++first;
    }
  }
  run_count_ = 0;
  copied_ = 0;
  return ok();
}

void FileWriter::begin_crc() {
  with_crc_ = true;
  crc_ = 0;
}

bool FileWriter::patch(uint64_t offset, ConstBytes bytes) {
  while (!bytes.empty()) {
    const int64_t taken = calls_.patch(calls_.user, fd_, bytes.data, bytes.size, offset);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return false;
    bytes = bytes.from(static_cast<size_t>(taken));
    offset += static_cast<uint64_t>(taken);
  }
  return true;
}

bool FileWriter::cut(uint64_t bytes) {
  int outcome;
  do {
    outcome = calls_.cut(calls_.user, fd_, bytes);
  } while (outcome != 0 && errno == EINTR);
  if (outcome != 0 || lseek(fd_, static_cast<off_t>(bytes), SEEK_SET) < 0) return false;
  written_ = position_ = bytes;
  error_ = 0;
  run_count_ = 0;
  copied_ = 0;
  with_crc_ = false;
  return true;
}

int FileWriter::sync() {
  int outcome;
  do {
    outcome = calls_.sync(calls_.user, fd_);
  } while (outcome != 0 && errno == EINTR);
  // Devices and pipes cannot be synchronised, and need not be.
  return outcome == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

void FileWriter::sync_folder_of(const char* path) {
  char folder[4096];
  const char* slash = strrchr(path, '/');
  const size_t bytes = slash == nullptr ? 0 : static_cast<size_t>(slash - path) + 1;
  if (bytes >= sizeof folder) return;
  memcpy(folder, path, bytes);
  folder[bytes] = '\0';
  const int fd = ::open(bytes == 0 ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  ::close(fd);
}

void FileWriter::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace dumphook
