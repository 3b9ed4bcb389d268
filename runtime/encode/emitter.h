// SPDX-License-Identifier: Apache-2.0
// Emitter: gives a message its stream_seq and times and puts it into the spool. The one place where the order of
// emission is made. Messages that wait for a trigger go to a ring first, and get both when they leave it.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "encode/stream_state.h"
#include "spool/spool.h"
#include "wire/format.h"
#include "wire/mcap.h"

namespace dumphook {

class Emitter {
 public:
  void open(Spool* spool, Spool* ring, StreamState* state, const Clock& clock);

  // The clock of log_time: wall clock at open, monotonic from there on.
  uint64_t session_ns() const { return session_ns(clock_.monotonic_ns()); }
  uint64_t session_ns(uint64_t monotonic_ns) const { return wall_at_open_ + (monotonic_ns - monotonic_at_open_); }

  // Emits what write(Bytes out, uint64_t stream_seq) makes of at most max_bytes. False when the spool (or the ring, for
  // one that waits) has no room now. A message for which write gives 0 is left out without taking a number; *written,
  // if given, says so.
  template <class Write>
  bool emit(const SpoolEntry& prototype, size_t max_bytes, uint64_t publish_ns, const Write& write,
            size_t* written = nullptr) {
    const Bytes room = (prototype.waits ? ring_ : spool_)->reserve(kMessageHeaderBytes + max_bytes);
    if (room.data == nullptr) return false;
    const size_t bytes = write(room.from(kMessageHeaderBytes), state_->next_stream_seq());
    if (written != nullptr) *written = bytes;
    if (bytes != 0) commit(prototype, room.first(kMessageHeaderBytes + bytes), publish_ns);
    return true;
  }

  template <class Write>
  bool emit(const ControlChannel& channel, size_t max_bytes, const Write& write, size_t* written = nullptr) {
    SpoolEntry entry;
    entry.channel_id = channel.channel;
    return emit(entry, max_bytes, 0, write, written);
  }

  // The ring's oldest message goes to the spool. False when that has no room now.
  bool release_oldest();

 private:
  void commit(const SpoolEntry& prototype, Bytes record, uint64_t publish_ns);
  uint64_t next_log_time();

  Spool* spool_ = nullptr;
  Spool* ring_ = nullptr;
  StreamState* state_ = nullptr;
  Clock clock_;
  uint64_t wall_at_open_ = 0;
  uint64_t monotonic_at_open_ = 0;
  uint64_t last_log_time_ = 0;
};

// The outcome of one bounded piece of work.
enum class Step : uint8_t { idle, progressed, blocked };

// Gives an encoded message another stream_seq. False when it has none.
bool set_stream_seq(Bytes message, uint64_t stream_seq);

}  // namespace dumphook
