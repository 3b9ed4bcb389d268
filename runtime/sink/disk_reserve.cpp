// SPDX-License-Identifier: Apache-2.0
#include "sink/disk_reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace dumphook {

void DiskReserve::open(const char* path, const FileCalls& calls) {
  close();
  calls_ = calls;
  char name[4096];
  const int length = snprintf(name, sizeof name, "%s.reserve", path);
  if (length < 0 || static_cast<size_t>(length) >= sizeof name) return;
  fd_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ >= 0 && unlink(name) != 0) close();
}

void DiskReserve::grow(uint64_t bytes) {
  uint64_t block[512];
  while (fd_ >= 0 && bytes_ < bytes) {
    // Noise, since some file systems keep nothing of what compresses well.
    for (uint64_t& word : block) {
      noise_ ^= noise_ << 13;
      noise_ ^= noise_ >> 7;
      noise_ ^= noise_ << 17;
      word = noise_;
    }
    const iovec run = {block, bytes - bytes_ < sizeof block ? static_cast<size_t>(bytes - bytes_) : sizeof block};
    const int64_t taken = calls_.append(calls_.user, fd_, &run, 1);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return;
    bytes_ += static_cast<uint64_t>(taken);
  }
}

bool DiskReserve::release() {
  if (fd_ < 0 || bytes_ == 0) return false;
  if (calls_.cut(calls_.user, fd_, 0) != 0 || lseek(fd_, 0, SEEK_SET) != 0) close();
  bytes_ = 0;
  return true;
}

void DiskReserve::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  bytes_ = 0;
}

}  // namespace dumphook
