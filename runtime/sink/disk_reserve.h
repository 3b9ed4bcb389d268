// SPDX-License-Identifier: Apache-2.0
// DiskReserve: room on the medium that is held back, so that a file on a full disk can still be given its summary.
//
// It is a file without a name whose bytes are really written: that works on every file system, also where fallocate()
// is refused or promises nothing (FAT, UBIFS, NFS, compressing ones), leaves nothing behind after a crash, and the room
// is back the moment the file is cut.
#pragma once

#include "sink/file_writer.h"

namespace dumphook {

class DiskReserve {
 public:
  // In the folder of the file `path`. Where that fails there is no reserve, which is no error.
  void open(const char* path, const FileCalls& calls);
  // Holds at least `bytes`, or as much as there is room for.
  void grow(uint64_t bytes);
  // Gives all room back to the disk. False when there was none.
  bool release();
  void close();

 private:
  FileCalls calls_ = {};
  int fd_ = -1;
  uint64_t bytes_ = 0;
  uint64_t noise_ = 0x9E3779B97F4A7C15u;
};

}  // namespace dumphook
