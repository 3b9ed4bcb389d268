// SPDX-License-Identifier: Apache-2.0
// RecordSplitter: cuts bytes that come in pieces into MCAP records. Memory follows what arrived, never what a length
// says.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "wire/mcap.h"

namespace dumphook {

class RecordSplitter {
 public:
  enum class Step : uint8_t {
    record,  // opcode(), whole(), content()
    magic,   // whole() is the magic
    more,    // the next record is not complete yet
    broken,  // a record longer than the limit: nothing after it can be read
  };

  // Room for at least `bytes`, to be filled from a socket; then say how many came.
  Bytes room(size_t bytes);
  void filled(size_t bytes) { end_ += bytes; }
  void add(ConstBytes bytes);

  // Spans are valid until the next call of room() or add().
  Step next();
  uint8_t opcode() const { return whole_[0]; }
  bool is(McapOp op) const { return opcode() == static_cast<uint8_t>(op); }
  ConstBytes whole() const { return whole_; }
  ConstBytes content() const { return whole_.from(kRecordPrefixBytes); }
  // Bytes from the very first to the end of whole().
  uint64_t position() const { return position_; }
  bool empty() const { return begin_ == end_; }

 private:
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0, end_ = 0;
  ConstBytes whole_;
  uint64_t position_ = 0;
};

}  // namespace dumphook
