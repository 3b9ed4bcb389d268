// SPDX-License-Identifier: Apache-2.0
// Examination: everything that can be checked of a capture's files, and what is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "source/problem.h"

namespace dumphook {

enum class Harm : uint8_t {
  none,     // worth knowing
  missing,  // cut off, or never written: what is here is good
  damaged,  // what is here is not what was written
};

struct Finding {
  Harm harm = Harm::none;
  Problem problem;
};

struct Examination {
  static constexpr size_t kMaxKept = 1000;

  std::vector<std::string> files;
  std::vector<Finding> findings;  // by file and offset
  size_t not_kept = 0;            // beyond kMaxKept, counted only
  Harm worst = Harm::none;
  uint64_t bytes = 0, streams = 0, chunks = 0, messages = 0, tensors = 0;

  void add(Harm harm, uint32_t file, uint64_t offset, std::string what, std::string todo = "");
};

// The files may be segments of one session, in any order; each is also examined by itself. An error when a file cannot
// be read.
Expected<Examination> examine(const std::vector<std::string>& paths);

}  // namespace dumphook
