// SPDX-License-Identifier: Apache-2.0
#include "capture/hook.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

extern "C" {
uint32_t dh_epoch = 1;
}

namespace dumphook {
namespace {

// A hook with all it needs, and the worker's end in the test's hands.
class HookTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kBlock = 4096, kPart = 8192;
  static constexpr uint64_t kTimeoutNs = 3000;

  void open(uint64_t pool_bytes, dh_policy policy = DH_POLICY_DROP) {
    const auto carve = [&](Arena& arena) {
      pool_.open(arena, pool_bytes, kBlock, 4);
      tensors_.open(arena, &strings_, 16);
      frames_.open(arena, 64);
    };
    Arena measure = Arena::measuring();
    carve(measure);
    const size_t size = (measure.used_bytes() + 63) / 64 * 64;
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, size)));
    Arena arena{Bytes(memory_.get(), size)};
    carve(arena);
    text_.assign(8192, 0);
    strings_ = Arena(Bytes(reinterpret_cast<uint8_t*>(text_.data()), 65536));
    Selection all;
    std::strcpy(all.include, "*");
    std::strcpy(all.exclude, "off*");
    tensors_.select(all);
    HookOptions options;
    options.policy = policy;
    options.part_bytes = kPart;
    options.block_timeout_ns = kTimeoutNs;
    options.clock.user = this;
    options.clock.read_monotonic = [](void* self) { return static_cast<HookTest*>(self)->now_ns_; };
    options.wait_user = this;
    options.wait_for_room = [](void* self, uint64_t deadline_ns) {
      auto* test = static_cast<HookTest*>(self);
      test->now_ns_ += 100;
      if (test->now_ns_ >= deadline_ns) return false;
      if (test->while_waiting_) test->while_waiting_();
      return true;
    };
    hook_.open(options, &pool_, &tensors_, &frames_);
    frame_ = begin(0);
  }
  dh_frame begin(uint64_t number) {
    const uint32_t slot = frames_.begin(number);
    if (slot == FrameTable::kRefused) return FrameTable::refused_handle(number);
    frames_.admit(slot);
    return FrameTable::handle(number, slot);
  }
  FrameSlot& slot() { return frames_.slot(static_cast<uint32_t>(frame_ & 0xFF) - 1); }

  dh_tensor of_bytes(uint64_t bytes, const char* name = "t") {
    if (data_.size() < bytes) {
      data_.resize(bytes);
      for (size_t i = 0; i < bytes; ++i) data_[i] = static_cast<char>(i * 7 + i / 4096);
    }
    dh_tensor tensor = dh_tensor_default();
    tensor.name = name;
    tensor.dtype = DH_U8;
    tensor.rank = 1;
    tensor.shape[0] = static_cast<int64_t>(bytes);
    tensor.data = data_.data();
    return tensor;
  }

  struct Popped {
    Record record;
    std::string bytes;
  };
  // Takes the oldest record as the worker would.
  bool pop(Popped* out) {
    uint32_t first = 0;
    if (!pool_.peek(&first)) return false;
    out->record = pool_.record(first);
    out->bytes.clear();
    uint64_t left = out->record.stored_bytes;
    for (uint32_t block = first; left != 0; block = pool_.next(block)) {
      const uint64_t step = left < kBlock ? left : kBlock;
      out->bytes.append(reinterpret_cast<char*>(pool_.block(block)), step);
      left -= step;
    }
    pool_.release(first);
    return true;
  }
  uint64_t lost(dh_loss_reason reason, const char* name = "t") {
    TensorEntry* entry = tensors_.find("model", name);
    return entry == nullptr ? 0 : entry->lost[reason].count.load();
  }

  struct Free {
    void operator()(uint8_t* block) const { std::free(block); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  std::vector<uint64_t> text_;
  std::string data_;
  Arena strings_{Bytes()};
  Pool pool_;
  TensorTable tensors_;
  FrameTable frames_;
  Hook hook_;
  dh_frame frame_ = 0;
  uint64_t now_ns_ = 1;
  std::function<void()> while_waiting_;
};

TEST_F(HookTest, PutsTheBytesAndTheDescriptionIntoThePool) {
  open(65536);
  dh_tensor tensor = of_bytes(10000);
  tensor.logical_rank = 1;
  tensor.logical_shape[0] = 9000;
  tensor.role = DH_ROLE_OUTPUT;
  tensor.instance = 3;
  ASSERT_EQ(hook_.capture(nullptr, frame_, tensor), DH_OK);
  Popped got;
  ASSERT_TRUE(pop(&got));
  EXPECT_EQ(got.bytes, data_.substr(0, 10000));
  EXPECT_TRUE(got.record.first && got.record.last);
  EXPECT_EQ(got.record.total_bytes, 10000u);
  EXPECT_EQ(got.record.block_count, 3u);
  EXPECT_EQ(got.record.shape[0], 10000);
  EXPECT_EQ(got.record.logical_shape[0], 9000);
  EXPECT_EQ(got.record.instance, 3u);
  EXPECT_EQ(got.record.role, DH_ROLE_OUTPUT);
  EXPECT_EQ(slot().seen, 1u);
  EXPECT_EQ(slot().accepted, 1u);
}

TEST_F(HookTest, CopiesScalesAndZeroPointsBehindTheBytes_AtEveryLength) {
  open(65536);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4091}, uint64_t{4096}, uint64_t{8188}, uint64_t{8192}}) {
    std::vector<float> scale(bytes <= 8192 ? bytes : 0);
    std::vector<int32_t> zero(scale.size());
    for (size_t i = 0; i < scale.size(); ++i)
      scale[i] = static_cast<float>(i) + 0.5f, zero[i] = static_cast<int32_t>(i);
    dh_tensor tensor = of_bytes(bytes, "q");
    tensor.quant.kind = DH_QUANT_PER_AXIS;
    tensor.quant.count = static_cast<uint32_t>(bytes);
    tensor.quant.scale = scale.data();
    tensor.quant.zero_point = zero.data();
    const uint64_t too_big_before = lost(DH_LOSS_TOO_BIG, "q");
    const Status status = hook_.capture(nullptr, frame_, tensor);
    if (bytes + 8 * bytes > pool_.capacity_bytes()) {
      EXPECT_EQ(status, DH_DROPPED);
      EXPECT_EQ(lost(DH_LOSS_TOO_BIG, "q"), too_big_before + 1);
      continue;
    }
    ASSERT_EQ(status, DH_OK);
    uint32_t first = 0;
    ASSERT_TRUE(pool_.peek(&first));
    std::string all;
    for (uint32_t block = first; block != BlockList::kNone; block = pool_.next(block)) {
      all.append(reinterpret_cast<char*>(pool_.block(block)), kBlock);
    }
    const size_t at = (bytes + 7) / 8 * 8;
    EXPECT_EQ(memcmp(all.data() + at, scale.data(), 4 * bytes), 0);
    EXPECT_EQ(memcmp(all.data() + at + 4 * bytes, zero.data(), 4 * bytes), 0);
    pool_.release(first);
  }
}

TEST_F(HookTest, DropsWhenFull_AndCounts_AndGoesOnWhenThereIsRoom) {
  open(16384);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(16384)), DH_OK);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(1)), DH_DROPPED);
  EXPECT_EQ(lost(DH_LOSS_POOL_FULL), 1u);
  EXPECT_EQ(slot().lost[DH_LOSS_POOL_FULL], 1u);
  Popped got;
  ASSERT_TRUE(pop(&got));
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(1)), DH_OK);
  ASSERT_TRUE(pop(&got));
  EXPECT_EQ(got.record.occurrence, 2u) << "a lost capture takes its occurrence along";
}

TEST_F(HookTest, WhatExceedsTheWholePoolIsTooBig_AndSaysWhatItNeeds) {
  open(16384);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(16385)), DH_DROPPED);
  EXPECT_EQ(lost(DH_LOSS_TOO_BIG), 1u);
  EXPECT_EQ(tensors_.find("model", "t")->too_big_bytes, 16385u);
}

TEST_F(HookTest, UnderBlock_WaitsForRoom) {
  open(16384, DH_POLICY_BLOCK);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(16384)), DH_OK);
  while_waiting_ = [&] {
    Popped got;
    pop(&got);
  };
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(16384)), DH_OK);
}

TEST_F(HookTest, UnderBlock_DropsAtTheDeadline_NotLater) {
  open(16384, DH_POLICY_BLOCK);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(16384)), DH_OK);
  now_ns_ = 5000;
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(1)), DH_DROPPED);
  EXPECT_LE(now_ns_, 5000 + kTimeoutNs + 100);
  EXPECT_EQ(lost(DH_LOSS_POOL_FULL), 1u);
}

TEST_F(HookTest, UnderBlock_ATensorLargerThanThePoolFlowsThroughInPieces) {
  open(32768, DH_POLICY_BLOCK);
  constexpr uint64_t kTotal = 200000;
  std::vector<Popped> pieces;
  const auto take_one = [&] {
    Popped got;
    if (pop(&got)) pieces.push_back(got);
  };
  while_waiting_ = take_one;
  ASSERT_EQ(hook_.capture(nullptr, frame_, of_bytes(kTotal)), DH_OK);
  Popped got;
  while (pop(&got)) pieces.push_back(got);
  std::string all;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Record& record = pieces[i].record;
    EXPECT_EQ(record.offset, all.size());
    EXPECT_EQ(record.first, i == 0);
    EXPECT_EQ(record.last, i + 1 == pieces.size());
    EXPECT_FALSE(record.truncated);
    if (i + 2 < pieces.size()) {
      EXPECT_EQ(record.stored_bytes % kPart, 0u);
    }
    all += pieces[i].bytes;
  }
  EXPECT_EQ(pieces.back().bytes, "");
  EXPECT_EQ(all, data_.substr(0, kTotal));
  EXPECT_EQ(slot().accepted, 1u);
  EXPECT_EQ(slot().queued, 1u);
}

TEST_F(HookTest, UnderBlock_ATensorInPiecesThatMeetsItsDeadlineIsClosedAsTruncated) {
  open(32768, DH_POLICY_BLOCK);
  int pops = 0;
  std::vector<Popped> pieces;
  while_waiting_ = [&] {
    Popped got;
    if (++pops <= 2 && pop(&got)) pieces.push_back(got);
  };
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(200000)), DH_DROPPED);
  Popped got;
  while (pop(&got)) pieces.push_back(got);
  ASSERT_GE(pieces.size(), 3u);
  EXPECT_TRUE(pieces.back().record.truncated);
  EXPECT_TRUE(pieces.back().record.last);
  EXPECT_EQ(lost(DH_LOSS_POOL_FULL), 0u) << "the worker counts it";
  EXPECT_EQ(slot().accepted, 1u) << "and takes this back";
  EXPECT_EQ(slot().queued, 1u) << "the frame waits for what is in the queue";
  EXPECT_EQ(pool_.used_bytes(), 0u);
}

TEST_F(HookTest, UnderBlock_WhenNotEvenTheFirstPieceFits_TheClosingRecordIsNotAPart) {
  open(32768, DH_POLICY_BLOCK);
  ASSERT_EQ(hook_.capture(nullptr, frame_, of_bytes(24576)), DH_OK);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(200000)), DH_DROPPED);
  Popped got;
  ASSERT_TRUE(pop(&got));
  ASSERT_TRUE(pop(&got));
  EXPECT_TRUE(got.record.truncated);
  EXPECT_FALSE(got.record.first) << "else the encoder takes it for an empty tensor";
}

TEST_F(HookTest, UnderBlock_ScalesThatLeaveNoRoomMakeATensorTooBig_WithoutWaiting) {
  open(16384, DH_POLICY_BLOCK);
  std::vector<float> scale(8000, 1.0f);
  dh_tensor tensor = of_bytes(8000);
  tensor.quant.kind = DH_QUANT_PER_AXIS;
  tensor.quant.count = 8000;
  tensor.quant.scale = scale.data();
  now_ns_ = 77;
  EXPECT_EQ(hook_.capture(nullptr, frame_, tensor), DH_DROPPED);
  EXPECT_EQ(lost(DH_LOSS_TOO_BIG), 1u);
  EXPECT_EQ(now_ns_, 77u);
}

TEST_F(HookTest, AnEmptyTensorIsARecordToo) {
  open(16384);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(0)), DH_OK);
  Popped got;
  ASSERT_TRUE(pop(&got));
  EXPECT_EQ(got.record.stored_bytes, 0u);
  EXPECT_TRUE(got.record.first && got.record.last);
}

TEST_F(HookTest, CapturesAfterTheFramesEndAreAbandoned_AndThoseOfARefusedFrameRefused) {
  open(16384);
  frames_.end(frame_);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(1)), DH_DROPPED);
  EXPECT_EQ(lost(DH_LOSS_ABANDONED), 1u);
  EXPECT_EQ(hook_.capture(nullptr, FrameTable::refused_handle(9), of_bytes(1)), DH_DROPPED);
  EXPECT_EQ(lost(DH_LOSS_FRAME_REFUSED), 1u);
  LossCell& cell = tensors_.find("model", "t")->lost[DH_LOSS_FRAME_REFUSED];
  EXPECT_EQ(cell.take().first_frame, 9u);
}

TEST_F(HookTest, ATapThatIsOffSaysSoUntilTheEpochChanges) {
  open(16384);
  dh_tap tap = DH_TAP_INIT;
  EXPECT_TRUE(dh_tap_on(&tap));
  EXPECT_EQ(hook_.capture(&tap, frame_, of_bytes(1, "off1")), DH_SKIPPED);
  EXPECT_FALSE(dh_tap_on(&tap));
  __atomic_fetch_add(&dh_epoch, 1u, __ATOMIC_RELEASE);
  EXPECT_TRUE(dh_tap_on(&tap));
}

TEST_F(HookTest, ATapUsedForSeveralNamesFilesEachUnderItsOwn) {
  open(65536);
  dh_tap tap = DH_TAP_INIT;
  char name[8] = "a";
  for (int i = 0; i < 6; ++i) {
    name[0] = static_cast<char>('a' + i % 2);
    ASSERT_EQ(hook_.capture(&tap, frame_, of_bytes(1, name)), DH_OK);
    Popped got;
    ASSERT_TRUE(pop(&got));
    EXPECT_STREQ(tensors_.entry(got.record.tensor_id).name, i % 2 == 0 ? "a" : "b");
  }
}

TEST_F(HookTest, RefusesBadArguments_WithoutCountingThem) {
  open(16384);
  dh_tensor tensor = of_bytes(4);
  tensor.name = nullptr;
  EXPECT_EQ(hook_.capture(nullptr, frame_, tensor), DH_ERR_ARGUMENT);
  tensor.name = "";
  EXPECT_EQ(hook_.capture(nullptr, frame_, tensor), DH_ERR_ARGUMENT);
  tensor = of_bytes(4);
  tensor.struct_size = 8;
  EXPECT_EQ(hook_.capture(nullptr, frame_, tensor), DH_ERR_ARGUMENT);
  tensor = of_bytes(4);
  tensor.origin_count = 1;
  EXPECT_EQ(hook_.capture(nullptr, frame_, tensor), DH_ERR_ARGUMENT);
  const std::string long_text(DH_MAX_NAME_BYTES + 1, 'x');
  const std::string longest(DH_MAX_NAME_BYTES, 'x');
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(4, long_text.c_str())), DH_ERR_LIMIT);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(4, longest.c_str())), DH_OK);
  for (const char* dh_tensor::*field : {&dh_tensor::model, &dh_tensor::op, &dh_tensor::raw_type}) {
    tensor = of_bytes(4, "n");
    tensor.*field = long_text.c_str();
    EXPECT_EQ(hook_.capture(nullptr, frame_, tensor), DH_ERR_LIMIT);
  }
  EXPECT_EQ(slot().seen, 1u);
}

TEST_F(HookTest, AFramesByteLimitSkipsWhatGoesBeyond) {
  open(65536);
  slot().byte_limit = 1000;
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(600)), DH_OK);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(600)), DH_SKIPPED);
  EXPECT_EQ(hook_.capture(nullptr, frame_, of_bytes(400)), DH_OK);
  EXPECT_EQ(slot().seen, 2u);
}

}  // namespace
}  // namespace dumphook
