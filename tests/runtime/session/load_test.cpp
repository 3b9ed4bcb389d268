// SPDX-License-Identifier: Apache-2.0
// Many producers, a sink that is too slow or stalls: nothing is lost without being counted.
#include <map>
#include <random>
#include <set>

#include "open_session.h"

namespace {

using test_reader::Stream;

struct Key {
  std::string name;
  uint64_t frame;
  uint32_t occurrence;
  bool operator<(const Key& o) const {
    return std::tie(name, frame, occurrence) < std::tie(o.name, o.frame, o.occurrence);
  }
};

// Captures known tensors on `threads` threads, each with frames of its own, and remembers what became of each.
class Producers {
 public:
  Producers(dh_session* session, int threads, uint64_t frames, size_t bytes) : session_(session) {
    for (int t = 0; t < threads; ++t) {
      threads_.emplace_back([this, t, threads, frames, bytes] {
        std::map<Key, dh_status> mine;
        static dh_tap taps[4] = {DH_TAP_INIT, DH_TAP_INIT, DH_TAP_INIT, DH_TAP_INIT};
        for (uint64_t f = 0; f < frames; ++f) {
          const uint64_t number = f * static_cast<uint64_t>(threads) + static_cast<uint64_t>(t);
          const dh_frame frame = begin_frame(session_, number);
          for (size_t k = 0; k < 4; ++k) {
            const std::string name = "tensor" + std::to_string(k);
            const std::string data = content(name, number, bytes + 1000 * k);
            const dh_tensor tensor = u8_tensor(name.c_str(), data);
            mine[{name, number, 0}] = dh_capture(session_, &taps[k], frame, &tensor);
          }
          dh_frame_end(session_, frame);
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        outcome.insert(mine.begin(), mine.end());
      });
    }
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
  }
  std::map<Key, dh_status> outcome;

 private:
  dh_session* session_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

// Reads the counters all the time; they must add up whenever they are read.
class Auditor {
 public:
  explicit Auditor(dh_session* session)
      : thread_([this, session] {
          while (!stop_) {
            const dh_counter_values values = counters_of(session);
            ++samples;
            if (values.seen != values.shipped + values.in_flight + lost_sum(values) || values.in_flight > values.seen ||
                values.in_flight > most_in_flight) {
              ++wrong;
            }
          }
        }) {}
  void join() {
    stop_ = true;
    thread_.join();
  }
  uint64_t samples = 0, wrong = 0;
  static constexpr uint64_t most_in_flight = 1 << 20;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class LoadTest : public ::testing::Test {
 protected:
  void SetUp() override { options_ = callback_options(&collector_); }

  // Every outcome that the app was told is in the stream: accepted ones as bytes or a Loss, dropped ones as a Loss.
  void check(const std::map<Key, dh_status>& outcome, const Stream& stream, size_t bytes) {
    EXPECT_EQ(joined(stream.wrong), "");
    std::map<std::string, uint64_t> missing;
    std::map<Key, const test_reader::Tensor*> got;
    for (const auto& [id, tensor] : stream.tensors) {
      EXPECT_TRUE(got.insert({{tensor.name, tensor.frame, tensor.occurrence}, &tensor}).second) << "twice";
    }
    size_t whole = 0;
    for (const auto& [key, status] : outcome) {
      const auto at = got.find(key);
      if (at != got.end() && at->second->whole()) {
        ++whole;
        EXPECT_EQ(status, DH_OK);
        const size_t extra = static_cast<size_t>(key.name.back() - '0') * 1000;
        EXPECT_EQ(at->second->bytes, content(key.name, key.frame, bytes + extra)) << key.name << " of " << key.frame;
        continue;
      }
      ++missing[key.name];
      EXPECT_TRUE(stream.lost_in(stream.id_of(key.name), key.frame)) << key.name << " of " << key.frame;
    }
    for (const auto& [name, count] : missing) EXPECT_EQ(stream.lost(stream.id_of(name)), count) << name;
    ASSERT_FALSE(stream.counters.empty());
    const auto& last = stream.counters.back();
    EXPECT_EQ(last.seen, outcome.size());
    EXPECT_EQ(last.lost_sum(), outcome.size() - whole);
    EXPECT_EQ(last.shipped + last.in_flight, whole);
    for (const auto& [number, frame] : stream.frames) {
      EXPECT_EQ(frame.ends, 1u);
      EXPECT_EQ(frame.seen, 4u);
      EXPECT_EQ(frame.state, frame.accepted == 4 ? 0u : 2u);
    }
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

TEST_F(LoadTest, EightProducers_UnderBlock_LoseNothing) {
  options_.policy = DH_POLICY_BLOCK;
  options_.block_timeout_ms = 60000;
  ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
  Auditor auditor(session_);
  Producers producers(session_, 8, 60, 30000);
  producers.join();
  EXPECT_EQ(dh_flush(session_, 20000), DH_OK);
  EXPECT_EQ(counters_of(session_).in_flight, 0u);
  auditor.join();
  EXPECT_EQ(auditor.wrong, 0u) << "of " << auditor.samples;
  EXPECT_EQ(dh_close(session_), DH_OK);
  const Stream stream = test_reader::read_stream(collector_.bytes());
  for (const auto& [key, status] : producers.outcome) EXPECT_EQ(status, DH_OK);
  check(producers.outcome, stream, 30000);
  EXPECT_EQ(stream.tensors.size(), 8u * 60 * 4);
}

TEST_F(LoadTest, EightProducers_UnderDrop_WithASinkFarTooSlow_CountEveryLoss) {
  collector_.sleep_us = 500;
  collector_.most_at_once = 20000;
  ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
  Auditor auditor(session_);
  Producers producers(session_, 8, 100, 20000);
  producers.join();
  collector_.sleep_us = 0;
  collector_.most_at_once = SIZE_MAX;
  auditor.join();
  EXPECT_EQ(auditor.wrong, 0u) << "of " << auditor.samples;
  EXPECT_GT(auditor.samples, 10u);
  EXPECT_EQ(dh_close(session_), DH_OK);
  const Stream stream = test_reader::read_stream(collector_.bytes());
  check(producers.outcome, stream, 20000);
  EXPECT_GT(stream.counters.back().lost_sum(), 0u) << "the sink was not slow enough for this test";
  EXPECT_GT(stream.tensors.size(), 0u);
}

TEST_F(LoadTest, UnderDropFrame_FramesAreThereWhole_OrNotAtAll) {
  options_.policy = DH_POLICY_DROP_FRAME;
  collector_.sleep_us = 500;
  collector_.most_at_once = 20000;
  ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
  Auditor auditor(session_);
  const std::string largest(200000, 'x');  // so large is a frame
  const dh_tensor tensor = u8_tensor("largest", largest);
  const dh_frame first = begin_frame(session_, 1000000);
  ASSERT_EQ(dh_capture_by_name(session_, first, &tensor), DH_OK);
  dh_frame_end(session_, first);
  ASSERT_EQ(dh_flush(session_, 10000), DH_OK);
  ASSERT_TRUE(soon([&] { return counters_of(session_).frames_ended == 1; }));
  Producers producers(session_, 4, 200, 40000);
  producers.join();
  collector_.sleep_us = 0;
  collector_.most_at_once = SIZE_MAX;
  auditor.join();
  EXPECT_EQ(auditor.wrong, 0u) << "of " << auditor.samples;
  EXPECT_EQ(dh_close(session_), DH_OK);
  const Stream stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  std::map<uint64_t, int> accepted;
  for (const auto& [key, status] : producers.outcome) accepted[key.frame] += status == DH_OK;
  size_t whole = 0;
  for (const auto& [number, count] : accepted) {
    EXPECT_TRUE(count == 0 || count == 4) << number;
    whole += count == 4;
  }
  EXPECT_GT(whole, 4u);
  EXPECT_LT(whole, accepted.size()) << "the sink was not slow enough for this test";
  for (const auto& [number, frame] : stream.frames) EXPECT_EQ(frame.state, 0u) << number;
  EXPECT_EQ(stream.counters.back().lost.at(DH_LOSS_FRAME_REFUSED), (accepted.size() - whole) * 4);
  EXPECT_EQ(stream.counters.back().lost_sum(), (accepted.size() - whole) * 4);
}

TEST_F(LoadTest, ASinkThatStallsAndComesBack_LosesWithReasons_ThenGoesOn) {
  ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
  Auditor auditor(session_);
  std::atomic<bool> over{false};
  std::thread staller([&] {
    std::mt19937 random(5);
    while (!over) {
      collector_.stalled = random() % 3 != 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
    }
    collector_.stalled = false;
  });
  Producers producers(session_, 6, 150, 15000);
  producers.join();
  over = true;
  staller.join();
  EXPECT_EQ(dh_flush(session_, 10000), DH_OK);
  auditor.join();
  EXPECT_EQ(auditor.wrong, 0u);
  EXPECT_EQ(dh_close(session_), DH_OK);
  check(producers.outcome, test_reader::read_stream(collector_.bytes()), 15000);
}

TEST_F(LoadTest, ASinkThatFailsForGood_LosesWithSinkError_AndTheAppGoesOn) {
  ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
  Auditor auditor(session_);
  Producers producers(session_, 4, 100, 15000);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  collector_.broken = true;
  producers.join();
  EXPECT_EQ(dh_flush(session_, 5000), DH_OK) << "nothing is in flight";
  auditor.join();
  EXPECT_EQ(auditor.wrong, 0u);
  const dh_counter_values values = counters_of(session_);
  EXPECT_EQ(values.seen, producers.outcome.size());
  EXPECT_EQ(values.in_flight, 0u);
  EXPECT_GT(values.lost[DH_LOSS_SINK_ERROR], 0u);
  EXPECT_EQ(dh_close(session_), DH_DROPPED);
}

TEST_F(LoadTest, BlockWithASinkThatFailsInTheMiddleOfATensorInPieces_CountsItOnce) {
  options_.policy = DH_POLICY_BLOCK;
  options_.raw_pool_bytes = 256 << 10;
  options_.spool_bytes = 256 << 10;
  options_.block_timeout_ms = 10000;
  for (int round = 0; round < 30; ++round) {
    Collector collector;
    options_.on_bytes_user = options_.on_log_user = &collector;
    collector.sleep_us = 200;
    collector.most_at_once = 50000;
    ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
    std::thread breaker([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(1000 + 700 * round));
      collector.broken = true;
    });
    const std::string data = content("big", 1, 1500000);
    const dh_frame frame = begin_frame(session_, 1);
    const dh_tensor tensor = u8_tensor("big", data);
    dh_capture_by_name(session_, frame, &tensor);
    dh_capture_by_name(session_, frame, &tensor);
    dh_frame_end(session_, frame);
    breaker.join();
    EXPECT_TRUE(soon([&] { return counters_of(session_).in_flight == 0; }));
    const dh_counter_values values = counters_of(session_);
    EXPECT_EQ(values.seen, 2u);
    EXPECT_EQ(values.shipped + lost_sum(values), 2u);
    dh_close(session_);
  }
}

}  // namespace
