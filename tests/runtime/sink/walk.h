// SPDX-License-Identifier: Apache-2.0
// A strict reader of captures, written apart from the writers: it accepts a cut only at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dumphook {

struct Walked {
  std::string wrong;                                         // the first rule that is broken; empty = none
  std::vector<uint64_t> seqs;                                // new messages, in order
  std::vector<uint64_t> repeats;                             // seqs of messages before first_stream_seq
  std::vector<std::map<std::string, std::string>> metadata;  // of each stream
  size_t streams = 0;
  size_t chunks = 0;
  size_t footers = 0;
  size_t channel_records = 0;   // in data sections
  bool sealed = false;          // ends with a footer and a magic
  uint64_t preamble_bytes = 0;  // of the last stream: before its first chunk or message
  uint64_t data_bytes = 0;      // of the last stream: before its DataEnd
  uint64_t whole_bytes = 0;     // up to the end of the last whole record
};

// `bytes` of one or more streams, the last of which may be cut anywhere.
Walked walk(const std::string& bytes);
std::string read_file(const std::string& path);

}  // namespace dumphook
