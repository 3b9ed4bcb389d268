// SPDX-License-Identifier: Apache-2.0
// Triggers and the ring before them: what is shipped, what is counted, and what the log says of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "open_session.h"

namespace {

using test_reader::Stream;

class TriggerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_ = callback_options(&collector_);
    options_.flags = DH_FLAG_NO_WORKER;  // the test is the worker
    options_.pretrigger_bytes = 256 << 10;
    options_.triggers = "nan";
  }
  void open() { ASSERT_EQ(dh_open(&options_, &session_), DH_OK) << collector_.log(); }
  void pump() {
    while (dh_pump(session_, 1000) == DH_OK) {
    }
  }
  // Random, so that it does not compress, and the last element as given.
  std::vector<float> values(size_t count, float last) {
    std::vector<float> out(count);
    for (float& value : out) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    if (count != 0) out.back() = last;
    return out;
  }
  void capture(dh_frame frame, const char* name, const std::vector<float>& data, dh_status expected = DH_OK) {
    dh_tensor tensor = dh_tensor_default();
    tensor.name = name;
    tensor.dtype = DH_F32;
    tensor.rank = 1;
    tensor.shape[0] = static_cast<int64_t>(data.size());
    tensor.data = data.data();
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), expected);
  }
  // One frame of tensors "a", "b", "c"; b's last value as given.
  void run_frame(uint64_t number, float last = 0, size_t count = 1000) {
    const dh_frame frame = begin_frame(session_, number);
    for (const char* name : {"a", "b", "c"}) {
      capture(frame, name, values(count, *name == 'b' ? last : 0));
      pump();
      check_sum();
    }
    dh_frame_end(session_, frame);
    pump();
  }
  void check_sum() {
    const dh_counter_values values = counters_of(session_);
    ASSERT_EQ(values.seen, values.shipped + values.in_flight + lost_sum(values));
  }
  Stream close() {
    EXPECT_EQ(dh_close(session_), DH_OK) << "not_triggered is what was asked for";
    Stream stream = test_reader::read_stream(collector_.bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    uint64_t whole = 0;
    for (const auto& [id, tensor] : stream.tensors) whole += tensor.whole();
    const auto& last = stream.counters.back();
    EXPECT_TRUE(last.closing);
    EXPECT_EQ(whole + stream.summaries.size(), last.shipped + last.in_flight)
        << "what is not whole was counted as lost";
    EXPECT_EQ(last.seen, whole + stream.summaries.size() + last.lost_sum());
    return stream;
  }
  static std::set<uint64_t> whole_frames(const Stream& stream, size_t tensors) {
    std::set<uint64_t> frames;
    for (const auto& [number, frame] : stream.frames) {
      const auto in_frame = [wanted = number](const auto& entry) {
        return entry.second.frame == wanted && entry.second.whole();
      };
      const auto have = std::count_if(stream.tensors.begin(), stream.tensors.end(), in_frame);
      if (static_cast<size_t>(have) == tensors && frame.begins == 1 && frame.ends == 1 && frame.state == 0)
        frames.insert(number);
    }
    return frames;
  }
  static std::set<uint64_t> range(uint64_t first, uint64_t last) {
    std::set<uint64_t> out;
    for (; first <= last; ++first) out.insert(first);
    return out;
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
  std::mt19937 random_{1};
};

TEST_F(TriggerTest, ShipsWhatTheRingHeld_TheFrameThatFired_AndThoseAfter) {
  options_.triggers = "nan,after:2";
  open();
  for (uint64_t frame = 0; frame < 100; ++frame) run_frame(frame, frame == 60 ? NAN : 0.0f);
  EXPECT_EQ(counters_of(session_).lost[DH_LOSS_NOT_TRIGGERED] % 3, 0u) << "whole frames give way";
  const Stream stream = close();
  ASSERT_FALSE(stream.frames.empty());
  const uint64_t first = stream.frames.begin()->first;
  EXPECT_EQ(whole_frames(stream, 3), range(first, 62));
  EXPECT_EQ(stream.frames.size(), 63 - first);
  // 12 KB a frame: about twenty of them in 256 KiB.
  EXPECT_GT(first, 35u);
  EXPECT_LT(first, 45u);
  const std::string held =
      std::to_string(60 - first) + " earlier frames were held, from " + std::to_string(first) + " on";
  EXPECT_NE(joined(stream.logs).find("trigger nan fired by /model/b in frame 60: " + held), std::string::npos)
      << joined(stream.logs);
  EXPECT_NE(collector_.log().find(held), std::string::npos) << "the app is told, too";
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(stream.lost_in(stream.id_of(name), 0));
    EXPECT_TRUE(stream.lost_in(stream.id_of(name), 99));
    EXPECT_EQ(stream.lost(stream.id_of(name)), 100 - (63 - first));
  }
}

TEST_F(TriggerTest, IsArmedAgainAfterwards_AndAnotherOneInBetweenProlongsIt) {
  options_.triggers = "nan,after:3";
  open();
  for (uint64_t frame = 0; frame < 120; ++frame)
    run_frame(frame, frame == 40 || frame == 42 || frame == 100 ? NAN : 0.0f, 4000);
  const Stream stream = close();
  const std::set<uint64_t> whole = whole_frames(stream, 3);
  const uint64_t first = *whole.begin(), second = *whole.upper_bound(45);
  std::set<uint64_t> expected = range(first, 45), again = range(second, 103);
  expected.insert(again.begin(), again.end());
  EXPECT_EQ(whole, expected);
  EXPECT_GT(second, 90u);
  EXPECT_EQ(std::count_if(stream.logs.begin(), stream.logs.end(),
                          [](const std::string& line) { return line.find("fired") != std::string::npos; }),
            2);
}

TEST_F(TriggerTest, WithoutARing_ShipsWhatFollows) {
  options_.pretrigger_bytes = 0;
  options_.triggers = "nan,after:1";
  open();
  for (uint64_t frame = 0; frame < 10; ++frame) run_frame(frame, frame == 5 ? NAN : 0.0f);
  const Stream stream = close();
  EXPECT_EQ(whole_frames(stream, 3), range(6, 6));
  ASSERT_EQ(stream.frames.count(5), 1u);
  const test_reader::Frame& fired = stream.frames.at(5);
  EXPECT_EQ(fired.state, 2u) << "incomplete: a went by before b fired";
  EXPECT_EQ(fired.accepted, 2u);
  EXPECT_EQ(fired.lost.at(DH_LOSS_NOT_TRIGGERED), 1u);
  EXPECT_EQ(stream.frames.size(), 2u);
}

TEST_F(TriggerTest, AnEventShipsWhatIsHeld) {
  options_.triggers = "event:odd result";
  open();
  for (uint64_t frame = 0; frame < 5; ++frame) run_frame(frame);
  EXPECT_EQ(dh_event(session_, "another"), DH_SKIPPED);
  const dh_frame open_frame = begin_frame(session_, 5);
  capture(open_frame, "a", values(10, 0));
  EXPECT_EQ(dh_event(session_, "odd result"), DH_OK);
  capture(open_frame, "b", values(10, 0));
  pump();
  capture(open_frame, "c", values(10, 0));
  dh_frame_end(session_, open_frame);
  run_frame(6);
  const Stream stream = close();
  EXPECT_EQ(whole_frames(stream, 3), range(0, 5));
  EXPECT_EQ(stream.frames.size(), 6u);
  EXPECT_NE(joined(stream.logs).find("event:odd result fired: 5 earlier frames were held, from 0 on"),
            std::string::npos)
      << joined(stream.logs);
}

TEST_F(TriggerTest, AFrameLargerThanTheRingKeepsItsEnd) {
  open();
  const dh_frame frame = begin_frame(session_, 7);
  // 200 KB each, in parts of 64 KiB: the ring has room for one.
  for (const char* name : {"a", "b", "c", "d"}) {
    capture(frame, name, values(50000, *name == 'd' ? NAN : 0.0f));
    pump();
    check_sum();
  }
  dh_frame_end(session_, frame);
  const Stream stream = close();
  const test_reader::Frame& ended = stream.frames.at(7);
  EXPECT_EQ(ended.seen, 4u);
  EXPECT_EQ(ended.accepted + ended.lost.at(DH_LOSS_NOT_TRIGGERED), 4u);
  EXPECT_EQ(ended.state, 2u);
  ASSERT_EQ(stream.of("d").size(), 1u);
  EXPECT_TRUE(stream.of("d")[0]->whole());
}

TEST_F(TriggerTest, JudgesOnlyTensorsOfItsGlob_AndRealValues) {
  options_.triggers = "nan@c, range:..2@quantised";
  open();
  run_frame(1, NAN);
  const std::vector<int8_t> stored = {3, 5, 11};
  for (const float scale : {0.1f, 0.5f}) {  // at most 0.6, then 3 real
    const int32_t zero_point = 5;
    dh_tensor tensor = dh_tensor_default();
    tensor.name = "quantised";
    tensor.dtype = DH_I8;
    tensor.rank = 1;
    tensor.shape[0] = 3;
    tensor.data = stored.data();
    tensor.quant.kind = DH_QUANT_PER_TENSOR;
    tensor.quant.count = 1;
    tensor.quant.scale = &scale;
    tensor.quant.zero_point = &zero_point;
    const dh_frame frame = begin_frame(session_, scale == 0.1f ? 2 : 3);
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
    dh_frame_end(session_, frame);
    pump();
    EXPECT_EQ(counters_of(session_).in_flight, scale == 0.1f ? 4u : 0u);
  }
  const Stream stream = close();
  EXPECT_NE(joined(stream.logs).find("by /model/quantised in frame 3: 2 earlier frames"), std::string::npos)
      << joined(stream.logs);
}

TEST_F(TriggerTest, ChangesWhileRunning) {
  options_.triggers = nullptr;
  open();
  run_frame(1);
  EXPECT_EQ(dh_configure(session_, "triggers = bogus"), DH_ERR_OPTION);
  EXPECT_NE(collector_.log().find("\"bogus\" is not one of"), std::string::npos) << collector_.log();
  ASSERT_EQ(dh_configure(session_, "triggers = inf"), DH_OK);
  run_frame(2);
  run_frame(3);
  run_frame(4, -INFINITY);
  run_frame(5);
  EXPECT_EQ(counters_of(session_).in_flight, 3u);
  ASSERT_EQ(dh_configure(session_, "triggers ="), DH_OK);
  run_frame(6);
  EXPECT_EQ(counters_of(session_).in_flight, 0u);
  EXPECT_EQ(counters_of(session_).lost[DH_LOSS_NOT_TRIGGERED], 3u);
  const Stream stream = close();
  std::set<uint64_t> expected = range(1, 4);
  expected.insert(6);
  EXPECT_EQ(whole_frames(stream, 3), expected);
}

TEST_F(TriggerTest, ADescriptorThatGaveWayIsThereAllTheSame) {
  options_.triggers = "nan";
  open();
  // The shape alternates, so every tensor brings a descriptor; the ring is passed many times.
  for (uint64_t number = 0; number < 200; ++number) {
    const dh_frame frame = begin_frame(session_, number);
    capture(frame, "t", values(number % 2 == 0 ? 5000 : 6000, number % 37 == 36 ? NAN : 0.0f));
    dh_frame_end(session_, frame);
    pump();
  }
  const Stream stream = close();  // read_stream has checked that each part had a descriptor
  EXPECT_GT(stream.tensors.size(), 20u);
  for (const auto& [id, tensor] : stream.tensors) EXPECT_EQ(tensor.shape[0], tensor.frame % 2 == 0 ? 5000 : 6000);
}

TEST_F(TriggerTest, StatisticsAndDigestsWaitToo) {
  options_.levels = "a=hash,b=stats";
  open();
  run_frame(1);
  run_frame(2, NAN);
  run_frame(3);
  const Stream stream = close();
  EXPECT_EQ(stream.summaries.size(), 4u);
  EXPECT_EQ(stream.tensors.size(), 2u);
}

TEST_F(TriggerTest, WaitingTensorsDoNotKeepFlushFromReturning) {
  options_.flags = 0;
  open();
  run_frame(1);
  EXPECT_EQ(dh_flush(session_, 5000), DH_OK);
  EXPECT_EQ(counters_of(session_).in_flight, 3u);
  EXPECT_EQ(close().counters.back().lost.at(DH_LOSS_NOT_TRIGGERED), 3u);
}

TEST_F(TriggerTest, ALongFrameDoesNotEmptyTheRingWhenItGivesWay) {
  open();
  const dh_frame slow = begin_frame(session_, 1000);
  capture(slow, "slow", values(30000, 0));
  pump();
  // 12 KB each: the ring goes round once while the slow frame is open, which ends then.
  for (uint64_t frame = 0; frame < 30; ++frame) run_frame(frame);
  capture(slow, "slow", values(100, 0));
  dh_frame_end(session_, slow);
  pump();
  for (uint64_t frame = 30; frame < 60; ++frame) run_frame(frame, frame == 59 ? NAN : 0.0f);
  const Stream stream = close();
  const std::set<uint64_t> whole = whole_frames(stream, 3);
  EXPECT_GE(whole.size(), 15u);
  EXPECT_EQ(whole, range(*whole.begin(), 59));
  EXPECT_EQ(stream.frames.at(1000).ends, 1u);
}

TEST_F(TriggerTest, ASinkThatFailsInTheMiddleOfATensor_CountsItOnce) {
  for (int parts = 0; parts < 8; ++parts) {
    Collector collector;
    options_ = callback_options(&collector);
    options_.flags = DH_FLAG_NO_WORKER;
    options_.pretrigger_bytes = 256 << 10;
    options_.part_bytes = 16 << 10;
    options_.triggers = "nan";
    options_.close_ms = 50;
    open();
    run_frame(1);
    const dh_frame frame = begin_frame(session_, 2);
    capture(frame, "large", values(200000, 0));  // 50 parts, of which the ring holds some
    for (int i = 0; i < parts; ++i) dh_pump(session_, 0);
    check_sum();
    collector.broken = true;
    dh_event(session_, "none");
    capture(frame, "more", values(10, NAN));
    pump();
    check_sum();
    dh_frame_end(session_, frame);
    dh_close(session_);
    session_ = nullptr;
  }
}

TEST_F(TriggerTest, TriggersTakenAwayInTheMiddleOfAFrame_LeaveAStreamThatIsWhole) {
  open();
  const dh_frame frame = begin_frame(session_, 1);
  capture(frame, "a", values(100, 0));
  pump();
  ASSERT_EQ(dh_configure(session_, "triggers ="), DH_OK);
  run_frame(2);  // it holds from here on
  capture(frame, "b", values(100, 0));
  dh_frame_end(session_, frame);
  pump();
  const Stream stream = close();
  EXPECT_EQ(stream.frames.at(1).begins, 1u);
  EXPECT_EQ(stream.frames.at(1).lost.at(DH_LOSS_NOT_TRIGGERED), 1u);
  EXPECT_EQ(whole_frames(stream, 3), range(2, 2));
}

TEST_F(TriggerTest, AFrameThatShipsBesideOneThatWaits_HasItsDescriptors) {
  options_.triggers = "event:go";
  open();
  const dh_frame ships = begin_frame(session_, 1);
  capture(ships, "a", values(100, 0));
  pump();
  dh_event(session_, "go");
  pump();
  const dh_frame waits = begin_frame(session_, 2);
  capture(waits, "new", values(100, 0));
  pump();
  capture(ships, "new", values(100, 0));
  pump();
  dh_frame_end(session_, ships);
  dh_frame_end(session_, waits);
  pump();
  const Stream stream = close();  // read_stream has checked that each part had a descriptor
  EXPECT_EQ(stream.of("new").size(), 1u);
}

TEST_F(TriggerTest, FlushAfterAnEvent_WaitsUntilAllThatWasHeldIsShipped) {
  options_.flags = 0;
  options_.triggers = "event:go";
  for (int round = 0; round < 20; ++round) {
    Collector collector;
    options_.on_bytes_user = &collector;
    open();
    run_frame(1);
    ASSERT_EQ(dh_flush(session_, 5000), DH_OK);
    EXPECT_EQ(counters_of(session_).in_flight, 3u);
    dh_event(session_, "go");
    ASSERT_EQ(dh_flush(session_, 5000), DH_OK);
    EXPECT_EQ(counters_of(session_).shipped, 3u);
    dh_close(session_);
  }
}

TEST_F(TriggerTest, OptionsAreChecked) {
  options_.pretrigger_bytes = 100 << 10;
  EXPECT_EQ(dh_open(&options_, &session_), DH_ERR_OPTION);
  options_.pretrigger_bytes = 256 << 10;
  options_.triggers = "nan,range:6..-6";
  EXPECT_EQ(dh_open(&options_, &session_), DH_ERR_OPTION);
  EXPECT_NE(collector_.log().find("range:6..-6"), std::string::npos);
  dh_memory_plan plan = {};
  plan.struct_size = sizeof plan;
  options_.triggers = "nan";
  const uint64_t with = dh_required_bytes(&options_, &plan);
  EXPECT_EQ(plan.pretrigger_bytes, options_.pretrigger_bytes);
  options_.pretrigger_bytes = 0;
  EXPECT_EQ(with - dh_required_bytes(&options_, nullptr), 256u << 10);
}

// Several threads with frames that overlap, tensors of many parts, a slow sink, a small ring: whatever happens, the sum
// holds at every moment, and at the end what is not whole was counted, within a range that covers it.
TEST_F(TriggerTest, Stress) {
  options_.flags = 0;
  options_.triggers = "nan,after:2,event:go";
  options_.spool_bytes = 256 << 10;
  options_.part_bytes = 16 << 10;
  options_.policy = DH_POLICY_BLOCK;
  options_.block_timeout_ms = 20000;
  options_.raw_pool_bytes = 256 << 10;
  collector_.sleep_us = 50;
  open();
  constexpr int kThreads = 4, kFrames = 60;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &running] {
      std::mt19937 random(static_cast<uint32_t>(t));
      std::vector<float> data(100000);
      for (float& value : data) value = std::uniform_real_distribution<float>(-1, 1)(random);
      for (uint64_t i = 0; i < kFrames; ++i) {
        const dh_frame frame = begin_frame(session_, i * kThreads + static_cast<uint64_t>(t));
        for (const char* name : {"small", "large", "pieces"}) {
          const size_t count = *name == 's' ? 500 : *name == 'l' ? 1 + random() % 20000 : i % 10 == 0 ? 100000 : 100;
          const float kept = data[count / 2];
          if (random() % 60 == 0) data[count / 2] = NAN;
          capture(frame, name, std::vector<float>(data.begin(), data.begin() + static_cast<long>(count)));
          data[count / 2] = kept;
        }
        if (random() % 40 == 0) dh_event(session_, "go");
        dh_frame_end(session_, frame);
      }
      --running;
    });
  }
  while (running != 0) check_sum();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(dh_flush(session_, 20000), DH_OK);
  const Stream stream = close();
  EXPECT_GT(stream.counters.back().lost.at(DH_LOSS_NOT_TRIGGERED), 0u);
  EXPECT_GT(stream.tensors.size(), 0u);
  for (const char* name : {"small", "large", "pieces"}) {
    std::set<uint64_t> have;
    for (const auto* tensor : stream.of(name)) {
      if (tensor->whole()) have.insert(tensor->frame);
    }
    for (uint64_t frame = 0; frame < uint64_t{kThreads} * kFrames; ++frame) {
      EXPECT_TRUE(have.count(frame) != 0 || stream.lost_in(stream.id_of(name), frame)) << name << " of frame " << frame;
    }
  }
  for (const auto& [number, frame] : stream.frames) {
    uint64_t lost = 0;
    for (const auto& [reason, count] : frame.lost) lost += count;
    EXPECT_EQ(frame.seen, frame.accepted + lost) << number;
  }
}

}  // namespace
