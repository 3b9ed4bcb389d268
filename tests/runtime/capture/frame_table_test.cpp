// SPDX-License-Identifier: Apache-2.0
#include "capture/frame_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace dumphook {
namespace {

class FrameTableTest : public ::testing::Test {
 protected:
  void SetUp() override { open(DH_MAX_OPEN_FRAMES); }
  void open(uint32_t max_open) {
    Arena measure = Arena::measuring();
    FrameTable().open(measure, max_open);
    memory_.assign(measure.used_bytes() / 8 + 16, ~uint64_t{0});
    auto* base = reinterpret_cast<uint8_t*>(memory_.data());
    base += 64 - reinterpret_cast<uintptr_t>(base) % 64;
    Arena arena{Bytes(base, measure.used_bytes())};
    ASSERT_TRUE(table_->open(arena, max_open));
  }
  dh_frame begin(uint64_t number) {
    const uint32_t slot = table_->begin(number);
    if (slot == FrameTable::kRefused) return FrameTable::refused_handle(number);
    table_->admit(slot);
    return FrameTable::handle(number, slot);
  }
  bool is_open(dh_frame frame) {
    FrameSlot* slot = table_->enter(frame);
    if (slot != nullptr) table_->leave(slot);
    return slot != nullptr;
  }

  std::vector<uint64_t> memory_;
  std::unique_ptr<FrameTable> table_{new FrameTable};
};

TEST_F(FrameTableTest, AFrameIsOpenUntilItsEnd) {
  const dh_frame frame = begin(5);
  EXPECT_TRUE(is_open(frame));
  EXPECT_TRUE(table_->end(frame));
  EXPECT_FALSE(is_open(frame));
  EXPECT_FALSE(table_->end(frame));
}

TEST_F(FrameTableTest, HandlesThatNobodyGaveAreRefused) {
  begin(0);
  for (const dh_frame frame :
       {dh_frame{0}, dh_frame{0xFF}, dh_frame{0xFE}, dh_frame{73}, ~dh_frame{0}, dh_frame{1} << 8 | 1}) {
    EXPECT_FALSE(is_open(frame)) << frame;
    EXPECT_FALSE(table_->end(frame)) << frame;
  }
}

TEST_F(FrameTableTest, Beyond64_TheOldestIsAbandoned) {
  std::vector<dh_frame> frames;
  for (uint64_t i = 0; i < 64; ++i) frames.push_back(begin(i));
  for (const dh_frame frame : frames) EXPECT_TRUE(is_open(frame));
  frames.push_back(begin(64));
  EXPECT_FALSE(is_open(frames[0]));
  for (size_t i = 1; i < 65; ++i) EXPECT_TRUE(is_open(frames[i])) << i;
  const uint32_t finished = table_->next_finished();
  ASSERT_NE(finished, FrameTable::kRefused);
  EXPECT_EQ(table_->slot(finished).number, 0u);
  EXPECT_EQ(FrameTable::phase(table_->slot(finished).gate.state()), FramePhase::abandoned);
}

TEST_F(FrameTableTest, IsRefusedWhileTheWorkerHasNotWrittenOldFrames_AndRecovers) {
  dh_frame last = 0;
  uint32_t begun = 0;
  for (; begun < 1000 && (last & 0xFF) != FrameTable::kRefused; ++begun) {
    last = begin(begun);
    table_->end(last);
  }
  EXPECT_EQ(begun, kFrameSlots + 1);
  EXPECT_FALSE(is_open(last));
  table_->retire(table_->next_finished());
  EXPECT_TRUE(is_open(begin(2000)));
}

TEST_F(FrameTableTest, FramesFinishOnlyWhenTheirTensorsAreEncoded_AndNobodyIsInside) {
  const dh_frame frame = begin(3);
  FrameSlot* slot = table_->enter(frame);
  slot->queued.fetch_add(1);
  table_->end(frame);
  EXPECT_EQ(table_->next_finished(), FrameTable::kRefused);
  table_->leave(slot);
  EXPECT_EQ(table_->next_finished(), FrameTable::kRefused);
  slot->encoded = 1;
  EXPECT_NE(table_->next_finished(), FrameTable::kRefused);
}

TEST_F(FrameTableTest, NumbersMayBeNanosecondsSince1970) {
  const uint64_t now = 1763725000123456789u;
  const dh_frame frame = begin(now);
  EXPECT_TRUE(is_open(frame));
  EXPECT_EQ(table_->number_of(frame), now);
  EXPECT_TRUE(table_->end(frame));
  EXPECT_FALSE(is_open(frame));
  EXPECT_EQ(table_->number_of(frame), now) << "losses after the end still belong to their frame";
  EXPECT_TRUE(is_open(begin(~uint64_t{0})));
}

TEST_F(FrameTableTest, AtClose_AllOpenFramesAreAbandoned) {
  for (uint64_t i = 0; i < 10; ++i) begin(i);
  table_->abandon_all();
  EXPECT_FALSE(table_->any_open());
  int finished = 0;
  for (uint32_t at; (at = table_->next_finished()) != FrameTable::kRefused; ++finished) table_->retire(at);
  EXPECT_EQ(finished, 10);
  EXPECT_FALSE(table_->any_busy());
}

TEST_F(FrameTableTest, UnderLoad_EachFrameFinishesOnce_WithAllItsTensors) {
  constexpr int kThreads = 6, kFrames = 3000;
  std::atomic<uint64_t> next{0}, counted{0}, refused{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kFrames; ++i) {
        const dh_frame frame = begin(next.fetch_add(1));
        if ((frame & 0xFF) == FrameTable::kRefused) {
          refused.fetch_add(1);
          std::this_thread::yield();
          continue;
        }
        for (int k = 0; k < 3; ++k) {
          FrameSlot* slot = table_->enter(frame);
          if (slot == nullptr) continue;
          slot->accepted.fetch_add(1);
          counted.fetch_add(1);
          table_->leave(slot);
        }
        table_->end(frame);
      }
      running.fetch_sub(1);
    });
  }
  uint64_t finished = 0, accepted = 0;
  for (;;) {
    const bool last = running.load() == 0;
    const uint32_t at = table_->next_finished();
    if (at == FrameTable::kRefused) {
      if (last) break;
      std::this_thread::yield();
      continue;
    }
    ++finished;
    accepted += table_->slot(at).accepted.load();
    table_->retire(at);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished + refused, uint64_t{kThreads} * kFrames);
  EXPECT_EQ(accepted, counted);
  EXPECT_FALSE(table_->any_busy());
}

}  // namespace
}  // namespace dumphook
