// SPDX-License-Identifier: Apache-2.0
// Reporter: everything a capture says that is not tensor bytes: frame ends, losses, counters, the model graph, changes
// of configuration, clock, log. Used by the worker only; add_notice() by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "encode/encoder.h"

namespace dumphook {

// Session totals, for dh_counters and the Counters message: seen = shipped + in_flight + sum of lost.
struct Totals {
  uint64_t seen = 0;
  uint64_t shipped = 0;
  uint64_t in_flight = 0;
  uint64_t lost[DH_LOSS_REASON_COUNT] = {};
};

// Adds up all tensors. Exact at any moment: losses and shipments are read before what was seen.
Totals read_totals(TensorTable& tensors);

// Something an app thread wants said, in memory that stays valid. Handed over whole.
struct Notice {
  enum class Kind : uint32_t { graph, config_change, attribute };
  Notice* next = nullptr;
  Kind kind = Kind::graph;
  const char* key = nullptr;    // attribute
  const char* value = nullptr;  // attribute, config_change
  uint64_t frame = 0;           // config_change, attribute: the first one it holds for
  uint8_t* message = nullptr;   // graph: an encoded ModelGraph, its stream_seq still to be set
  size_t message_bytes = 0;
  size_t room = 0;  // config_change: bytes behind this for its text
};

class Reporter {
 public:
  void open(TensorTable* tensors, FrameTable* frames, Pool* pool, Spool* spool, StreamState* state, Emitter* emitter,
            Encoder* encoder, TriggerGate* gate, const Clock& clock);

  // Any thread.
  void add_notice(Notice* notice);
  bool has_notices() const { return notices_.load(std::memory_order_acquire) != nullptr; }
  // Changes of configuration that have been said: their memory is the caller's again. A list by `next`.
  Notice* take_spent() { return spent_.exchange(nullptr, std::memory_order_acquire); }
  void count_frame_begun() { frames_begun_.fetch_add(1, std::memory_order_relaxed); }

  // At most one message. Frames that are over come first, then notices, then what is due by time.
  Step step(uint64_t now_ns);
  // Nobody will read them: retires frames that are over without saying so.
  void discard_frames();
  // What was said so far never left the spool: losses, counters and clock are said once more.
  void start_over();
  // A line for the stream's log. False, and left out, when the spool is full.
  bool log(dh_log_level level, const char* text);

  // At the end: all losses, then the counters. `progressed` until nothing is left to say; once more when losses came
  // after that.
  Step close_step(uint64_t now_ns);

  uint64_t frames_begun() const { return frames_begun_.load(std::memory_order_relaxed); }
  uint64_t frames_ended() const { return frames_ended_.load(std::memory_order_relaxed); }

 private:
  Step end_frame(uint32_t slot);
  Step say_notice();
  Step declare_lost_tensors();
  // Losses not yet reported. idle: none.
  Step say_losses();
  Step say_counters(bool closing);
  Step say_clock(uint64_t now_ns);

  TensorTable* tensors_ = nullptr;
  FrameTable* frames_ = nullptr;
  Pool* pool_ = nullptr;
  Spool* spool_ = nullptr;
  StreamState* state_ = nullptr;
  Emitter* emitter_ = nullptr;
  Encoder* encoder_ = nullptr;
  TriggerGate* gate_ = nullptr;
  Clock clock_;
  std::atomic<Notice*> notices_{nullptr};  // newest first
  Notice* pending_ = nullptr;              // oldest first, taken over
  std::atomic<Notice*> spent_{nullptr};
  std::atomic<uint64_t> frames_begun_{0};
  std::atomic<uint64_t> frames_ended_{0};
  bool losses_due_ = false;
  uint64_t next_report_ns_ = 0;
  uint64_t reported_seen_ = ~uint64_t{0};
  uint64_t clock_offset_ns_ = 0;  // wall - monotonic when last said
  bool clock_said_ = false;
  uint32_t closing_tensor_ = 0;
  bool closing_done_ = false;
};

}  // namespace dumphook
