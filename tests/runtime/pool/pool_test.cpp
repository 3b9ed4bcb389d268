// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace dumphook {
namespace {

struct Opened {
  Opened(uint64_t bytes, uint32_t block_bytes) {
    Arena measure = Arena::measuring();
    Pool().open(measure, bytes, block_bytes, 2);
    size = (measure.used_bytes() + 63) / 64 * 64;
    memory.reset(static_cast<uint8_t*>(std::aligned_alloc(64, size)));
    memset(memory.get(), 0xA5, size);
    Arena arena{Bytes(memory.get(), size)};
    opened = pool.open(arena, bytes, block_bytes, 2);
    used = arena.used_bytes();
    measured = measure.used_bytes();
  }
  struct Free {
    void operator()(uint8_t* block) const { std::free(block); }
  };
  std::unique_ptr<uint8_t, Free> memory;
  size_t size = 0, used = 0, measured = 0;
  bool opened = false;
  Pool pool;
};

TEST(Pool, TakesExactlyWhatItMeasured) {
  for (const uint64_t bytes : {8192u, 12288u, 65536u, 1000000u}) {
    Opened o(bytes, 4096);
    EXPECT_TRUE(o.opened);
    EXPECT_EQ(o.used, o.measured);
    EXPECT_EQ(o.pool.capacity_bytes(), bytes / 4096 * 4096);
  }
}

TEST(Pool, FailsCleanlyInAnArenaThatIsTooSmall) {
  std::vector<uint64_t> memory(1000);
  Arena arena{Bytes(reinterpret_cast<uint8_t*>(memory.data()), 8000)};
  Pool pool;
  EXPECT_FALSE(pool.open(arena, 65536, 4096, 2));
}

TEST(Pool, AnEmptyTensorTakesOneBlock) {
  Opened o(16384, 4096);
  EXPECT_EQ(o.pool.blocks_for(0), 1u);
  EXPECT_EQ(o.pool.blocks_for(4096), 1u);
  EXPECT_EQ(o.pool.blocks_for(4097), 2u);
}

TEST(Pool, RefusesWhenFull_AndTakesAgainAfterRelease) {
  Opened o(16384, 4096);
  const uint32_t first = o.pool.reserve(16384);
  ASSERT_NE(first, BlockList::kNone);
  EXPECT_EQ(o.pool.reserve(1), BlockList::kNone);
  o.pool.note_peak();
  o.pool.record(first).block_count = 4;
  o.pool.publish(first);
  uint32_t peeked = 0;
  ASSERT_TRUE(o.pool.peek(&peeked));
  EXPECT_EQ(peeked, first);
  o.pool.release(peeked);
  EXPECT_EQ(o.pool.used_bytes(), 0u);
  EXPECT_EQ(o.pool.peak_bytes(), 16384u);
  EXPECT_NE(o.pool.reserve(16384), BlockList::kNone);
}

TEST(Pool, CarriesEveryByteOfManyThreads) {
  constexpr uint32_t kThreads = 8, kEach = 2000;
  Opened o(256 * 1024, 4096);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint64_t bytes = (t * 977 + i * 331) % 20000;
        uint32_t first;
        while ((first = o.pool.reserve(bytes)) == BlockList::kNone) std::this_thread::yield();
        o.pool.note_peak();
        uint32_t block = first;
        for (uint64_t left = bytes; left != 0; block = o.pool.next(block)) {
          const uint64_t step = left < 4096 ? left : 4096;
          memset(o.pool.block(block), static_cast<int>(t * 31 + i), step);
          left -= step;
        }
        Record& record = o.pool.record(first);
        record.capture_id = t * kEach + i;
        record.stored_bytes = bytes;
        record.block_count = o.pool.blocks_for(bytes);
        o.pool.publish(first);
      }
    });
  }
  std::vector<bool> seen(kThreads * kEach);
  for (uint32_t got = 0; got < kThreads * kEach;) {
    uint32_t first = 0;
    if (!o.pool.peek(&first)) {
      std::this_thread::yield();
      continue;
    }
    ++got;
    const Record& record = o.pool.record(first);
    ASSERT_FALSE(seen[record.capture_id]);
    seen[record.capture_id] = true;
    const auto value = static_cast<uint8_t>(record.capture_id / kEach * 31 + record.capture_id % kEach);
    uint32_t block = first;
    for (uint64_t left = record.stored_bytes; left != 0; block = o.pool.next(block)) {
      const uint64_t step = left < 4096 ? left : 4096;
      ASSERT_EQ(o.pool.block(block)[0], value);
      ASSERT_EQ(o.pool.block(block)[step - 1], value);
      left -= step;
    }
    o.pool.release(first);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(o.pool.used_bytes(), 0u);
}

}  // namespace
}  // namespace dumphook
