// SPDX-License-Identifier: Apache-2.0
#include "open_session.h"

namespace {

class ConfigureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_ = callback_options(&collector_);
    options_.include = "a";
    ASSERT_EQ(dh_open(&options_, &session_), DH_OK);
  }
  dh_status capture(dh_tap* tap, dh_frame frame, const char* name) {
    const dh_tensor tensor = u8_tensor(name, data_);
    return dh_capture(session_, tap, frame, &tensor);
  }

  const std::string data_ = "abc";
  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

TEST_F(ConfigureTest, HoldsFromTheNextFrameOn_AndWakesTaps) {
  dh_tap tap = DH_TAP_INIT;
  const dh_frame first = begin_frame(session_, 1);
  EXPECT_EQ(capture(&tap, first, "b"), DH_SKIPPED);
  EXPECT_FALSE(dh_tap_on(&tap));
  ASSERT_EQ(dh_configure(session_, "include = a, b\n"), DH_OK);
  EXPECT_FALSE(dh_tap_on(&tap)) << "this frame goes on as it began";
  EXPECT_EQ(capture(&tap, first, "b"), DH_SKIPPED);
  dh_frame_end(session_, first);
  const dh_frame second = begin_frame(session_, 2);
  EXPECT_TRUE(dh_tap_on(&tap));
  EXPECT_EQ(capture(&tap, second, "b"), DH_OK);
  dh_frame_end(session_, second);
  ASSERT_EQ(dh_configure(session_, "level = off\n"), DH_OK);
  const dh_frame third = begin_frame(session_, 3);
  EXPECT_EQ(capture(&tap, third, "b"), DH_SKIPPED);
  EXPECT_FALSE(dh_tap_on(&tap));
  dh_frame_end(session_, third);
  EXPECT_EQ(dh_close(session_), DH_OK);
  EXPECT_TRUE(dh_tap_on(&tap)) << "perhaps another session wants it";
  const auto stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.config_changes, (std::vector<std::string>{"include = a, b\n", "level = off\n"}));
  EXPECT_EQ(stream.config_frames[0].second, 2u);
  EXPECT_EQ(stream.config_frames[1].second, 3u);
}

TEST_F(ConfigureTest, SeveralChangesBeforeAFrame_AllHold_AndAreAllRecordedInOrder) {
  ASSERT_EQ(dh_configure(session_, "include = b"), DH_OK);
  ASSERT_EQ(dh_configure(session_, "every_nth = 2"), DH_OK);
  ASSERT_EQ(dh_configure(session_, "include = c"), DH_OK);
  const dh_frame frame = begin_frame(session_, 4);
  EXPECT_EQ(capture(nullptr, frame, "c"), DH_OK);
  EXPECT_EQ(capture(nullptr, frame, "b"), DH_SKIPPED);
  dh_frame_end(session_, frame);
  const dh_frame odd = begin_frame(session_, 5);
  EXPECT_EQ(capture(nullptr, odd, "c"), DH_SKIPPED);
  dh_frame_end(session_, odd);
  dh_close(session_);
  EXPECT_EQ(test_reader::read_stream(collector_.bytes()).config_changes,
            (std::vector<std::string>{"include = b", "every_nth = 2", "include = c"}));
}

TEST_F(ConfigureTest, WhatIsWrongChangesNothing) {
  EXPECT_EQ(dh_configure(session_, "include = b\nsink = x"), DH_ERR_OPTION);
  EXPECT_NE(collector_.log().find("line 2"), std::string::npos);
  EXPECT_EQ(dh_configure(session_, (std::string(17000, '\n')).c_str()), DH_ERR_LIMIT);
  const dh_frame frame = begin_frame(session_, 1);
  EXPECT_EQ(capture(nullptr, frame, "b"), DH_SKIPPED);
  EXPECT_EQ(capture(nullptr, frame, "a"), DH_OK);
  dh_frame_end(session_, frame);
  dh_close(session_);
}

TEST_F(ConfigureTest, AnAppThatConfiguresForEver_KeepsWorking) {
  const std::string text = "include = a\n#" + std::string(1000, 'x');
  for (uint64_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(dh_configure(session_, text.c_str()), DH_OK);
    const dh_frame frame = begin_frame(session_, i);
    dh_frame_end(session_, frame);
    if (i % 30 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ASSERT_TRUE(soon([&] { return counters_of(session_).frames_ended >= 2000; }));
  const dh_frame frame = begin_frame(session_, 5000);
  EXPECT_EQ(capture(nullptr, frame, "a"), DH_OK) << "a name has room still";
  dh_frame_end(session_, frame);
  EXPECT_EQ(dh_close(session_), DH_OK);
}

TEST_F(ConfigureTest, ManyThreadsMayConfigureWhileOthersCapture) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const char* const texts[] = {"include = a", "include = b", "include = a,b\nlevels = b=off"};
      while (!over) EXPECT_EQ(dh_configure(session_, texts[t]), DH_OK);
    });
  }
  for (uint64_t f = 0; f < 500; ++f) {
    const dh_frame frame = begin_frame(session_, f);
    for (const char* name : {"a", "b", "c"}) EXPECT_GE(capture(nullptr, frame, name), 0);
    dh_frame_end(session_, frame);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(dh_flush(session_, 5000), DH_OK);
  dh_close(session_);
  EXPECT_EQ(joined(test_reader::read_stream(collector_.bytes()).wrong), "");
}

}  // namespace
