// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz: a zip of .npy files. The plain zip format without its 64-bit extension: 65534 entries, 4 GiB.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "decode/tensor.h"
#include "source/problem.h"

namespace dumphook {

class NpzWriter {
 public:
  // Writes to `file`, which stays the caller's and must be seekable. `deflate`: compress with zlib, else store.
  NpzWriter(std::FILE* file, bool deflate) : file_(file), deflate_(deflate) {}

  // `name` without ".npy". The contents of the .npy file in two pieces. An error leaves the archive unusable.
  Expected<bool> add(const std::string& name, ConstBytes header, ConstBytes data);
  // Writes the directory.
  Expected<bool> close();

 private:
  struct Entry {
    std::string name;
    uint32_t crc, stored_bytes, bytes, offset;
    uint16_t method;
  };

  Expected<bool> put(const void* data, size_t bytes);
  Expected<uint64_t> put_deflated(ConstBytes header, ConstBytes data);

  std::FILE* file_;
  bool deflate_;
  uint64_t offset_ = 0;
  std::vector<Entry> entries_;
};

// All arrays of a .npz; names are those of its entries, without ".npy", unescaped (see stem.h).
Expected<std::vector<Tensor>> read_npz(const std::string& path);

}  // namespace dumphook
