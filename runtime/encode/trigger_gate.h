// SPDX-License-Identifier: Apache-2.0
// TriggerGate: with triggers, the messages of a frame wait in a ring, encoded but without a number, until a trigger
// fires; then all that waits goes to the spool in its order, and so do the frames that are open and the next
// `frames_after`. When the ring is full the oldest frame gives way and is counted as not_triggered. Used by the worker
// only.
//
// Some messages never give way, but leave the ring for the stream: descriptors, so that a part that is shipped later
// has its own, and the FrameBegin of a frame that is still open when its first tensors must go, with its FrameEnd.
#pragma once

#include <cstdint>

#include "capture/frame_table.h"
#include "capture/tensor_table.h"
#include "capture/trigger.h"
#include "encode/emitter.h"
#include "spool/spool.h"

namespace dumphook {

class TriggerGate {
 public:
  static constexpr size_t kReportBytes = 2 * DH_MAX_NAME_BYTES + 384;

  // A ring without memory holds nothing: then only what follows the trigger is shipped.
  void open(TensorTable* tensors, FrameTable* frames, Spool* ring, Emitter* emitter);
  // A list that has been parsed before. An empty one opens the gate.
  void set_list(const char* text);

  // Whether statistics of every tensor are wanted.
  bool looks_at_tensors() const { return list_.looks_at_tensors(); }
  // Tensor by tensor, before it is emitted. True when a trigger fired: then release first.
  bool judge(const TensorEntry& entry, FrameSlot& slot, const TensorStatistics& statistics, const StoredScale& scale);
  void fire_event(const char* name);

  // Decides with a frame's first message whether it waits.
  void admit(FrameSlot& slot);
  // The frame waits and there is no ring.
  bool hides(const FrameSlot& slot) const { return slot.passage == Passage::waits && ring_->capacity() == 0; }
  // Makes room for a message of the frame, where it waits: tensors may be lost for that, also of this frame.
  bool prepare(const FrameSlot& slot, size_t max_bytes) {
    return slot.passage != Passage::waits || make_room(kMessageHeaderBytes + max_bytes);
  }
  // As Emitter::emit, for a message of an admitted frame that is not hidden.
  template <class Write>
  bool emit(const FrameSlot& slot, const SpoolEntry& prototype, size_t max_bytes, uint64_t publish_ns,
            const Write& write, size_t* written = nullptr) {
    if (!prepare(slot, max_bytes)) return false;
    SpoolEntry entry = prototype;
    entry.waits = slot.passage == Passage::waits;
    entry.frame = slot.number;
    entry.stays = entry.descriptor || (entry.frame_end && slot.begin_shipped);
    return emitter_->emit(entry, max_bytes, publish_ns, write, written);
  }
  // A part of this tensor gave way a moment ago: it has been counted, and its other parts are of no use.
  bool is_cut(uint64_t capture_id) const;
  void cut(uint64_t capture_id) { cut_[next_cut_++ % kMaxCut] = capture_id; }

  // While something is on its way from the ring to the spool nothing else may be emitted for a frame.
  bool releasing() const { return ring_->begin() < release_end_; }
  Step release();
  // What waits and what is being released is lost, the first as not_triggered.
  void drop_all(dh_loss_reason reason_of_released);
  void drop_waiting();

  // What fired and how much was held, once. NULL when there is nothing to tell.
  const char* report() const { return report_[0] == '\0' ? nullptr : report_; }
  void clear_report() { report_[0] = '\0'; }

 private:
  static constexpr uint32_t kMaxCut = 64;
  static constexpr uint64_t kNotCut = SpoolEntry::kNoCapture;

  void fire(const char* trigger, const TensorEntry* entry, uint64_t frame);
  bool make_room(size_t bytes);
  bool evict();
  bool release_oldest();
  void give_up(const SpoolEntry& entry, FrameSlot* slot, dh_loss_reason reason);

  TriggerList list_;
  TensorTable* tensors_ = nullptr;
  FrameTable* frames_ = nullptr;
  Spool* ring_ = nullptr;
  Emitter* emitter_ = nullptr;
  uint64_t release_end_ = 0;  // in the ring
  uint32_t ships_left_ = 0;   // frames after a trigger that are still to come
  uint64_t cut_[kMaxCut];
  uint32_t next_cut_ = 0;
  char report_[kReportBytes] = {};
};

}  // namespace dumphook
