// SPDX-License-Identifier: Apache-2.0
// CaptureWriter: records in, a sealed MCAP stream out: chunks with CRC, message indexes, summary, footer. Whoever
// stores a capture on the PC writes it with this.
//
//     CaptureWriter writer(write);
//     writer.add_header(...), add_metadata(...);        // whole records, opcode and length included
//     writer.add_schema(...), add_channel(...), add_message(...);
//     writer.seal();
//
// Memory: one chunk, and 100 bytes or so for each chunk and channel. After an error it is of no more use.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "source/problem.h"
#include "wire/mcap.h"

namespace dumphook {

class CaptureWriter {
 public:
  // Takes all bytes, or says why not.
  using Write = std::function<Expected<bool>(ConstBytes)>;
  explicit CaptureWriter(Write write, size_t chunk_bytes = size_t{1} << 20);

  // Magic and Header come first. Before a schema's, or a channel's, first use; one that is there already must not come
  // again.
  Expected<bool> add_header(ConstBytes record);
  Expected<bool> add_metadata(ConstBytes record, const std::string& name);
  Expected<bool> add_schema(ConstBytes record);
  Expected<bool> add_channel(ConstBytes record);
  Expected<bool> add_message(ConstBytes record);
  Expected<bool> seal();

  uint64_t bytes() const { return position_; }  // an unfinished chunk is not among them
  uint64_t messages() const { return messages_; }

 private:
  struct Place {
    uint64_t offset, bytes;
    std::string name;
  };

  Expected<bool> put(ConstBytes bytes);
  Expected<bool> end_chunk();

  Write write_;
  size_t chunk_limit_;
  uint64_t position_ = 0;
  std::vector<uint8_t> chunk_;
  std::map<uint16_t, std::vector<MessageIndexEntry>> open_index_;
  uint64_t chunk_start_ = 0, chunk_end_ = 0;
  std::vector<uint8_t> schemas_, channels_, chunk_indexes_;
  uint16_t schema_count_ = 0;
  uint32_t channel_count_ = 0, chunk_count_ = 0;
  std::vector<Place> metadata_;
  std::map<uint16_t, uint64_t> message_counts_;
  uint64_t messages_ = 0, start_ = 0, end_ = 0;
};

}  // namespace dumphook
