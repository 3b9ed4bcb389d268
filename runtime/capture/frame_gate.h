// SPDX-License-Identifier: Apache-2.0
// FrameGate: hooks enter a frame while it is open; its end closes the gate; the worker waits until the last one has
// left.
//
// A hook announces itself in `active` and then looks at `state`; whoever ends the frame changes `state`, and the
// worker, which has seen that, then looks at `active`. All four steps are sequentially consistent, so either the hook
// sees that the frame is over or the worker sees the hook. What a hook did inside is visible to a worker that finds
// nobody there.
#pragma once

#include <cstdint>

#include "base/memory_model.h"

namespace dumphook {

template <class Memory>
class BasicFrameGate {
 public:
  // Any thread. True: the state is `open` until leave().
  bool enter(uint64_t open) {
    active_.fetch_add(1, std::memory_order_seq_cst);
    if (state_.load(std::memory_order_seq_cst) == open) return true;
    leave();
    return false;
  }
  void leave() { active_.fetch_sub(1, std::memory_order_seq_cst); }

  // False, and nothing happened, when the state is not `from`.
  bool change(uint64_t from, uint64_t to) {
    return state_.compare_exchange_strong(from, to, std::memory_order_seq_cst);
  }
  void set(uint64_t state) { state_.store(state, std::memory_order_seq_cst); }
  uint64_t state() const { return state_.load(std::memory_order_seq_cst); }
  // After state() was seen closed: nobody is inside, and nobody will be.
  bool is_empty() const { return active_.load(std::memory_order_seq_cst) == 0; }

 private:
  typename Memory::template Atomic<uint64_t> state_{0};
  typename Memory::template Atomic<uint32_t> active_{0};
};

using FrameGate = BasicFrameGate<RealMemory>;

}  // namespace dumphook
