// SPDX-License-Identifier: Apache-2.0
// Encoder and Reporter on a spool that the test empties as it likes.
#include "encode/encoder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "capture/hook.h"
#include "encode/reporter.h"

extern "C" {
uint32_t dh_epoch = 1;
}

namespace dumphook {
namespace {

class EncoderTest : public ::testing::Test {
 protected:
  void open(size_t spool_bytes, dh_policy policy = DH_POLICY_DROP, size_t string_bytes = 32768) {
    const auto carve = [&](Arena& arena) {
      pool_.open(arena, 65536, 4096, 4);
      tensors_.open(arena, &names_, 8);
      frames_.open(arena, 64);
      state_.open(arena, 8, &strings_);
      EncoderOptions options;
      options.part_bytes = 8192;
      encoder_.open(options, arena, &pool_, &tensors_, &frames_, &spool_, &state_, &emitter_, &gate_);
    };
    Arena measure = Arena::measuring();
    carve(measure);
    const size_t size = (measure.used_bytes() + 63) / 64 * 64;
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, size)));
    Arena arena{Bytes(memory_.get(), size)};
    carve(arena);
    text_.assign(16384, 0);
    auto* text = reinterpret_cast<uint8_t*>(text_.data());
    names_ = Arena(Bytes(text, 65536));
    strings_ = Arena(Bytes(text + 65536, string_bytes));
    ring_.assign(spool_bytes / 8, 0);
    spool_.open(reinterpret_cast<uint8_t*>(ring_.data()), spool_bytes);
    const Clock clock = Clock::system();
    emitter_.open(&spool_, &waiting_, &state_, clock);
    gate_.open(&tensors_, &frames_, &waiting_, &emitter_);
    reporter_.open(&tensors_, &frames_, &pool_, &spool_, &state_, &emitter_, &encoder_, &gate_, clock);
    HookOptions hook;
    hook.policy = policy;
    hook.part_bytes = 8192;
    hook.block_timeout_ns = ~uint64_t{0} / 4;
    hook.clock = clock;
    hook.wait_user = this;
    hook.wait_for_room = [](void* self, uint64_t) {
      auto* test = static_cast<EncoderTest*>(self);
      test->while_waiting();
      return --test->waits_left_ != 0;
    };
    hook_.open(hook, &pool_, &tensors_, &frames_);
    Selection all;
    std::strcpy(all.include, "*");
    tensors_.select(all);
    const uint32_t slot = frames_.begin(5);
    frames_.admit(slot);
    frame_ = FrameTable::handle(5, slot);
  }
  Status capture(const std::string& data) {
    dh_tensor tensor = dh_tensor_default();
    tensor.name = "t";
    tensor.dtype = DH_U8;
    tensor.rank = 1;
    tensor.shape[0] = static_cast<int64_t>(data.size());
    tensor.data = data.data();
    return hook_.capture(nullptr, frame_, tensor);
  }
  // As a sink would: everything in the spool is gone. Returns how many tensors that completed.
  uint64_t ship() {
    uint64_t last_parts = 0;
    for (; !spool_.empty(); spool_.pop()) last_parts += spool_.entry(spool_.begin()).last_part;
    return last_parts;
  }
  uint64_t lost(dh_loss_reason reason) { return tensors_.entry(0).lost[reason].count.load(); }
  // Worker's side while the hook waits: encode a piece, or throw it away.
  void while_waiting() {
    if (discard_next_ > 0 && --discard_next_ == 0) {
      encoder_.discard(DH_LOSS_SINK_ERROR);
      return;
    }
    while (encoder_.step() == Step::progressed) last_parts_ += ship();
  }

  struct Free {
    void operator()(uint8_t* block) const { std::free(block); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  std::vector<uint64_t> text_, ring_;
  Arena names_{Bytes()}, strings_{Bytes()};
  Pool pool_;
  TensorTable tensors_;
  FrameTable frames_;
  Hook hook_;
  Spool spool_;
  StreamState state_;
  Spool waiting_;
  Emitter emitter_;
  TriggerGate gate_;
  Encoder encoder_;
  Reporter reporter_;
  dh_frame frame_ = 0;
  int waits_left_ = -1;  // before the deadline
  int discard_next_ = 0;
  uint64_t last_parts_ = 0;
};

TEST_F(EncoderTest, IsBlockedByAFullSpool_AndGoesOnWhereItWas) {
  open(256 << 10);
  std::string data(60000, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 2654435761u >> 13);
  uint64_t shipped = 0;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(capture(data), DH_OK);
    Step step = Step::progressed;
    while (step == Step::progressed) step = encoder_.step();
    if (step == Step::blocked) {
      shipped += ship();
      while (encoder_.step() == Step::progressed) {
      }
    }
    EXPECT_TRUE(encoder_.idle());
  }
  EXPECT_EQ(shipped + ship(), 20u);
  EXPECT_EQ(encoder_.raw_bytes(), 20u * 60000);
}

TEST_F(EncoderTest, WithoutRoomForDescriptors_TheTensorIsLost_NotTheQueue) {
  open(256 << 10, DH_POLICY_DROP, 16);
  ASSERT_EQ(capture("abc"), DH_OK);
  ASSERT_EQ(capture("abc"), DH_OK);
  while (encoder_.step() == Step::progressed) {
  }
  EXPECT_TRUE(encoder_.idle());
  EXPECT_EQ(lost(DH_LOSS_NO_DESCRIPTOR_ROOM), 2u);
}

class EncoderPieces : public EncoderTest, public ::testing::WithParamInterface<int> {};

TEST_P(EncoderPieces, ATensorThatLosesOne_IsLostOnce_AndItsOthersAreNotSent) {
  open(256 << 10, DH_POLICY_BLOCK);
  discard_next_ = GetParam();
  ASSERT_EQ(capture(std::string(300000, 'x')), DH_OK);
  while (encoder_.step() == Step::progressed) last_parts_ += ship();
  EXPECT_EQ(last_parts_, 0u) << "else it is counted as shipped, too";
  EXPECT_EQ(lost(DH_LOSS_SINK_ERROR), 1u);
  EXPECT_EQ(pool_.used_bytes(), 0u);
  frames_.end(frame_);
  EXPECT_NE(frames_.next_finished(), FrameTable::kRefused);
}

INSTANTIATE_TEST_SUITE_P(FirstSecondThird, EncoderPieces, ::testing::Values(1, 2, 3));

TEST_F(EncoderTest, ATensorThatMeetsItsDeadlineHalfway_IsLostOnce) {
  open(256 << 10, DH_POLICY_BLOCK);
  waits_left_ = 2;
  ASSERT_EQ(capture(std::string(300000, 'x')), DH_DROPPED);
  while (encoder_.step() == Step::progressed) last_parts_ += ship();
  EXPECT_EQ(last_parts_, 0u);
  EXPECT_EQ(lost(DH_LOSS_POOL_FULL), 1u);
  FrameSlot* slot = frames_.find_busy(5);
  ASSERT_NE(slot, nullptr);
  EXPECT_EQ(slot->accepted, 0u);
  EXPECT_EQ(slot->lost[DH_LOSS_POOL_FULL], 1u);
  EXPECT_EQ(pool_.used_bytes(), 0u);
}

TEST_F(EncoderTest, DiscardingOnlyTheClosingRecordLosesNothing) {
  open(1 << 20, DH_POLICY_BLOCK);
  ASSERT_EQ(capture(std::string(70000, 'x')), DH_OK);
  while (last_parts_ == 0) {
    ASSERT_EQ(encoder_.step(), Step::progressed);
    last_parts_ += ship();
  }
  EXPECT_FALSE(encoder_.idle());
  EXPECT_TRUE(encoder_.discard(DH_LOSS_SINK_ERROR));
  EXPECT_EQ(lost(DH_LOSS_SINK_ERROR), 0u) << "all its bytes were sent";
}

TEST_F(EncoderTest, AfterStartingOver_TheReporterTellsItsLossesOnceMore) {
  open(256 << 10);
  ASSERT_EQ(capture(std::string(100000, 'x')), DH_DROPPED);
  frames_.end(frame_);
  const auto count_messages = [&] {
    uint64_t n = 0;
    for (int i = 0; i < 20 && reporter_.step(1) == Step::progressed; ++i) {
    }
    for (; !spool_.empty(); spool_.pop()) n += spool_.entry(spool_.begin()).channel_id == kLossChannel.channel;
    return n;
  };
  EXPECT_EQ(count_messages(), 1u);
  EXPECT_EQ(count_messages(), 0u);
  reporter_.start_over();
  EXPECT_EQ(count_messages(), 1u);
}

}  // namespace
}  // namespace dumphook
