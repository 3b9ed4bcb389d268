// SPDX-License-Identifier: Apache-2.0
#include "spool/spool.h"

#include <cstring>

namespace dumphook {

struct Spool::Slot {
  uint64_t slot_bytes;  // with this header and padding; the rest of the ring is skipped when kGap is set
  SpoolEntry entry;
  static constexpr uint64_t kGap = uint64_t{1} << 63;
};

namespace {
constexpr size_t padded(size_t bytes) { return (bytes + 7) & ~size_t{7}; }
}  // namespace

void Spool::open(uint8_t* memory, size_t bytes) {
  memory_ = memory;
  capacity_ = bytes & ~size_t{7};
  begin_ = end_ = reserved_at_ = 0;
  peak_.store(0, std::memory_order_relaxed);
  static_assert(sizeof(Slot) + 8 <= kOverhead, "a gap marker and a slot header must fit the overhead");
}

Spool::Slot* Spool::slot(uint64_t position) const { return reinterpret_cast<Slot*>(memory_ + position % capacity_); }

// A gap is marked where at least a number fits; positions are multiples of 8, so it always does.
uint64_t Spool::skip_gap(uint64_t position) const {
  if (position == end_) return position;
  const uint64_t marked = slot(position)->slot_bytes;
  return (marked & Slot::kGap) != 0 ? position + (marked & ~Slot::kGap) : position;
}

Bytes Spool::reserve(size_t bytes) {
  if (bytes > capacity_) return {};
  const size_t need = sizeof(Slot) + padded(bytes);
  const size_t offset = static_cast<size_t>(end_ % capacity_);
  const size_t to_edge = capacity_ - offset;
  const size_t gap = need <= to_edge ? 0 : to_edge;
  if (used_bytes() + gap + need > capacity_) return {};
  reserved_at_ = end_ + gap;
  return {memory_ + reserved_at_ % capacity_ + sizeof(Slot), bytes};
}

void Spool::commit(const SpoolEntry& entry) {
  if (reserved_at_ != end_) {
    const uint64_t gap = reserved_at_ - end_;
    // The gap stays in use until pop() passes it, also in an empty ring: a sink's cursor may stand at its start.
    slot(end_)->slot_bytes = gap | Slot::kGap;
  }
  Slot* target = slot(reserved_at_);
  target->entry = entry;
  target->slot_bytes = sizeof(Slot) + padded(entry.record_bytes);
  end_ = reserved_at_ + target->slot_bytes;
  reserved_at_ = end_;
  if (used_bytes() > peak_bytes()) peak_.store(used_bytes(), std::memory_order_relaxed);
}

const SpoolEntry& Spool::entry(uint64_t position) const { return slot(skip_gap(position))->entry; }

ConstBytes Spool::record(uint64_t position) const {
  const Slot* at = slot(skip_gap(position));
  return {reinterpret_cast<const uint8_t*>(at) + sizeof(Slot), at->entry.record_bytes};
}

uint64_t Spool::next(uint64_t position) const {
  const uint64_t at = skip_gap(position);
  return at + slot(at)->slot_bytes;
}

void Spool::pop() {
  if (!empty()) begin_ = next(begin_);
}

}  // namespace dumphook
