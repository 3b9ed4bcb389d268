// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

namespace dumphook {

bool Pool::open(Arena& arena, uint64_t pool_bytes, uint32_t block_bytes, uint32_t note_count) {
  block_bytes_ = block_bytes;
  block_bits_ = static_cast<uint32_t>(__builtin_ctz(block_bytes));
  block_count_ = static_cast<uint32_t>(pool_bytes / block_bytes);
  uint32_t cells = 2;
  while (cells < block_count_ + note_count) cells *= 2;
  memory_ = static_cast<uint8_t*>(arena.take(static_cast<size_t>(block_count_) * block_bytes, 64));
  records_ = arena.take_array<Record>(block_count_ + note_count);
  statistics_ = arena.take_array<TensorStatistics>(note_count);
  auto* links = arena.take_array<std::atomic<uint32_t>>(block_count_);
  auto* note_links = arena.take_array<std::atomic<uint32_t>>(note_count);
  auto* queue_cells = arena.take_array<Queue::Cell>(cells);
  if (arena.is_measuring() || !arena.ok()) return arena.ok();
  free_.open(links, block_count_);
  free_notes_.open(note_links, note_count);
  queue_.open(queue_cells, cells);
  return true;
}

void Pool::release(uint32_t first_block) {
  if (is_note(first_block)) {
    queue_.pop();
    free_notes_.give(first_block - block_count_, first_block - block_count_, 1);
    return;
  }
  const uint32_t count = records_[first_block].block_count;
  uint32_t last = first_block;
  for (uint32_t i = 1; i < count; ++i) last = free_.next(last);
  // The cell goes first: there are as many cells as blocks, so whoever takes these blocks must find a cell free.
  queue_.pop();
  free_.give(first_block, last, count);
}

uint64_t Pool::used_bytes() const {
  const int64_t used = static_cast<int64_t>(block_count_) - free_.free_count();
  return used <= 0 ? 0 : static_cast<uint64_t>(used) * block_bytes_;
}

void Pool::note_peak() {
  const uint64_t used = used_bytes();
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

}  // namespace dumphook
