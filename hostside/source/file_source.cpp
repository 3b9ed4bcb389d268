// SPDX-License-Identifier: Apache-2.0
#include "source/file_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace dumphook {
namespace {

Error system_error(const std::string& what, int number) { return Error{what + ": " + strerror(number), ""}; }

// An unnamed file that goes away with its descriptor; -1 and errno.
int open_temporary() {
  const char* folder = getenv("TMPDIR");
  std::string name = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/dumphook.XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) unlink(name.c_str());
  return file;
}

}  // namespace

Expected<std::shared_ptr<FileSource>> FileSource::open(const std::string& path) {
  const bool standard_input = path == "-";
  const int file = standard_input ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    Error error = system_error("cannot open " + path, errno);
    if (errno == ENOENT) error.todo = "check the path";
    return error;
  }
  struct stat status {};
  if (fstat(file, &status) != 0) {
    const int number = errno;
    close(file);
    return system_error("cannot read " + path, number);
  }
  if (S_ISDIR(status.st_mode)) {
    close(file);
    return Error{path + " is a folder", "name the files in it"};
  }
  const std::string name = standard_input ? "standard input" : path;
  if (S_ISREG(status.st_mode)) {
    std::shared_ptr<FileSource> source(new FileSource(name, file, -1));
    source->size_ = static_cast<uint64_t>(status.st_size);
    return source;
  }
  const int spill = open_temporary();
  if (spill < 0) {
    const int number = errno;
    close(file);
    return system_error("cannot make a temporary file for " + name, number);
  }
  return std::shared_ptr<FileSource>(new FileSource(name, spill, file));
}

FileSource::~FileSource() {
  if (file_ >= 0) close(file_);
  if (pipe_ >= 0) close(pipe_);
}

Expected<bool> FileSource::refresh(int timeout_ms) {
  if (pipe_ < 0) {
    struct stat status {};
    if (fstat(file_, &status) != 0) return system_error("cannot read " + path_, errno);
    if (!S_ISREG(status.st_mode)) return false;
    const uint64_t size = static_cast<uint64_t>(status.st_size);
    const bool grew = size > size_;
    if (grew) size_ = size;
    return grew;
  }
  struct pollfd waiting = {pipe_, POLLIN, 0};
  const int ready = poll(&waiting, 1, timeout_ms);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return false;
  if (ready < 0) return system_error("cannot wait for " + path_, errno);
  std::vector<char> buffer(size_t{1} << 18);
  const ssize_t got = ::read(pipe_, buffer.data(), buffer.size());
  if (got < 0) {
    if (errno == EINTR || errno == EAGAIN) return false;
    return system_error("cannot read " + path_, errno);
  }
  if (got == 0) {
    close(pipe_);
    pipe_ = -1;
    return false;
  }
  for (ssize_t done = 0; done < got;) {
    const ssize_t written =
        pwrite(file_, buffer.data() + done, static_cast<size_t>(got - done), static_cast<off_t>(size_) + done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_error("cannot keep what came from " + path_ + " in a temporary file", errno);
    done += written;
  }
  size_ += static_cast<uint64_t>(got);
  return true;
}

Expected<bool> FileSource::drain() {
  if (pipe_ < 0) return refresh(0);
  bool grew = false;
  while (pipe_ >= 0) {
    Expected<bool> more = refresh(-1);
    if (!more) return more;
    grew = grew || *more;
  }
  return grew;
}

int FileSource::read(uint64_t offset, void* to, size_t bytes) const {
  if (bytes > size_ || offset > size_ - bytes) return ENODATA;
  char* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file_, out, bytes, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (got == 0) return ENODATA;
    out += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return 0;
}

}  // namespace dumphook
