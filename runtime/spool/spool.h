// SPDX-License-Identifier: Apache-2.0
// Spool: encoded MCAP records that are not shipped yet, in order of emission, in one fixed ring of bytes.
//
// Used by one thread at a time (the worker, or whoever pumps). A record lies in one piece. Positions only grow:
// position() of an entry stays the same for ever, so a sink keeps plain numbers as cursors and a reconnect is an
// assignment.
//
//   begin() ............. cursor of the sink ............. end()
//   released before       written, not yet acknowledged    encoded, not yet written
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"

namespace dumphook {

enum class EntryKind : uint32_t {
  message = 0,  // an MCAP Message record
  channel = 1,  // an MCAP Channel record, first declared here
};

// What a sink and the accounting need to know of a record without reading it.
struct SpoolEntry {
  uint64_t stream_seq = 0;  // 0 for a channel
  uint64_t log_time = 0;
  uint64_t frame = 0;                // of a part
  uint64_t capture_id = kNoCapture;  // of a part that counts
  uint64_t descriptor_hash = 0;      // of a descriptor
  uint32_t record_bytes = 0;         // set by commit
  EntryKind kind = EntryKind::message;
  uint32_t tensor_id = kNoTensor;
  uint16_t channel_id = 0;
  bool first_part = false;  // with this record its tensor begins
  bool last_part = false;   // with this record its tensor is complete
  bool descriptor = false;  // says what its tensor is; later streams repeat the last one before them
  bool frame_end = false;   // a FrameEnd: a good place to end a chunk
  bool frame_begin = false;
  bool stays = false;  // never gives way while it waits, but goes to the stream
  bool waits = false;  // for a trigger: it has no stream_seq and log_time yet
  static constexpr uint32_t kNoTensor = 0xFFFFFFFFu;
  static constexpr uint64_t kNoCapture = ~uint64_t{0};
};

class Spool {
 public:
  // `memory` must be 8-byte aligned and stay valid. Records up to max_record_bytes(size) can be reserved.
  void open(uint8_t* memory, size_t bytes);
  static size_t max_record_bytes(size_t spool_bytes) { return spool_bytes / 2 - kOverhead; }

  // Room for a record of at most `bytes`, in one piece; empty when there is none now. Valid until the next call of
  // reserve or commit.
  Bytes reserve(size_t bytes);
  // Appends the first entry.record_bytes of what was last reserved.
  void commit(const SpoolEntry& entry);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  bool empty() const { return begin_ == end_; }
  // The entry at `position` (begin() <= position < end()), its bytes, and the position after it.
  const SpoolEntry& entry(uint64_t position) const;
  ConstBytes record(uint64_t position) const;
  uint64_t next(uint64_t position) const;
  // Frees the oldest entry.
  void pop();

  size_t used_bytes() const { return static_cast<size_t>(end_ - begin_); }
  size_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }  // any thread
  size_t capacity() const { return capacity_; }

 private:
  struct Slot;  // entry, then the record, padded to 8 bytes
  static constexpr size_t kOverhead = 128;
  Slot* slot(uint64_t position) const;
  uint64_t skip_gap(uint64_t position) const;

  uint8_t* memory_ = nullptr;
  size_t capacity_ = 0;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t reserved_at_ = 0;
  std::atomic<size_t> peak_{0};
};

}  // namespace dumphook
