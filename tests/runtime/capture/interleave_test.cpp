// SPDX-License-Identifier: Apache-2.0
// The lock-free parts on a memory as weak as ARM's, in every order (tests/support/interleave.h).
#include "interleave.h"

#include <gtest/gtest.h>

#include <array>

#include "capture/frame_gate.h"
#include "pool/block_list.h"
#include "pool/queue.h"

namespace dumphook {
namespace {

using interleave::Bounds;
using interleave::Execution;
using interleave::Outcome;
using interleave::Plain;

// ---- the checker itself: it must find what is wrong

TEST(Interleave, AMessageWithoutRelease_IsSeenTooEarly) {
  for (const bool releases : {false, true}) {
    const Outcome outcome = interleave::explore({}, [&](Execution& run) {
      struct State {
        Plain<int> data{0};
        interleave::Atomic<uint32_t> ready{0};
      };
      auto state = std::make_shared<State>();
      run.thread([state, releases] {
        state->data = 7;
        state->ready.store(1, releases ? std::memory_order_release : std::memory_order_relaxed);
      });
      run.thread([state] {
        if (state->ready.load(std::memory_order_acquire) == 1) interleave::expect(state->data == 7, "old data");
      });
    });
    EXPECT_EQ(outcome.failure.empty(), releases) << outcome.failure;
  }
}

// Dekker's handshake: with less than sequential consistency both sides may miss the other.
TEST(Interleave, TwoFlagsWithAcquireAndRelease_MayBothBeMissed) {
  for (const bool sequential : {false, true}) {
    const auto store = sequential ? std::memory_order_seq_cst : std::memory_order_release;
    const auto load = sequential ? std::memory_order_seq_cst : std::memory_order_acquire;
    const Outcome outcome = interleave::explore({}, [&](Execution& run) {
      struct State {
        interleave::Atomic<uint32_t> a{0}, b{0};
        uint32_t saw_a = 9, saw_b = 9;
      };
      auto state = std::make_shared<State>();
      run.thread([=] {
        state->a.store(1, store);
        state->saw_b = state->b.load(load);
      });
      run.thread([=] {
        state->b.store(1, store);
        state->saw_a = state->a.load(load);
      });
      run.finally([=] { interleave::expect(state->saw_a == 1 || state->saw_b == 1, "both missed"); });
    });
    EXPECT_EQ(outcome.failure.empty(), sequential) << outcome.failure;
  }
}

// ---- the block list

using List = BasicBlockList<interleave::Memory>;

struct Blocks {
  explicit Blocks(uint32_t count) { list.open(links.data(), count); }

  // Takes a chain, uses it alone, gives it back.
  void use(uint32_t count) {
    const uint32_t first = list.take(count);
    if (first == List::kNone) return;
    uint32_t last = first, length = 0;
    for (uint32_t at = first; at != List::kNone && length <= count; at = list.next(at), ++length) {
      content[at] = content[at] + 1;  // a race here means that two threads own the block
      last = at;
    }
    interleave::expect(length == count, "a chain of another length");
    list.give(first, last, count);
    ++taken;
  }

  std::array<interleave::Atomic<uint32_t>, 4> links;
  std::array<Plain<int>, 4> content;
  List list;
  int taken = 0;
};

void report(const char* what, const Outcome& outcome) {
  std::printf("%s: %llu executions, %llu cut\n", what, static_cast<unsigned long long>(outcome.executions),
              static_cast<unsigned long long>(outcome.cut));
}

TEST(Interleave, BlockList_AChainBelongsToOneThread_AndNoneIsLost) {
  struct Case {
    std::vector<uint32_t> chains;
    uint32_t blocks;
  };
  for (const Case& one : {Case{{1, 1}, 2}, Case{{2, 1}, 3}, Case{{2, 2}, 3}, Case{{3, 1}, 4}, Case{{1, 1, 1}, 2}}) {
    Bounds bounds;
    if (one.chains.size() > 2) bounds = {2, 1, 200};
    const Outcome outcome = interleave::explore(bounds, [&](Execution& run) {
      auto blocks = std::make_shared<Blocks>(one.blocks);
      for (const uint32_t count : one.chains) {
        run.thread([blocks, count] { blocks->use(count); });
      }
      const uint32_t all = one.blocks;
      run.finally([blocks, all] {
        interleave::expect(blocks->list.free_count() == all, "the count of free blocks");
        interleave::expect(blocks->taken > 0, "all were refused");
        uint32_t length = 0;
        for (uint32_t at = blocks->list.take(all); at != List::kNone; at = blocks->list.next(at)) ++length;
        interleave::expect(length == all, "blocks are lost");
      });
    });
    EXPECT_EQ(outcome.failure, "");
    EXPECT_GT(outcome.executions, 100u);
    report("block list", outcome);
  }
}

// One thread takes and gives back twice while the other walks: what the change count in the head is for.
TEST(Interleave, BlockList_BlocksThatComeBackInAnotherOrder_DoNotConfuseAWalk) {
  const Outcome outcome = interleave::explore({}, [&](Execution& run) {
    auto blocks = std::make_shared<Blocks>(3);
    run.thread([blocks] { blocks->use(2); });
    run.thread([blocks] {
      const uint32_t a = blocks->list.take(1), b = blocks->list.take(1);
      if (a != List::kNone) blocks->list.give(a, a, 1);
      if (b != List::kNone) blocks->list.give(b, b, 1);
    });
    run.finally([blocks] { interleave::expect(blocks->list.free_count() == 3, "the count of free blocks"); });
  });
  EXPECT_EQ(outcome.failure, "");
  report("block list, twice", outcome);
}

// ---- the queue

using ModelQueue = BasicQueue<interleave::Memory>;

TEST(Interleave, Queue_EntriesArriveOnceEach_WithWhatWasWrittenBefore) {
  for (const int producers : {1, 2, 3}) {
    Bounds bounds;
    if (producers == 3) bounds = {2, 1, 200};
    const Outcome outcome = interleave::explore(bounds, [&](Execution& run) {
      struct State {
        State() { queue.open(cells.data(), 4); }
        std::array<ModelQueue::Cell, 4> cells;
        ModelQueue queue;
        std::array<Plain<int>, 3> data;
        int sum = 0, got = 0;
      };
      auto state = std::make_shared<State>();
      for (int i = 0; i < producers; ++i) {
        run.thread([state, i] {
          state->data[static_cast<size_t>(i)] = 1 << i;
          interleave::expect(state->queue.push(static_cast<uint32_t>(i)), "a queue with room refuses");
        });
      }
      const auto consume = [state] {
        uint32_t value = 0;
        if (!state->queue.peek(&value)) return;
        interleave::expect(value < 3, "a value that nobody pushed");
        state->sum += state->data[value];
        ++state->got;
        state->queue.pop();
      };
      run.thread([consume, producers] {
        for (int i = 0; i <= producers; ++i) consume();
      });
      run.finally([=] {
        for (int i = 0; i < producers; ++i) consume();
        interleave::expect(state->got == producers && state->sum == (1 << producers) - 1, "lost or twice");
      });
    });
    EXPECT_EQ(outcome.failure, "");
    report("queue", outcome);
  }
}

// The cells are as many as the blocks, and a block is pushed again only after it was given back: then a push finds
// room.
TEST(Interleave, PoolOfTwoBlocks_ABlockGivenBackFindsACellFree) {
  const Bounds bounds = {2, 1, 200};
  const Outcome outcome = interleave::explore(bounds, [&](Execution& run) {
    struct State {
      State() {
        list.open(links.data(), 2);
        queue.open(cells.data(), 2);
      }
      std::array<interleave::Atomic<uint32_t>, 2> links;
      std::array<Plain<int>, 2> content;
      List list;
      std::array<ModelQueue::Cell, 2> cells;
      ModelQueue queue;
    };
    auto state = std::make_shared<State>();
    const auto produce = [state] {
      for (int i = 0; i < 2; ++i) {
        const uint32_t block = state->list.take(1);
        if (block == List::kNone) continue;
        state->content[block] = 5;
        interleave::expect(state->queue.push(block), "the queue is full");
      }
    };
    run.thread(produce);
    run.thread(produce);
    run.thread([state] {
      for (int i = 0; i < 3; ++i) {
        uint32_t block = 0;
        if (!state->queue.peek(&block)) continue;
        interleave::expect(state->content[block] == 5, "content of another time");
        state->queue.pop();  // as Pool::release: the cell first
        state->list.give(block, block, 1);
      }
    });
  });
  EXPECT_EQ(outcome.failure, "");
  report("pool", outcome);
}

// ---- the frame gate

TEST(Interleave, FrameGate_TheWorkerFindsNobodyInside_AndSeesWhatTheyDid) {
  for (const int hooks : {1, 2}) {
    const Outcome outcome = interleave::explore({}, [&](Execution& run) {
      constexpr uint64_t kOpen = 2, kEnded = 3;
      struct State {
        BasicFrameGate<interleave::Memory> gate;
        interleave::Atomic<uint32_t> queued{0};
        std::array<Plain<int>, 2> inside;
        bool retired = false;
      };
      auto state = std::make_shared<State>();
      state->gate.set(kOpen);
      for (int i = 0; i < hooks; ++i) {
        run.thread([state, i] {
          if (!state->gate.enter(kOpen)) return;
          interleave::expect(!state->retired, "a hook inside a frame that was written out");
          state->inside[static_cast<size_t>(i)] = 1;
          state->queued.fetch_add(1, std::memory_order_relaxed);
          state->gate.leave();
        });
      }
      run.thread([state] { state->gate.change(kOpen, kEnded); });
      run.thread([state, hooks] {
        for (int look = 0; look < 2; ++look) {
          if (state->gate.state() != kEnded || !state->gate.is_empty()) continue;
          state->retired = true;
          int inside = 0;
          for (int i = 0; i < hooks; ++i) inside += state->inside[static_cast<size_t>(i)];
          interleave::expect(state->queued.load(std::memory_order_relaxed) == static_cast<uint32_t>(inside),
                             "a tensor that the frame's end does not count");
          return;
        }
      });
    });
    EXPECT_EQ(outcome.failure, "");
    report("frame gate", outcome);
  }
}

}  // namespace
}  // namespace dumphook
