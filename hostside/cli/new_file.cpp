// SPDX-License-Identifier: Apache-2.0
#include "cli/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace dumphook {
namespace {

volatile std::sig_atomic_t asked_signal = 0;

Error write_error(const std::string& path, int number) {
  Error error{"cannot write " + path + ": " + strerror(number), ""};
  if (number == ENOSPC) error.todo = "the disk is full";
  return error;
}

}  // namespace

Expected<NewFile> NewFile::create(const std::string& path) {
  const std::string temporary = path + ".part" + std::to_string(getpid());
  const int file = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) return write_error(path, errno);
  std::FILE* stream = fdopen(file, "w+b");
  if (stream == nullptr) {
    const int number = errno;
    close(file);
    unlink(temporary.c_str());
    return write_error(path, number);
  }
  return NewFile(path, temporary, stream);
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      file_(std::exchange(other.file_, nullptr)) {}

Expected<bool> NewFile::write(ConstBytes bytes) {
  if (bytes.size > 0 && std::fwrite(bytes.data, 1, bytes.size, file_) != bytes.size) return write_error(path_, errno);
  return true;
}

Expected<bool> NewFile::commit(bool replace) {
  const bool flushed = std::fflush(file_) == 0;
  const int flush_error = errno;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  int number = !flushed ? flush_error : !closed ? errno : 0;
  if (number == 0) {
    if (replace) {
      if (rename(temporary_.c_str(), path_.c_str()) == 0) return true;
      number = errno;
    } else {
      // link() refuses to replace; where the file system has no links, look first.
      if (link(temporary_.c_str(), path_.c_str()) == 0) {
        unlink(temporary_.c_str());
        return true;
      }
      number = errno;
      if (number != EEXIST && access(path_.c_str(), F_OK) != 0 && rename(temporary_.c_str(), path_.c_str()) == 0)
        return true;
    }
  }
  unlink(temporary_.c_str());
  if (number == EEXIST) return Error{path_ + " exists", "--force replaces it"};
  return write_error(path_, number);
}

void NewFile::abandon() {
  if (file_ == nullptr) return;
  std::fclose(std::exchange(file_, nullptr));
  unlink(temporary_.c_str());
}

InterruptGuard::InterruptGuard() {
  struct sigaction action {};
  action.sa_handler = [](int number) { asked_signal = number; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second Ctrl-C ends at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::asked() { return asked_signal != 0; }

void InterruptGuard::end_as_asked() {
  const int number = asked_signal;
  if (number == 0) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace dumphook
