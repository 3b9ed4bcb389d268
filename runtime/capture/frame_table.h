// SPDX-License-Identifier: Apache-2.0
// FrameTable: the frames that are open, or ended but not yet written. Hooks and the worker meet here without locks.
// The state of a slot's gate is {low 56 bits of the frame number, phase}.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/frame_gate.h"
#include "capture/tensor_table.h"
#include "dumphook/dumphook.h"

namespace dumphook {

enum class FramePhase : uint64_t { free = 0, filling = 1, open = 2, ended = 3, abandoned = 4 };

struct FrameAttribute {
  char key[32];
  char value[96];
};

// What becomes of a frame's messages while there are triggers.
enum class Passage : uint8_t { undecided, ships, waits };

struct FrameSlot {
  static constexpr uint32_t kMaxAttributes = 4;

  FrameGate gate;
  std::atomic<uint32_t> seen{0};
  std::atomic<uint32_t> accepted{0};
  std::atomic<uint32_t> queued{0};  // tensors handed to the worker: accepted, or given up halfway (policy block)
  std::atomic<uint32_t> lost[DH_LOSS_REASON_COUNT];
  std::atomic<uint64_t> raw_bytes{0};
  // Under policy drop_frame: what its tensors need of the pool, also those that did not get it.
  std::atomic<uint64_t> pool_bytes{0};
  // Written by dh_frame_begin before the slot opens.
  uint64_t number = 0;
  uint32_t uses = 0;  // frames that had this slot
  uint64_t capture_time_ns = 0;
  uint64_t begin_time_ns = 0;
  uint32_t instance = 0;
  bool selected = true;
  uint64_t byte_limit = 0;  // raw bytes captured in this frame; 0 = no limit
  char model[DH_MAX_NAME_BYTES + 1] = {};
  // Under the tensor table's lock.
  FrameAttribute attributes[kMaxAttributes];
  std::atomic<uint32_t> attribute_count{0};
  // Written by the worker.
  uint32_t encoded = 0;  // of those queued, also when lost on the way
  bool begun = false;
  Passage passage = Passage::undecided;
  bool begin_shipped = false;  // it waits, but its FrameBegin went ahead

  // A tensor that was accepted is lost all the same.
  void lose_accepted(dh_loss_reason reason) {
    lost[reason].fetch_add(1, std::memory_order_relaxed);
    accepted.fetch_sub(1, std::memory_order_relaxed);
  }
};

class FrameTable {
 public:
  // The slot of a handle is its low byte; this one means that the frame was not admitted.
  static constexpr uint32_t kRefused = 0xFF;
  static constexpr uint32_t kUnselected = 0xFE;  // neither admitted nor asked for

  bool open(Arena& tables, uint32_t max_open);

  static dh_frame handle(uint64_t number, uint32_t slot) { return number << 8 | ((slot + 1) & 0xFF); }
  static dh_frame refused_handle(uint64_t number) { return number << 8 | kRefused; }
  static dh_frame unselected_handle(uint64_t number) { return number << 8 | kUnselected; }
  // A handle has 56 bits of the number. Above them frames of one session are alike: also a clock in nanoseconds keeps
  // these bits for two years.
  uint64_t number_of(dh_frame frame) const {
    return (newest_.load(std::memory_order_relaxed) & ~kNumberMask) | frame >> 8;
  }

  // Opens a slot for `number`; kRefused when the worker has not yet written enough old frames. When more than max_open
  // frames are open, the oldest is abandoned first. The caller fills the slot, then calls admit().
  uint32_t begin(uint64_t number);
  void admit(uint32_t slot);
  // Policy drop_frame, between begin() and admit(): is there room for this frame and for what the other open ones may
  // still need, if each is as large as the largest there was? A frame larger than the pool may have all of it.
  bool fits(uint64_t pool_used_bytes, uint64_t pool_bytes) const;
  // Instead of admit(): the slot is free again.
  void refuse(uint32_t slot) { retire(slot); }
  // Joins an open frame until leave(); NULL when the frame is over or was refused.
  FrameSlot* enter(dh_frame frame);
  void leave(FrameSlot* slot) { slot->gate.leave(); }
  // False when it was not open.
  bool end(dh_frame frame);

  FrameSlot& slot(uint32_t index) { return slots_[index]; }
  // Open or ended frames that the worker has not written out.
  bool any_open() const { return open_.load(std::memory_order_relaxed) != 0; }
  bool any_busy() const { return busy_.load(std::memory_order_relaxed) != 0; }

  // --- the worker -------------------------------------------------------------------------------------------------
  // The oldest slot whose frame is over and whose queued tensors are all encoded; kRefused when there is none.
  uint32_t next_finished() const;
  void retire(uint32_t slot);
  // Begun, and its end not yet written.
  bool is_busy(uint32_t slot) const;
  // That slot of frame `number`; NULL when there is none.
  FrameSlot* find_busy(uint64_t number);
  // Ends all open frames as abandoned (at close).
  void abandon_all();

  static FramePhase phase(uint64_t state) { return static_cast<FramePhase>(state & 7); }
  static uint64_t pack(uint64_t number, FramePhase phase) {
    return (number & kNumberMask) << 3 | static_cast<uint64_t>(phase);
  }

 private:
  static constexpr uint64_t kNumberMask = ~uint64_t{0} >> 8;
  void abandon_oldest();

  FrameSlot* slots_ = nullptr;
  uint32_t max_open_ = 0;
  std::atomic<uint64_t> newest_{0};         // number of the frame that began last
  std::atomic<uint64_t> largest_bytes_{0};  // of the pool, by one frame
  std::atomic<uint32_t> hint_{0};
  std::atomic<uint32_t> open_{0};
  std::atomic<uint32_t> busy_{0};
};

}  // namespace dumphook
