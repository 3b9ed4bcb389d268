// SPDX-License-Identifier: Apache-2.0
// Ways to get a frame's tensors into a file: ours, and what it is measured against.
#pragma once

#include <string>
#include <vector>

#include "corpus.h"

namespace bench {

// Writes `tensors` to `path`: a file, or a folder that exists. False after an error.
struct FileWriter {
  const char* name;
  bool (*write)(const Tensors& tensors, const std::string& path);
};

// Those that this build has, without our own.
const std::vector<FileWriter>& other_writers();

}  // namespace bench
