// SPDX-License-Identifier: Apache-2.0
// Sink: takes records from the spool and puts them where the capture goes. One thread at a time (the worker).
//
// A sink never blocks: step() does what can be done now and says when and for what to call it again. The session owns
// the spool: it frees and counts the entries before shipped_end().
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "encode/stream_state.h"
#include "sink/segment_ledger.h"
#include "spool/spool.h"
#include "wire/control.h"

namespace dumphook {

enum class SinkState : uint8_t {
  starting,  // the first attempt is under way: keep what is encoded
  absent,    // nobody there; step() goes on trying
  open,      // takes records
  failed,    // for good
  finished,  // sealed or closed after finish()
};

// When to call step() again: at once (progressed), when fd is ready for poll_events, or at wake_ns at the latest.
struct SinkStep {
  bool progressed = false;
  int fd = -1;
  short poll_events = 0;
  uint64_t wake_ns = ~uint64_t{0};
};

// Where sinks say what happened. May be called from the worker only.
struct SinkLog {
  void (*write)(void* user, dh_log_level level, const char* text) = nullptr;
  void* user = nullptr;
};

// The books of what was shipped, kept by the session. A file sink that removes a segment gives back what it held.
// Called from the worker only, within step().
struct SinkBooks {
  void (*take_back)(void* user, const SegmentShare& share) = nullptr;
  // The sentence for the stream's own log.
  void (*note)(void* user, const char* text) = nullptr;
  void* user = nullptr;
};

// Everything a sink may use, owned by the session.
struct SinkContext {
  Spool* spool = nullptr;
  StreamState* state = nullptr;
  Clock clock;
  uint64_t log_offset_ns = 0;  // log_time = clock.monotonic_ns() + this
  UuidValue session_uuid;
  SinkLog log;
  SinkBooks books;
  uint64_t window_ns = 200000000;
  uint64_t hello_ns = 500000000;
  uint64_t connect_ns = 5000000000;
};

class Sink {
 public:
  // One non-blocking step at monotonic time now_ns.
  virtual SinkStep step(uint64_t) { return {}; }
  // No more records will come: seal, flush, say goodbye. Keep calling step() until finished or failed.
  virtual void finish() {}
  // Nothing that is still to be written can take back what was written before.
  virtual bool is_settled() const { return true; }
  // Gives up at once: closes descriptors, seals nothing more. Idempotent.
  virtual void abandon() {}

  SinkState state() const { return state_; }
  // Entries before this spool position are shipped: handed to the kernel, or durable at the peer once acknowledged().
  uint64_t shipped_end() const { return shipped_end_; }
  bool acknowledged() const { return acknowledged_; }
  // Every message with a stream_seq up to this is durable at the peer.
  uint64_t durable_seq() const { return durable_seq_; }
  // Asks for what is buffered to be handed to the kernel now rather than at the end of the window.
  virtual void flush() {}

 protected:
  ~Sink() = default;
  SinkState state_ = SinkState::starting;
  uint64_t shipped_end_ = 0;
  uint64_t durable_seq_ = 0;
  bool acknowledged_ = false;
};

}  // namespace dumphook
