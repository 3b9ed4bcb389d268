// SPDX-License-Identifier: Apache-2.0
#include "encode/trigger_gate.h"

#include <cstdio>

namespace dumphook {

void TriggerGate::open(TensorTable* tensors, FrameTable* frames, Spool* ring, Emitter* emitter) {
  tensors_ = tensors;
  frames_ = frames;
  ring_ = ring;
  emitter_ = emitter;
  for (uint64_t& capture_id : cut_) capture_id = kNotCut;
}

void TriggerGate::set_list(const char* text) {
  TriggerList::Item wrong;
  list_.parse(text, wrong);
  if (list_.count != 0) return;
  ships_left_ = 0;
  drop_waiting();
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    FrameSlot& slot = frames_->slot(i);
    if (frames_->is_busy(i) && slot.passage == Passage::waits) slot.passage = Passage::ships;
  }
}

void TriggerGate::admit(FrameSlot& slot) {
  if (slot.passage != Passage::undecided) return;
  slot.passage = list_.count == 0 || ships_left_ != 0 ? Passage::ships : Passage::waits;
  if (list_.count != 0 && ships_left_ != 0) --ships_left_;
}

bool TriggerGate::judge(const TensorEntry& entry, FrameSlot& slot, const TensorStatistics& statistics,
                        const StoredScale& scale) {
  for (uint32_t i = 0; i < list_.count; ++i) {
    const Trigger& trigger = list_.triggers[i];
    if (trigger.kind == Trigger::Kind::event || !holds(trigger, statistics, scale)) continue;
    const char* glob = trigger.argument();
    if (glob != nullptr && !pattern_matches(glob, entry.model, entry.name, entry.op)) continue;
    const bool waited = slot.passage == Passage::waits;
    fire(trigger.text, &entry, slot.number);
    return waited;
  }
  return false;
}

void TriggerGate::fire_event(const char* name) {
  char text[Trigger::kTextBytes];
  std::snprintf(text, sizeof text, "event:%s", name);
  fire(text, nullptr, 0);
}

void TriggerGate::fire(const char* trigger, const TensorEntry* entry, uint64_t frame) {
  bool waited = ring_->end() > release_end_ && !ring_->empty();
  const bool was_open = ships_left_ != 0;
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    FrameSlot& slot = frames_->slot(i);
    if (!frames_->is_busy(i) || slot.passage == Passage::ships) continue;
    waited |= slot.passage == Passage::waits || !was_open;
    slot.passage = Passage::ships;
  }
  ships_left_ = list_.frames_after;
  if (!waited) return;  // within the frames of a trigger before: they only become more
  uint32_t held = 0;
  uint64_t first = frame, bytes = 0;
  for (uint64_t at = releasing() ? release_end_ : ring_->begin(); at < ring_->end(); at = ring_->next(at)) {
    const SpoolEntry& waiting = ring_->entry(at);
    if (waiting.frame_end && held++ == 0) first = waiting.frame;
    bytes += waiting.record_bytes;
  }
  release_end_ = ring_->end();
  char where[2 * DH_MAX_NAME_BYTES + 64] = "";
  if (entry != nullptr) {
    std::snprintf(where, sizeof where, " by /%s/%s in frame %llu", entry->model, entry->name,
                  static_cast<unsigned long long>(frame));
  }
  std::snprintf(
      report_, sizeof report_,
      "trigger %s fired%s: %u earlier frames were held, from %llu on (%llu of %llu bytes of pretrigger_bytes), "
      "%u to follow",
      trigger, where, held, static_cast<unsigned long long>(first), static_cast<unsigned long long>(bytes),
      static_cast<unsigned long long>(ring_->capacity()), list_.frames_after);
}

// ---------------------------------------------------------------------------------------------------------- the ring

bool TriggerGate::is_cut(uint64_t capture_id) const {
  for (const uint64_t cut : cut_) {
    if (cut == capture_id) return true;
  }
  return false;
}

bool TriggerGate::make_room(size_t bytes) {
  while (ring_->reserve(bytes).data == nullptr) {
    if (releasing() || ring_->empty() || !evict()) return false;
  }
  return true;
}

// Lets the oldest message go, and with it the rest of its frame when that is over: half a frame is of little use. False
// when a descriptor finds no room in the spool.
bool TriggerGate::evict() {
  uint64_t over[16];
  constexpr uint32_t kMost = sizeof over / sizeof *over;
  uint32_t over_count = 0;
  do {
    const SpoolEntry& entry = ring_->entry(ring_->begin());
    FrameSlot* slot = frames_->find_busy(entry.frame);
    if (entry.stays || (entry.frame_begin && slot != nullptr)) {
      const bool frame_over = entry.frame_end;
      const uint64_t frame = entry.frame;
      const bool begins = entry.frame_begin;
      if (!release_oldest()) return false;
      if (slot != nullptr) slot->begin_shipped |= begins;
      for (uint32_t i = 0; frame_over && i < over_count; ++i) {
        if (over[i] == frame) over[i] = over[--over_count];
      }
      continue;
    }
    if (slot == nullptr) {
      uint32_t i = 0;
      while (i < over_count && over[i] != entry.frame) ++i;
      if (i == over_count && !entry.frame_end && over_count < kMost) over[over_count++] = entry.frame;
      if (i < over_count && entry.frame_end) over[i] = over[--over_count];
    }
    give_up(entry, slot, DH_LOSS_NOT_TRIGGERED);
    ring_->pop();
  } while (over_count != 0 && !ring_->empty());
  return true;
}

// Counts a tensor with the first of its parts that goes. `slot` is its frame's, when that is not over.
void TriggerGate::give_up(const SpoolEntry& entry, FrameSlot* slot, dh_loss_reason reason) {
  if (entry.capture_id == SpoolEntry::kNoCapture || is_cut(entry.capture_id)) return;
  tensors_->entry(entry.tensor_id).lost[reason].add(entry.frame);
  if (slot != nullptr) slot->lose_accepted(reason);
  if (!entry.last_part) cut(entry.capture_id);
}

Step TriggerGate::release() {
  if (!releasing()) return Step::idle;
  const SpoolEntry& entry = ring_->entry(ring_->begin());
  if (entry.capture_id != SpoolEntry::kNoCapture && is_cut(entry.capture_id)) {
    ring_->pop();
    return Step::progressed;
  }
  return release_oldest() ? Step::progressed : Step::blocked;
}

// A descriptor that leaves the ring is what the stream knows of its tensor from now on.
bool TriggerGate::release_oldest() {
  const SpoolEntry entry = ring_->entry(ring_->begin());
  if (!emitter_->release_oldest()) return false;
  if (!entry.descriptor) return true;
  TensorEntry& tensor = tensors_->entry(entry.tensor_id);
  tensor.described = true;
  tensor.descriptor_hash = entry.descriptor_hash;
  return true;
}

void TriggerGate::drop_all(dh_loss_reason reason_of_released) {
  while (!ring_->empty()) {
    const SpoolEntry& entry = ring_->entry(ring_->begin());
    FrameSlot* slot = frames_->find_busy(entry.frame);
    if (entry.stays && entry.frame_end && release_oldest()) continue;
    if (entry.descriptor) tensors_->entry(entry.tensor_id).waiting_described = false;  // never said: once more then
    if (entry.frame_begin && slot != nullptr) slot->begun = false;
    give_up(entry, slot, releasing() ? reason_of_released : DH_LOSS_NOT_TRIGGERED);
    ring_->pop();
  }
}

void TriggerGate::drop_waiting() {
  if (!releasing()) drop_all(DH_LOSS_NOT_TRIGGERED);
}

}  // namespace dumphook
