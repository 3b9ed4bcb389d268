// SPDX-License-Identifier: Apache-2.0
// BlockList: a lock-free stack of block numbers from which a whole chain is taken, or given back, by one atomic step.
//
// The head is one 64-bit word: {change count, first block}. Every successful step raises the count, so a head that
// still compares equal means that nothing in the stack has moved since it was read: a chain that was walked meanwhile
// is still the chain (no ABA before 2^32 steps happen inside one walk). Links are atomics because a walk may read a
// link that another thread is rewriting; such a walk fails its compare-and-swap and starts again.
#pragma once

#include <cstdint>

#include "base/memory_model.h"

namespace dumphook {

template <class Memory>
class BasicBlockList {
 public:
  template <class T>
  using Atomic = typename Memory::template Atomic<T>;
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  // `links` has room for `count` numbers and must stay valid. All blocks are free afterwards, 0 first.
  void open(Atomic<uint32_t>* links, uint32_t count) {
    links_ = links;
    for (uint32_t i = 0; i < count; ++i) links_[i].store(i + 1 < count ? i + 1 : kNone, std::memory_order_relaxed);
    head_.store(pack(0, count == 0 ? kNone : 0), std::memory_order_relaxed);
    free_.store(count, std::memory_order_relaxed);
  }

  // Takes `count` >= 1 linked blocks: the first is returned, next() leads to the others, the last one's next() is
  // kNone. kNone when there are not that many. Any thread.
  uint32_t take(uint32_t count) {
    uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      if (free_.load(std::memory_order_relaxed) < static_cast<int64_t>(count)) return kNone;
      const uint32_t first = index(head);
      uint32_t last = first;
      for (uint32_t i = 1; i < count && last != kNone; ++i) last = links_[last].load(std::memory_order_acquire);
      if (last == kNone) {
        // Too short, or a walk through links that changed underneath: only an unchanged head proves the former.
        const uint64_t now = head_.load(std::memory_order_acquire);
        if (now == head) return kNone;
        head = now;
        continue;
      }
      const uint32_t rest = links_[last].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, pack(head, rest), std::memory_order_acquire, std::memory_order_acquire)) {
        links_[last].store(kNone, std::memory_order_release);  // who sees it in a walk sees the new head, too
        free_.fetch_sub(count, std::memory_order_relaxed);
        return first;
      }
    }
  }

  // Gives back the chain first ... last of `count` blocks. Any thread. What was written to the blocks before is visible
  // to whoever takes them next.
  void give(uint32_t first, uint32_t last, uint32_t count) {
    free_.fetch_add(count, std::memory_order_relaxed);
    uint64_t head = head_.load(std::memory_order_relaxed);
    do {
      links_[last].store(index(head), std::memory_order_release);
    } while (
        !head_.compare_exchange_weak(head, pack(head, first), std::memory_order_release, std::memory_order_relaxed));
  }

  uint32_t next(uint32_t block) const { return links_[block].load(std::memory_order_relaxed); }

  // Blocks that are free; exact when nobody is inside take or give, else off by what they move.
  int64_t free_count() const { return free_.load(std::memory_order_relaxed); }

 private:
  static uint32_t index(uint64_t head) { return static_cast<uint32_t>(head); }
  static uint64_t pack(uint64_t old_head, uint32_t first) { return ((old_head >> 32) + 1) << 32 | first; }

  Atomic<uint32_t>* links_ = nullptr;
  alignas(64) Atomic<uint64_t> head_{0};
  alignas(64) Atomic<int64_t> free_{0};
};

using BlockList = BasicBlockList<RealMemory>;

}  // namespace dumphook
