// SPDX-License-Identifier: Apache-2.0
// Queue: bounded, many producers, one consumer, block numbers in order of publication (Vyukov's bounded queue).
//
// Sized so that it cannot be full: every entry owns at least one pool block, and there are as many cells as blocks.
#pragma once

#include <cstdint>

#include "base/memory_model.h"

namespace dumphook {

template <class Memory>
class BasicQueue {
 public:
  struct Cell {
    typename Memory::template Atomic<uint32_t> turn;
    typename Memory::template Plain<uint32_t> value;
  };

  // `cells` has room for `count` (a power of two, at least 2) cells and must stay valid.
  void open(Cell* cells, uint32_t count) {
    cells_ = cells;
    mask_ = count - 1;
    for (uint32_t i = 0; i < count; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
    tail_.store(0, std::memory_order_relaxed);
    head_ = 0;
  }

  // Publishes; all the producer wrote before is visible to the consumer. False only when full. Any thread.
  bool push(uint32_t value) {
    // Acquire and release, so that a producer sees at least the cells that those before it saw free: its own block says
    // nothing about the cell it meets.
    uint32_t at = tail_.load(std::memory_order_acquire);
    for (;;) {
      Cell& cell = cells_[at & mask_];
      const uint32_t turn = cell.turn.load(std::memory_order_acquire);
      const int32_t ahead = static_cast<int32_t>(turn - at);
      if (ahead == 0) {
        if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
          cell.value = value;
          cell.turn.store(at + 1, std::memory_order_release);
          return true;
        }
      } else if (ahead < 0) {
        return false;
      } else {
        at = tail_.load(std::memory_order_acquire);
      }
    }
  }

  // The oldest entry without removing it. False when there is none, or its producer is not done yet. Consumer only.
  bool peek(uint32_t* value) const {
    const Cell& cell = cells_[head_ & mask_];
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    *value = cell.value;
    return true;
  }

  // Entries so far, modulo 2^32: pushed, any thread; popped, consumer only.
  uint32_t pushed() const { return tail_.load(std::memory_order_acquire); }
  uint32_t popped() const { return head_; }

  // Removes what peek() showed. Consumer only.
  void pop() {
    cells_[head_ & mask_].turn.store(head_ + mask_ + 1, std::memory_order_release);
    ++head_;
  }

 private:
  Cell* cells_ = nullptr;
  uint32_t mask_ = 0;
  alignas(64) typename Memory::template Atomic<uint32_t> tail_{0};
  alignas(64) uint32_t head_ = 0;
};

using Queue = BasicQueue<RealMemory>;

}  // namespace dumphook
