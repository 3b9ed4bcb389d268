// SPDX-License-Identifier: Apache-2.0
#include "capture/frame_table.h"

#include <new>

namespace dumphook {

bool FrameTable::open(Arena& tables, uint32_t max_open) {
  max_open_ = max_open;
  slots_ = tables.take_array<FrameSlot>(kFrameSlots);
  if (tables.is_measuring() || !tables.ok()) return tables.ok();
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    FrameSlot* slot = ::new (static_cast<void*>(&slots_[i])) FrameSlot;
    for (auto& count : slot->lost) count.store(0, std::memory_order_relaxed);
  }
  return true;
}

void FrameTable::abandon_oldest() {
  uint32_t oldest = kRefused;
  uint64_t oldest_state = 0;
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    const uint64_t state = slots_[i].gate.state();
    if (phase(state) != FramePhase::open) continue;
    if (oldest == kRefused || state < oldest_state) {
      oldest = i;
      oldest_state = state;
    }
  }
  if (oldest == kRefused) return;
  if (slots_[oldest].gate.change(oldest_state, pack(oldest_state >> 3, FramePhase::abandoned))) {
    open_.fetch_sub(1, std::memory_order_relaxed);
  }
}

uint32_t FrameTable::begin(uint64_t number) {
  newest_.store(number, std::memory_order_relaxed);
  if (open_.load(std::memory_order_relaxed) >= max_open_) abandon_oldest();
  const uint32_t start = hint_.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    const uint32_t index = (start + i) % kFrameSlots;
    const uint64_t state = slots_[index].gate.state();
    if (phase(state) != FramePhase::free) continue;
    if (!slots_[index].gate.change(state, pack(number, FramePhase::filling))) continue;
    busy_.fetch_add(1, std::memory_order_relaxed);
    FrameSlot& slot = slots_[index];
    slot.seen.store(0, std::memory_order_relaxed);
    slot.accepted.store(0, std::memory_order_relaxed);
    slot.queued.store(0, std::memory_order_relaxed);
    for (auto& count : slot.lost) count.store(0, std::memory_order_relaxed);
    slot.raw_bytes.store(0, std::memory_order_relaxed);
    slot.pool_bytes.store(0, std::memory_order_relaxed);
    slot.attribute_count.store(0, std::memory_order_relaxed);
    slot.number = number;
    ++slot.uses;
    slot.encoded = 0;
    slot.begun = false;
    slot.passage = Passage::undecided;
    slot.begin_shipped = false;
    return index;
  }
  return kRefused;
}

void FrameTable::admit(uint32_t index) {
  FrameSlot& slot = slots_[index];
  open_.fetch_add(1, std::memory_order_relaxed);
  slot.gate.set(pack(slot.number, FramePhase::open));
}

bool FrameTable::fits(uint64_t pool_used_bytes, uint64_t pool_bytes) const {
  uint64_t largest = largest_bytes_.load(std::memory_order_relaxed);
  if (largest > pool_bytes) largest = pool_bytes;
  uint64_t needed = pool_used_bytes;
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    const FramePhase is = phase(slots_[i].gate.state());
    if (is != FramePhase::filling && is != FramePhase::open) continue;
    const uint64_t has = slots_[i].pool_bytes.load(std::memory_order_relaxed);
    if (has < largest) needed += largest - has;
  }
  return needed <= pool_bytes;
}

FrameSlot* FrameTable::enter(dh_frame frame) {
  const uint32_t index = static_cast<uint32_t>(frame & 0xFF) - 1;
  if (index >= kFrameSlots) return nullptr;
  FrameSlot* slot = &slots_[index];
  return slot->gate.enter(pack(frame >> 8, FramePhase::open)) ? slot : nullptr;
}

bool FrameTable::end(dh_frame frame) {
  const uint32_t index = static_cast<uint32_t>(frame & 0xFF) - 1;
  if (index >= kFrameSlots) return false;
  const uint64_t number = frame >> 8;
  if (!slots_[index].gate.change(pack(number, FramePhase::open), pack(number, FramePhase::ended))) return false;
  open_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

uint32_t FrameTable::next_finished() const {
  uint32_t oldest = kRefused;
  uint64_t oldest_state = 0;
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    const FrameSlot& slot = slots_[i];
    const uint64_t state = slot.gate.state();
    if (phase(state) != FramePhase::ended && phase(state) != FramePhase::abandoned) continue;
    if (!slot.gate.is_empty()) continue;
    if (slot.queued.load(std::memory_order_relaxed) != slot.encoded) continue;
    if (oldest == kRefused || state < oldest_state) {
      oldest = i;
      oldest_state = state;
    }
  }
  return oldest;
}

void FrameTable::retire(uint32_t index) {
  // Only the worker comes here with a frame that has tensors.
  const uint64_t bytes = slots_[index].pool_bytes.load(std::memory_order_relaxed);
  if (bytes > largest_bytes_.load(std::memory_order_relaxed)) largest_bytes_.store(bytes, std::memory_order_relaxed);
  slots_[index].gate.set(0);
  busy_.fetch_sub(1, std::memory_order_relaxed);
}

bool FrameTable::is_busy(uint32_t index) const {
  const FramePhase is = phase(slots_[index].gate.state());
  return is != FramePhase::free && is != FramePhase::filling;
}

FrameSlot* FrameTable::find_busy(uint64_t number) {
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    if (is_busy(i) && slots_[i].number == number) return &slots_[i];
  }
  return nullptr;
}

void FrameTable::abandon_all() {
  for (uint32_t i = 0; i < kFrameSlots; ++i) {
    const uint64_t state = slots_[i].gate.state();
    if (phase(state) != FramePhase::open) continue;
    if (slots_[i].gate.change(state, pack(state >> 3, FramePhase::abandoned))) {
      open_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

}  // namespace dumphook
