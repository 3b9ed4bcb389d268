// SPDX-License-Identifier: Apache-2.0
// Sessions that are closed while others use them, threads that never come back, handles that are none.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "open_session.h"

namespace {

using test_reader::Stream;

TEST(Lifetime, ClosedWhileManyThreadsCapture_AllTensorsAreAccountedFor) {
  for (int round = 0; round < 15; ++round) {
    Collector collector;
    dh_options options = callback_options(&collector);
    options.policy = round % 2 == 0 ? DH_POLICY_DROP : DH_POLICY_BLOCK;
    options.raw_pool_bytes = 256 << 10;
    options.block_timeout_ms = 10000;
    collector.stalled = round % 5 == 4;  // those that wait for room are let go
    options.close_ms = 1000;
    dh_session* session = nullptr;
    ASSERT_EQ(dh_open(&options, &session), DH_OK);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> accepted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        dh_tap tap = DH_TAP_INIT;
        const std::string name = "t" + std::to_string(t);
        const std::string bytes = content(name, 1, 20000);
        const dh_tensor tensor = u8_tensor(name.c_str(), bytes);
        while (!stop) {
          const dh_frame frame = dh_frame_begin(session, nullptr);
          if (dh_capture(session, &tap, frame, &tensor) == DH_OK) ++accepted;
          dh_frame_end(session, frame);
          if (t == 0) dh_flush(session, 10000);
        }
        dh_counter_values values = {};
        values.struct_size = sizeof values;
        EXPECT_EQ(dh_capture(session, &tap, 1, &tensor), DH_SKIPPED);
        EXPECT_FALSE(dh_tap_on(&tap));
        EXPECT_EQ(dh_frame_begin(session, nullptr), 0u);
        EXPECT_EQ(dh_flush(session, 1000), DH_ERR_CLOSED);
        EXPECT_EQ(dh_counters(session, &values), DH_SKIPPED);
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + round));
    const uint64_t begin = now_ms();
    const dh_status status = dh_close(session);
    EXPECT_LT(now_ms() - begin, 5000u) << "block_timeout_ms is not waited for";
    EXPECT_TRUE(status == DH_OK || status == DH_DROPPED);
    EXPECT_EQ(dh_close(session), DH_ERR_CLOSED);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    if (collector.stalled) continue;
    const Stream stream = test_reader::read_stream(collector.bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    ASSERT_FALSE(stream.counters.empty());
    const auto& last = stream.counters.back();
    uint64_t whole = 0;
    for (const auto& [id, tensor] : stream.tensors) whole += tensor.whole();
    EXPECT_TRUE(last.closing);
    EXPECT_EQ(last.seen, whole + last.lost_sum());
    EXPECT_GE(accepted, whole);
  }
}

TEST(Lifetime, WhatIsNoSession_IsSkipped) {
  alignas(64) char garbage[4096] = {};
  auto* const none = reinterpret_cast<dh_session*>(garbage);
  dh_tap tap = DH_TAP_INIT;
  const std::string bytes = "abc";
  const dh_tensor tensor = u8_tensor("t", bytes);
  EXPECT_EQ(dh_capture(none, &tap, 1, &tensor), DH_SKIPPED);
  EXPECT_EQ(dh_frame_begin(none, nullptr), 0u);
  EXPECT_EQ(dh_close(none), DH_ERR_CLOSED);
  EXPECT_EQ(dh_close(nullptr), DH_SKIPPED);
}

TEST(Lifetime, AsManySessionsAsStated_AndOpenedAgainForEver) {
  Collector collectors[33];
  std::vector<dh_session*> sessions;
  for (Collector& collector : collectors) {
    dh_options options = callback_options(&collector);
    options.flags = DH_FLAG_NO_WORKER;
    options.close_ms = 1;
    dh_session* session = nullptr;
    const dh_status status = dh_open(&options, &session);
    EXPECT_EQ(status, sessions.size() < 32 ? DH_OK : DH_ERR_LIMIT);
    if (status == DH_OK) sessions.push_back(session);
  }
  EXPECT_NE(collectors[32].log().find("32 sessions are open"), std::string::npos) << collectors[32].log();
  for (dh_session* session : sessions) dh_close(session);
  for (int i = 0; i < 100; ++i) {
    Collector collector;
    const dh_options options = callback_options(&collector);
    dh_session* session = nullptr;
    ASSERT_EQ(dh_open(&options, &session), DH_OK);
    EXPECT_EQ(dh_close(session), DH_OK);
  }
}

// A page that cannot be read, and what becomes of the thread that tries.
struct Trap {
  static constexpr size_t kBytes = 1 << 16;
  static char* page;
  static std::atomic<int> caught;
  static std::atomic<bool> released;
  static std::atomic<bool> dies;
  static thread_local sigjmp_buf out;

  static void on_fault(int) {
    ++caught;
    if (dies) siglongjmp(out, 1);  // out of dh_capture, as a thread that is cancelled there
    while (!released) {
    }
    mprotect(page, kBytes, PROT_READ);
  }
};
char* Trap::page;
std::atomic<int> Trap::caught;
std::atomic<bool> Trap::released;
std::atomic<bool> Trap::dies;
thread_local sigjmp_buf Trap::out;

class TrapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Trap::page = static_cast<char*>(mmap(nullptr, Trap::kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(Trap::page, MAP_FAILED);
    Trap::caught = 0;
    Trap::released = false;
    struct sigaction action = {};
    action.sa_handler = Trap::on_fault;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
    options_ = callback_options(&collector_);
    options_.raw_pool_bytes = 256 << 10;
    options_.policy = DH_POLICY_BLOCK;
    options_.block_timeout_ms = 10000;
    options_.close_ms = 500;
    ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
    trapped_ = dh_tensor_default();
    trapped_.name = "trapped";
    trapped_.dtype = DH_U8;
    trapped_.rank = 1;
    trapped_.shape[0] = Trap::kBytes;
    trapped_.data = Trap::page;
  }
  void TearDown() override {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(Trap::page, Trap::kBytes);
  }
  uint64_t run_frames(int frames) {
    uint64_t accepted = 0;
    const std::string bytes = content("other", 1, 5000);
    const dh_tensor tensor = u8_tensor("other", bytes);
    for (int i = 0; i < frames; ++i) {
      const dh_frame frame = dh_frame_begin(session_, nullptr);
      accepted += dh_capture_by_name(session_, frame, &tensor) == DH_OK;
      dh_frame_end(session_, frame);
      if (i % 8 == 7) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return accepted;
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
  dh_tensor trapped_;
  struct sigaction before_ = {};
};

TEST_F(TrapTest, AThreadThatIsHeldUpBetweenReserveAndPublish_HoldsUpNobody) {
  Trap::dies = false;
  const dh_frame frame = begin_frame(session_, 1u << 20);
  std::thread slow([&] { EXPECT_EQ(dh_capture_by_name(session_, frame, &trapped_), DH_OK); });
  ASSERT_TRUE(soon([] { return Trap::caught == 1; }));
  dh_frame_end(session_, frame);
  EXPECT_EQ(run_frames(400), 400u);
  EXPECT_TRUE(soon([&] { return counters_of(session_).shipped == 400; }));
  Trap::released = true;
  slow.join();
  EXPECT_EQ(dh_flush(session_, 5000), DH_OK);
  EXPECT_EQ(dh_close(session_), DH_OK);
  const Stream stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.tensors.size(), 401u);
  EXPECT_EQ(stream.frames.at(1u << 20).state, 0u);
}

#ifndef DUMPHOOK_SANITIZED  // which do not follow a jump out of a handler
TEST_F(TrapTest, AThreadThatDiesThere_CostsItsBlocksAndIsSeenInFlight_NothingMore) {
  Trap::dies = true;
  const dh_frame frame = begin_frame(session_, 1u << 20);
  std::thread dying([&] {
    if (sigsetjmp(Trap::out, 1) == 0) dh_capture_by_name(session_, frame, &trapped_);
  });
  dying.join();
  EXPECT_EQ(Trap::caught, 1);
  dh_frame_end(session_, frame);
  EXPECT_EQ(run_frames(400), 400u);
  EXPECT_TRUE(soon([&] { return counters_of(session_).shipped == 400; }));
  EXPECT_EQ(counters_of(session_).in_flight, 1u);
  const uint64_t begin = now_ms();
  EXPECT_EQ(dh_close(session_), DH_TIMEOUT) << "the memory stays: that thread might still be in it";
  EXPECT_LT(now_ms() - begin, 6000u);
  const Stream stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.tensors.size(), 400u);
  EXPECT_EQ(stream.counters.back().in_flight, 1u);
  EXPECT_TRUE(stream.counters.back().closing);
}
#endif

}  // namespace
