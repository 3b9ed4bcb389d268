// SPDX-License-Identifier: Apache-2.0
// Flush, close, pump.
#include "open_session.h"

namespace {

class CloseTest : public ::testing::Test {
 protected:
  void SetUp() override { options_ = callback_options(&collector_); }
  void open() { ASSERT_EQ(dh_open(&options_, &session_), DH_OK) << collector_.log(); }
  dh_status capture(uint64_t number, size_t bytes) {
    const std::string data = content("t", number, bytes);
    const dh_frame frame = begin_frame(session_, number);
    const dh_tensor tensor = u8_tensor("t", data);
    const dh_status status = dh_capture_by_name(session_, frame, &tensor);
    dh_frame_end(session_, frame);
    return status;
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

TEST_F(CloseTest, FlushWaitsUntilAllIsShipped) {
  collector_.sleep_us = 1000;
  collector_.most_at_once = 10000;
  open();
  ASSERT_EQ(capture(1, 100000), DH_OK);
  EXPECT_EQ(dh_flush(session_, 10000), DH_OK);
  const dh_counter_values values = counters_of(session_);
  EXPECT_EQ(values.shipped, 1u);
  EXPECT_EQ(values.in_flight, 0u);
  EXPECT_GE(values.raw_bytes, 100000u);
  EXPECT_GT(values.pool_peak_bytes, 0u);
  EXPECT_EQ(dh_close(session_), DH_OK);
}

TEST_F(CloseTest, FlushGivesUpAtItsDeadline) {
  open();
  collector_.stalled = true;
  ASSERT_EQ(capture(1, 1000), DH_OK);
  for (const uint32_t timeout_ms : {0u, 1u, 50u, 300u}) {
    const uint64_t before = now_ms();
    EXPECT_EQ(dh_flush(session_, timeout_ms), DH_TIMEOUT);
    EXPECT_LT(now_ms() - before, timeout_ms + 200);
    EXPECT_GE(now_ms() - before + 1, timeout_ms);
  }
  collector_.stalled = false;
  EXPECT_EQ(dh_flush(session_, 5000), DH_OK);
  EXPECT_EQ(dh_close(session_), DH_OK);
}

TEST_F(CloseTest, WithASinkThatStalls_TakesCloseMs_AndSaysThatSomethingIsLost) {
  for (const uint32_t close_ms : {20u, 400u, 1000u}) {
    options_.close_ms = close_ms;
    open();
    ASSERT_EQ(dh_flush(session_, 1000), DH_OK);
    collector_.stalled = true;
    for (uint64_t i = 0; i < 50; ++i) capture(i, 50000);
    const uint64_t before = now_ms();
    EXPECT_EQ(dh_close(session_), DH_DROPPED);
    EXPECT_LT(now_ms() - before, close_ms + 250);
    collector_.stalled = false;
  }
}

TEST_F(CloseTest, WithASlowSink_ShipsWhatItCan) {
  options_.close_ms = 20000;
  collector_.sleep_us = 300;
  collector_.most_at_once = 30000;
  open();
  uint64_t accepted = 0;
  for (uint64_t i = 0; i < 40; ++i) accepted += capture(i, 50000) == DH_OK;
  EXPECT_EQ(dh_close(session_), DH_OK);
  const auto stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.tensors.size(), accepted);
  EXPECT_TRUE(stream.sealed);
}

TEST_F(CloseTest, WithABrokenSink_IsQuick) {
  collector_.broken = true;
  open();
  capture(1, 1000);
  const uint64_t before = now_ms();
  dh_close(session_);
  EXPECT_LT(now_ms() - before, 500u);
}

TEST_F(CloseTest, WithoutAnyWork_IsQuick) {
  open();
  const uint64_t before = now_ms();
  EXPECT_EQ(dh_close(session_), DH_OK);
  EXPECT_LT(now_ms() - before, 300u);
}

TEST_F(CloseTest, AbsentPeer_LosesWithNotConnected_ButTheAppNeverWaits) {
  options_.sink = "tcp://127.0.0.1:1";  // nobody listens there
  open();
  ASSERT_TRUE(soon([&] { return collector_.log().find("cannot connect") != std::string::npos; }));
  for (uint64_t i = 0; i < 20; ++i) {
    const uint64_t before = now_ms();
    capture(i, 100000);
    EXPECT_LT(now_ms() - before, 100u);
  }
  EXPECT_TRUE(soon([&] { return counters_of(session_).in_flight == 0; }));
  const dh_counter_values values = counters_of(session_);
  EXPECT_EQ(values.lost[DH_LOSS_NOT_CONNECTED] + values.lost[DH_LOSS_POOL_FULL], 20u);
  EXPECT_GT(values.lost[DH_LOSS_NOT_CONNECTED], 0u);
  const uint64_t before = now_ms();
  dh_close(session_);
  EXPECT_LT(now_ms() - before, 500u);
}

TEST_F(CloseTest, PumpDoesTheWorkWithoutAWorker) {
  options_.flags |= DH_FLAG_NO_WORKER;
  open();
  ASSERT_EQ(capture(1, 200000), DH_OK);
  EXPECT_EQ(counters_of(session_).shipped, 0u);
  int steps = 0;
  while (dh_pump(session_, 0) == DH_OK) ++steps;
  EXPECT_GT(steps, 0);
  EXPECT_EQ(dh_pump(session_, 1000), DH_SKIPPED);
  EXPECT_EQ(counters_of(session_).shipped, 1u);
  ASSERT_EQ(capture(2, 1000), DH_OK);
  EXPECT_EQ(dh_flush(session_, 1000), DH_OK) << "flush pumps by itself";
  ASSERT_EQ(capture(3, 1000), DH_OK);
  EXPECT_EQ(dh_close(session_), DH_OK);
  const auto stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.tensors.size(), 3u);
  EXPECT_TRUE(stream.sealed);
}

TEST_F(CloseTest, PumpKeepsToItsBudget) {
  options_.flags |= DH_FLAG_NO_WORKER;
  options_.raw_pool_bytes = 8 << 20;
  open();
  for (uint64_t i = 0; i < 60; ++i) ASSERT_EQ(capture(i, 100000), DH_OK);
  const uint64_t before = now_ms();
  EXPECT_EQ(dh_pump(session_, 0), DH_OK);
  EXPECT_LT(now_ms() - before, 200u);
  EXPECT_GT(counters_of(session_).in_flight, 0u);
  EXPECT_EQ(dh_close(session_), DH_OK);
}

TEST_F(CloseTest, PumpUnderBlock_MakesRoomOnTheCallersThread) {
  options_.flags |= DH_FLAG_NO_WORKER;
  options_.policy = DH_POLICY_BLOCK;
  open();
  for (uint64_t i = 0; i < 60; ++i) ASSERT_EQ(capture(i, 100000), DH_OK) << i;
  EXPECT_EQ(dh_close(session_), DH_OK);
  EXPECT_EQ(test_reader::read_stream(collector_.bytes()).tensors.size(), 60u);
}

TEST_F(CloseTest, ManyThreadsMayPump) {
  options_.flags |= DH_FLAG_NO_WORKER;
  options_.raw_pool_bytes = 8 << 20;
  open();
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!over) dh_pump(session_, 100);
    });
  }
  for (uint64_t i = 0; i < 200; ++i) capture(i, 20000);
  EXPECT_EQ(dh_flush(session_, 10000), DH_OK);
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(dh_close(session_), DH_OK);
  EXPECT_EQ(joined(test_reader::read_stream(collector_.bytes()).wrong), "");
}

TEST_F(CloseTest, WithAWorker_PumpSkips) {
  open();
  EXPECT_EQ(dh_pump(session_, 1000), DH_SKIPPED);
  dh_close(session_);
}

}  // namespace
