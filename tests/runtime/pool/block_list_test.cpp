// SPDX-License-Identifier: Apache-2.0
#include "pool/block_list.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

namespace dumphook {
namespace {

struct List {
  explicit List(uint32_t count) : links(new std::atomic<uint32_t>[count]) { list.open(links.get(), count); }

  // The chain as a vector; empty when refused.
  std::vector<uint32_t> take(uint32_t count) {
    std::vector<uint32_t> chain;
    for (uint32_t at = list.take(count); at != BlockList::kNone; at = list.next(at)) chain.push_back(at);
    return chain;
  }
  void give(const std::vector<uint32_t>& chain) {
    list.give(chain.front(), chain.back(), static_cast<uint32_t>(chain.size()));
  }

  std::unique_ptr<std::atomic<uint32_t>[]> links;
  BlockList list;
};

TEST(BlockList, GivesNeighboursWhileFresh) {
  List fresh(8);
  EXPECT_EQ(fresh.take(3), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(fresh.take(5), (std::vector<uint32_t>{3, 4, 5, 6, 7}));
  EXPECT_TRUE(fresh.take(1).empty());
}

TEST(BlockList, RefusesAChainLongerThanWhatIsLeft_AndKeepsThat) {
  List some(4);
  EXPECT_TRUE(some.take(5).empty());
  EXPECT_EQ(some.take(4).size(), 4u);
}

TEST(BlockList, OfNoBlocksRefuses) {
  List none(0);
  EXPECT_EQ(none.list.take(1), BlockList::kNone);
}

TEST(BlockList, BehavesAsASetOfFreeBlocks_OverRandomSteps) {
  constexpr uint32_t kBlocks = 37;
  std::mt19937 random(1);
  List list(kBlocks);
  std::deque<std::vector<uint32_t>> taken;
  std::set<uint32_t> free;
  for (uint32_t i = 0; i < kBlocks; ++i) free.insert(i);
  for (int step = 0; step < 200000; ++step) {
    if (random() % 2 == 0) {
      const uint32_t count = 1 + static_cast<uint32_t>(random() % 9);
      const auto chain = list.take(count);
      ASSERT_EQ(chain.size(), count <= free.size() ? count : 0);
      for (const uint32_t block : chain) ASSERT_EQ(free.erase(block), 1u);
      if (!chain.empty()) taken.push_back(chain);
    } else if (!taken.empty()) {
      const size_t which = random() % taken.size();
      list.give(taken[which]);
      free.insert(taken[which].begin(), taken[which].end());
      taken.erase(taken.begin() + static_cast<ptrdiff_t>(which));
    }
    ASSERT_EQ(list.list.free_count(), static_cast<int64_t>(free.size()));
  }
}

TEST(BlockList, NeverGivesABlockToTwoThreads_NorLosesOne) {
  constexpr uint32_t kBlocks = 64;
  constexpr int kThreads = 8, kRounds = 20000;
  List list(kBlocks);
  std::vector<std::atomic<int>> owner(kBlocks);
  std::vector<uint64_t> payload(kBlocks);  // not atomic: a sanitizer sees whether hand-over synchronises
  std::atomic<uint64_t> taken{0};
  std::atomic<bool> doubled{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kRounds; ++i) {
        const auto chain = list.take(1 + static_cast<uint32_t>(random() % 12));
        if (chain.empty()) continue;
        taken.fetch_add(1);
        for (const uint32_t block : chain) {
          if (owner[block].exchange(t + 1) != 0) doubled = true;
          payload[block] = static_cast<uint64_t>(i);
        }
        for (const uint32_t block : chain) {
          if (payload[block] != static_cast<uint64_t>(i) || owner[block].exchange(0) != t + 1) doubled = true;
        }
        list.give(chain);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(doubled);
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(list.list.free_count(), kBlocks);
  EXPECT_EQ(list.take(kBlocks).size(), kBlocks);
}

// Every interleaving of the algorithm's memory steps, on a model of it that has the same steps in the same order. Two
// threads take a chain and give it back while a third takes one and keeps it; sequential consistency is assumed.
class Model {
 public:
  static constexpr uint32_t kNone = 9;
  struct Thread {
    int pc = 0;
    uint32_t want = 1;
    bool gives = false;
    uint32_t count_seen = 0, head = 0, first = kNone, last = kNone, walked = 0, rest = kNone;
    bool operator<(const Thread& o) const {
      return std::tie(pc, want, gives, count_seen, head, first, last, walked, rest) <
             std::tie(o.pc, o.want, o.gives, o.count_seen, o.head, o.first, o.last, o.walked, o.rest);
    }
  };
  struct State {
    uint32_t links[4] = {1, 2, 3, kNone};
    uint32_t head = 0, changes = 0, free = 4;
    uint32_t owned[4] = {};  // thread + 1
    Thread threads[3];
    bool operator<(const State& o) const {
      const auto key = [](const State& s) {
        return std::tuple(s.head, s.changes, s.free, std::vector<uint32_t>(s.links, s.links + 4),
                          std::vector<uint32_t>(s.owned, s.owned + 4));
      };
      if (key(*this) != key(o)) return key(*this) < key(o);
      return std::vector<Thread>(threads, threads + 3) < std::vector<Thread>(o.threads, o.threads + 3);
    }
  };
  enum { kStart, kWalk, kRest, kSwap, kCut, kGiveFree, kGiveHead, kGiveLink, kGiveSwap, kDone };

  // One step of thread t. False when that breaks a rule.
  static bool step(State* s, int t) {
    Thread& me = s->threads[t];
    switch (me.pc) {
      case kStart:  // the load of the head and the look at free_, which only ever refuses early
        me.head = s->head;
        me.count_seen = s->changes;
        if (s->free < me.want || me.head == kNone) {
          me.pc = kDone;
          return true;
        }
        me.first = me.last = me.head;
        me.walked = 1;
        me.pc = me.walked < me.want ? kWalk : kRest;
        return true;
      case kWalk:
        me.last = s->links[me.last];
        ++me.walked;
        if (me.last == kNone) {
          me.pc = s->head == me.head && s->changes == me.count_seen ? kDone : kStart;
          return true;
        }
        me.pc = me.walked < me.want ? kWalk : kRest;
        return true;
      case kRest:
        me.rest = s->links[me.last];
        me.pc = kSwap;
        return true;
      case kSwap:
        if (s->head != me.head || s->changes != me.count_seen) {
          me.pc = kStart;
          return true;
        }
        s->head = me.rest;
        ++s->changes;
        {
          uint32_t at = me.first;
          for (uint32_t i = 0; i < me.want; ++i, at = s->links[at]) {
            if (at == kNone || s->owned[at] != 0) return false;
            s->owned[at] = static_cast<uint32_t>(t) + 1;
          }
        }
        me.pc = kCut;
        return true;
      case kCut:
        s->links[me.last] = kNone;
        s->free -= me.want;
        me.pc = me.gives ? kGiveFree : kDone;
        return true;
      case kGiveFree:
        s->free += me.want;
        me.pc = kGiveHead;
        return true;
      case kGiveHead:
        me.head = s->head;
        me.count_seen = s->changes;
        me.pc = kGiveLink;
        return true;
      case kGiveLink:
        s->links[me.last] = me.head;
        me.pc = kGiveSwap;
        return true;
      default:
        if (s->head != me.head || s->changes != me.count_seen) {
          me.pc = kGiveHead;
          return true;
        }
        {
          uint32_t at = me.first;
          for (uint32_t i = 0; i < me.want; ++i, at = s->links[at]) s->owned[at] = 0;
        }
        s->head = me.first;
        ++s->changes;
        me.pc = kDone;
        return true;
    }
  }

  // At the end the free list and the owned blocks are all blocks, once each.
  static bool adds_up(const State& s) {
    uint32_t count = 0;
    for (uint32_t at = s.head; at != kNone; at = s.links[at]) {
      if (s.owned[at] != 0 || ++count > 4) return false;
    }
    for (const uint32_t owner : s.owned) count += owner != 0;
    return count == 4;
  }
};

TEST(BlockList, EveryInterleavingOfThreeThreads_LosesAndDoublesNothing) {
  size_t ends = 0, visited = 0;
  for (uint32_t wants = 0; wants < 27; ++wants) {
    Model::State first;
    for (uint32_t t = 0, w = wants; t < 3; ++t, w /= 3) {
      first.threads[t].want = 1 + w % 3;
      first.threads[t].gives = t < 2;
    }
    std::set<Model::State> seen{first};
    std::vector<Model::State> open{first};
    while (!open.empty()) {
      const Model::State at = open.back();
      open.pop_back();
      ++visited;
      bool over = true;
      for (int t = 0; t < 3; ++t) {
        if (at.threads[t].pc == Model::kDone) continue;
        over = false;
        Model::State next = at;
        ASSERT_TRUE(Model::step(&next, t)) << "a block was given twice";
        if (seen.insert(next).second) open.push_back(next);
      }
      if (!over) continue;
      ++ends;
      ASSERT_TRUE(Model::adds_up(at));
    }
  }
  EXPECT_GT(ends, 100u);
  EXPECT_GT(visited, 10000u);
}

}  // namespace
}  // namespace dumphook
