// SPDX-License-Identifier: Apache-2.0
#include "pool/queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace dumphook {
namespace {

struct Cells {
  explicit Cells(uint32_t count) : cells(count) { queue.open(cells.data(), count); }
  bool pop(uint32_t* value) {
    if (!queue.peek(value)) return false;
    queue.pop();
    return true;
  }
  std::vector<Queue::Cell> cells;
  Queue queue;
};

TEST(Queue, BehavesAsABoundedFifo_OverRandomSteps) {
  for (const uint32_t size : {2u, 4u, 16u}) {
    Cells cells(size);
    std::deque<uint32_t> model;
    std::mt19937 random(size);
    for (uint32_t step = 0; step < 100000; ++step) {
      if (random() % 2 == 0) {
        ASSERT_EQ(cells.queue.push(step), model.size() < size);
        if (model.size() < size) model.push_back(step);
      } else {
        uint32_t value = 0;
        ASSERT_EQ(cells.queue.peek(&value), !model.empty());
        if (model.empty()) continue;
        ASSERT_EQ(value, model.front());
        cells.queue.pop();
        model.pop_front();
      }
    }
  }
}

TEST(Queue, OfManyProducers_DeliversEachOnce_EachProducersInOrder) {
  constexpr uint32_t kThreads = 8, kEach = 20000;
  Cells cells(64);
  std::vector<uint32_t> payload(kThreads * kEach);  // not atomic: a sanitizer sees whether push publishes
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint32_t value = t * kEach + i;
        payload[value] = value;
        while (!cells.queue.push(value)) std::this_thread::yield();
      }
    });
  }
  std::vector<uint32_t> next(kThreads);
  uint32_t value = 0;
  for (uint32_t got = 0; got < kThreads * kEach;) {
    if (!cells.pop(&value)) {
      std::this_thread::yield();
      continue;
    }
    ++got;
    ASSERT_EQ(payload[value], value);
    ASSERT_EQ(value % kEach, next[value / kEach]++);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(cells.pop(&value));
}

}  // namespace
}  // namespace dumphook
