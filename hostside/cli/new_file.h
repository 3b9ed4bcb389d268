// SPDX-License-Identifier: Apache-2.0
// NewFile: a file that appears whole or not at all. Written under a temporary name beside the final one, then renamed.
#pragma once

#include <cstdio>
#include <string>

#include "base/bytes.h"
#include "source/problem.h"

namespace dumphook {

class NewFile {
 public:
  // Folders on the way must exist. The temporary name is `path` with ".part" and a number.
  static Expected<NewFile> create(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() { abandon(); }

  std::FILE* stream() { return file_; }
  const std::string& temporary_path() const { return temporary_; }
  Expected<bool> write(ConstBytes bytes);
  // Renames. Without `replace`, a file that is there by now stays, and that is an error.
  Expected<bool> commit(bool replace);
  // Removes it. After commit: does nothing.
  void abandon();

 private:
  NewFile(std::string path, std::string temporary, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

  std::string path_, temporary_;
  std::FILE* file_;
};

// While it lives, Ctrl-C and SIGTERM only set a flag. end_as_asked() then ends the program by that signal, as its
// caller expects, after everything was tidied up.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool asked();
  static void end_as_asked();
};

}  // namespace dumphook
