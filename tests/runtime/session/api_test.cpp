// SPDX-License-Identifier: Apache-2.0
// Sessions as such: NULL, several, taps that are misused, opening that fails.
#include <unistd.h>

#include <fstream>

#include "open_session.h"

namespace {

TEST(Api, EveryFunctionTakesANullSession) {
  dh_tap tap = DH_TAP_INIT;
  const std::string bytes = "abc";
  const dh_tensor tensor = u8_tensor("t", bytes);
  dh_model model = dh_model_default();
  dh_serve_options serve = {};
  dh_adopt_options adopt = {};
  dh_counter_values values = {};
  values.struct_size = sizeof values;
  values.seen = 99;
  EXPECT_EQ(dh_flush(nullptr, 10), DH_SKIPPED);
  EXPECT_EQ(dh_close(nullptr), DH_SKIPPED);
  EXPECT_EQ(dh_configure(nullptr, "x"), DH_SKIPPED);
  EXPECT_EQ(dh_pump(nullptr, 10), DH_SKIPPED);
  EXPECT_EQ(dh_declare_model(nullptr, &model), DH_SKIPPED);
  EXPECT_EQ(dh_attr(nullptr, nullptr, "k", "v"), DH_SKIPPED);
  EXPECT_EQ(dh_frame_begin(nullptr, nullptr), 0u);
  EXPECT_EQ(dh_capture(nullptr, &tap, 1, &tensor), DH_SKIPPED);
  EXPECT_EQ(dh_capture(nullptr, nullptr, 0, nullptr), DH_SKIPPED);
  EXPECT_EQ(dh_capture_by_name(nullptr, 1, &tensor), DH_SKIPPED);
  EXPECT_EQ(dh_frame_end(nullptr, 1), DH_SKIPPED);
  EXPECT_EQ(dh_event(nullptr, "e"), DH_SKIPPED);
  EXPECT_EQ(dh_counters(nullptr, &values), DH_SKIPPED);
  EXPECT_EQ(values.seen, 0u);
  EXPECT_EQ(dh_serve(nullptr, &serve), DH_SKIPPED);
  EXPECT_EQ(dh_adopt_dir(nullptr, &adopt), DH_SKIPPED);
  EXPECT_FALSE(dh_tap_on(&tap)) << "off until a session opens";
}

TEST(Api, ATextForEverything) {
  for (int status = -11; status <= 3; ++status)
    EXPECT_STRNE(dh_status_text(static_cast<dh_status>(status)), "unknown status");
  for (int reason = 0; reason < DH_LOSS_REASON_COUNT; ++reason) {
    EXPECT_STRNE(dh_loss_reason_text(static_cast<dh_loss_reason>(reason)), "unknown");
  }
  EXPECT_STREQ(dh_loss_reason_text(DH_LOSS_REASON_COUNT), "unknown");
}

TEST(Api, OpeningThatFailsLeavesNull_AndSaysWhy) {
  Collector collector;
  dh_session* session = reinterpret_cast<dh_session*>(1);
  EXPECT_EQ(dh_open(nullptr, &session), DH_ERR_ARGUMENT);
  EXPECT_EQ(session, nullptr);
  dh_options options = callback_options(&collector);
  EXPECT_EQ(dh_open(&options, nullptr), DH_ERR_ARGUMENT);
  const auto fails = [&](dh_status expected) {
    session = reinterpret_cast<dh_session*>(1);
    const size_t before = collector.log().size();
    EXPECT_EQ(dh_open(&options, &session), expected);
    EXPECT_EQ(session, nullptr);
    EXPECT_GT(collector.log().size(), before);
    options = callback_options(&collector);
  };
  options.sink = nullptr;
  fails(DH_ERR_OPTION);
  options.sink = "smtp://x";
  fails(DH_ERR_OPTION);
  options.sink = "tls://localhost:1";
  fails(DH_ERR_UNSUPPORTED);
  options.sink = "tcp://nonsense";
  fails(DH_ERR_ADDRESS);
  options.sink = "tcp://192.0.2.1:9";
  fails(DH_ERR_SECURITY);
  options.sink = "/nonexistent/folder/x.mcap";
  fails(DH_ERR_SINK);
  options.on_bytes = nullptr;
  fails(DH_ERR_OPTION);
  options.struct_size = 3;  // where on_log would be is not known then
  EXPECT_EQ(dh_open(&options, &session), DH_ERR_ARGUMENT);
  options = callback_options(&collector);
  options.config_file = "/nonexistent.cfg";
  fails(DH_ERR_OPTION);
  options.levels = "nonsense";
  fails(DH_ERR_OPTION);
  options.triggers = "nonsense";
  fails(DH_ERR_OPTION);
  options.level = 77;
  fails(DH_ERR_OPTION);
  options.quota_bytes = 100 << 10;
  fails(DH_ERR_OPTION);
}

TEST(Api, FromTheEnvironment_WithoutASink_IsSkipped) {
  dh_session* session = reinterpret_cast<dh_session*>(1);
  unsetenv("DUMPHOOK_SINK");
  EXPECT_EQ(dh_open_from_env(nullptr, &session), DH_SKIPPED);
  EXPECT_EQ(session, nullptr);
}

TEST(Api, FromTheEnvironment_TheConfigFileOfTheOptionsHoldsToo) {
  Collector collector;
  const std::string path = ::testing::TempDir() + "api_test_" + std::to_string(getpid()) + ".cfg";
  std::ofstream(path) << "board = from file\nsoc = from file\n";
  dh_options options = callback_options(&collector);
  options.config_file = path.c_str();
  setenv("DUMPHOOK_SOC", "from environment", 1);
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open_from_env(&options, &session), DH_OK);
  unsetenv("DUMPHOOK_SOC");
  EXPECT_EQ(dh_close(session), DH_OK);
  const auto stream = test_reader::read_stream(collector.bytes());
  EXPECT_EQ(stream.metadata.at("board"), "from file");
  EXPECT_EQ(stream.metadata.at("soc"), "from environment");
  std::remove(path.c_str());
}

TEST(Api, SeveralSessionsKeepApart) {
  Collector collectors[3];
  dh_session* sessions[3];
  const char* const includes[3] = {"a", "b", "*"};
  for (int i = 0; i < 3; ++i) {
    dh_options options = callback_options(&collectors[i]);
    options.include = includes[i];
    ASSERT_EQ(dh_open(&options, &sessions[i]), DH_OK);
  }
  const std::string bytes = "abc";
  for (uint64_t f = 0; f < 20; ++f) {
    for (dh_session* session : sessions) {
      const dh_frame frame = begin_frame(session, f);
      for (const char* name : {"a", "b"}) {
        const dh_tensor tensor = u8_tensor(name, bytes);
        EXPECT_GE(dh_capture_by_name(session, frame, &tensor), 0);
      }
      dh_frame_end(session, frame);
    }
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(dh_close(sessions[i]), DH_OK);
    const auto stream = test_reader::read_stream(collectors[i].bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    EXPECT_EQ(stream.of("a").size(), i == 1 ? 0u : 20u);
    EXPECT_EQ(stream.of("b").size(), i == 0 ? 0u : 20u);
  }
}

TEST(Api, OneTapForTwoSessionsIsAMistake_ButNoByteGoesAstray) {
  Collector collectors[2];
  dh_session* sessions[2];
  for (int i = 0; i < 2; ++i) {
    dh_options options = callback_options(&collectors[i]);
    options.policy = DH_POLICY_BLOCK;
    options.block_timeout_ms = 20000;
    ASSERT_EQ(dh_open(&options, &sessions[i]), DH_OK);
  }
  dh_tap tap = DH_TAP_INIT;
  const std::string names[] = {"zero", "one", "two"};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t f = 0; f < 50; ++f) {
        dh_session* session = sessions[(f + static_cast<uint64_t>(t)) % 2];
        const uint64_t number = f * 4 + static_cast<uint64_t>(t);
        const dh_frame frame = begin_frame(session, number);
        for (const std::string& name : names) {
          const std::string data = content(name, number, 100);
          const dh_tensor tensor = u8_tensor(name.c_str(), data);
          EXPECT_EQ(dh_capture(session, &tap, frame, &tensor), DH_OK);
        }
        dh_frame_end(session, frame);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t total = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(dh_close(sessions[i]), DH_OK);
    const auto stream = test_reader::read_stream(collectors[i].bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    for (const auto& [id, tensor] : stream.tensors) {
      EXPECT_EQ(tensor.bytes, content(tensor.name, tensor.frame, 100));
      EXPECT_EQ((tensor.frame / 4 + tensor.frame % 4) % 2, static_cast<uint64_t>(i)) << "in the other session";
    }
    total += stream.tensors.size();
  }
  EXPECT_EQ(total, 600u);
}

TEST(Api, ATapOutlivesItsSession) {
  dh_tap tap = DH_TAP_INIT;
  for (int round = 0; round < 3; ++round) {
    Collector collector;
    const dh_options options = callback_options(&collector);
    dh_session* session = nullptr;
    ASSERT_EQ(dh_open(&options, &session), DH_OK);
    const std::string bytes = "abc";
    for (int i = 0; i <= round; ++i) {
      const dh_frame frame = begin_frame(session, static_cast<uint64_t>(i));
      const dh_tensor other = u8_tensor("other", bytes);
      const dh_tensor tensor = u8_tensor("t", bytes);
      if (round == 1) {
        EXPECT_EQ(dh_capture_by_name(session, frame, &other), DH_OK);
      }
      EXPECT_TRUE(dh_tap_on(&tap));
      EXPECT_EQ(dh_capture(session, &tap, frame, &tensor), DH_OK);
      dh_frame_end(session, frame);
    }
    EXPECT_EQ(dh_close(session), DH_OK);
    EXPECT_EQ(test_reader::read_stream(collector.bytes()).of("t").size(), static_cast<size_t>(round) + 1);
  }
}

TEST(Api, WrongCallsAreRefused_NotObeyed) {
  Collector collector;
  const dh_options options = callback_options(&collector);
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  dh_counter_values values = {};
  EXPECT_EQ(dh_counters(session, nullptr), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_counters(session, &values), DH_ERR_ARGUMENT) << "struct_size is 0";
  values.struct_size = offsetof(dh_counter_values, lost);
  values.lost[0] = 77;
  EXPECT_EQ(dh_counters(session, &values), DH_OK);
  EXPECT_EQ(values.lost[0], 77u) << "an older caller's struct ends before it";
  EXPECT_EQ(dh_capture(session, nullptr, 1, nullptr), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_configure(session, nullptr), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_frame_end(session, 0), DH_SKIPPED);
  EXPECT_LT(dh_frame_end(session, 12345), 0);
  EXPECT_EQ(dh_event(session, nullptr), DH_ERR_ARGUMENT);
  const dh_frame frame = dh_frame_begin(session, nullptr);
  EXPECT_EQ(dh_frame_end(session, frame), DH_OK);
  EXPECT_LT(dh_frame_end(session, frame), 0);
  EXPECT_EQ(dh_close(session), DH_OK);
}

TEST(Api, AThreadWithASmallStackMayOpen) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);  // musl's default
  pthread_t thread;
  const auto run = [](void*) -> void* {
    Collector collector;
    const dh_options options = callback_options(&collector);
    dh_session* session = nullptr;
    EXPECT_EQ(dh_open(&options, &session), DH_OK);
    EXPECT_EQ(dh_configure(session, "include = a"), DH_OK);
    EXPECT_EQ(dh_close(session), DH_OK);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace
