// SPDX-License-Identifier: Apache-2.0
// Emitter: gives a message its stream_seq and times and puts it into the spool. The one place where the order of
// emission is made.
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
  void open(Spool* spool, StreamState* state, const Clock& clock) {
    spool_ = spool;
    state_ = state;
    clock_ = clock;
    wall_at_open_ = clock.wall_ns();
    monotonic_at_open_ = clock.monotonic_ns();
  }

  // The clock of log_time: wall clock at open, monotonic from there on.
  uint64_t session_ns() const { return session_ns(clock_.monotonic_ns()); }
  uint64_t session_ns(uint64_t monotonic_ns) const { return wall_at_open_ + (monotonic_ns - monotonic_at_open_); }

  // Emits what write(Bytes out, uint64_t stream_seq) makes of at most max_bytes. False when the spool has no room now.
  // A message for which write gives 0 is left out without taking a number; *written, if given, says so.
  template <class Write>
  bool emit(const SpoolEntry& prototype, size_t max_bytes, uint64_t publish_ns, const Write& write,
            size_t* written = nullptr) {
    const Bytes room = spool_->reserve(kMessageHeaderBytes + max_bytes);
    if (room.data == nullptr) return false;
    const uint64_t stream_seq = state_->next_stream_seq();
    const size_t bytes = write(room.from(kMessageHeaderBytes), stream_seq);
    if (written != nullptr) *written = bytes;
    if (bytes == 0) return true;
    uint64_t now = session_ns();
    if (now < last_log_time_) now = last_log_time_;
    last_log_time_ = now;
    SpoolEntry entry = prototype;
    entry.stream_seq = state_->take_stream_seq();
    entry.log_time = now;
    entry.record_bytes = static_cast<uint32_t>(kMessageHeaderBytes + bytes);
    write_message_header(room.data, bytes, entry.channel_id, static_cast<uint32_t>(stream_seq), now,
                         publish_ns == 0 ? now : publish_ns);
    spool_->commit(entry);
    return true;
  }

  template <class Write>
  bool emit(const ControlChannel& channel, size_t max_bytes, const Write& write, size_t* written = nullptr) {
    SpoolEntry entry;
    entry.channel_id = channel.channel;
    entry.frame_end = channel.channel == kFrameEndChannel.channel;
    return emit(entry, max_bytes, 0, write, written);
  }

 private:
  Spool* spool_ = nullptr;
  StreamState* state_ = nullptr;
  Clock clock_;
  uint64_t wall_at_open_ = 0;
  uint64_t monotonic_at_open_ = 0;
  uint64_t last_log_time_ = 0;
};

// The outcome of one bounded piece of work.
enum class Step : uint8_t { idle, progressed, blocked };

}  // namespace dumphook
