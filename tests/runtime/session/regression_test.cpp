// SPDX-License-Identifier: Apache-2.0
// Defects that were found once, each by the scenario that showed it.
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "open_session.h"

namespace {

using test_reader::Stream;

class RegressionTest : public ::testing::Test {
 protected:
  void SetUp() override { options_ = callback_options(&collector_); }
  void open() { ASSERT_EQ(dh_open(&options_, &session_), DH_OK) << collector_.log(); }
  dh_status capture(const char* name, uint64_t number, size_t bytes) {
    const std::string data = content(name, number, bytes);
    const dh_frame frame = begin_frame(session_, number);
    const dh_tensor tensor = u8_tensor(name, data);
    const dh_status status = dh_capture_by_name(session_, frame, &tensor);
    dh_frame_end(session_, frame);
    return status;
  }
  std::string temporary(const char* what) {
    return ::testing::TempDir() + "regression_" + std::to_string(getpid()) + "_" + what;
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

// The descriptor that a segment repeated was that of the newest shape, not of the parts it begins with.
TEST_F(RegressionTest, ASegmentDescribesItsFirstTensors_AlsoWhenEveryFrameHasAnotherShape) {
  const std::string path = temporary("shapes.mcap");
  options_.sink = path.c_str();
  options_.segment_bytes = 300000;
  options_.policy = DH_POLICY_BLOCK;
  options_.flags = DH_FLAG_NO_COMPRESSION;
  open();
  for (uint64_t f = 0; f < 200; ++f) EXPECT_EQ(capture("t", f, 9000 + f), DH_OK);
  EXPECT_EQ(dh_close(session_), DH_OK);
  size_t segments = 0, tensors = 0;
  for (; segments < 100; ++segments) {
    char number[24];
    snprintf(number, sizeof number, "-%04zu.mcap", segments);
    const std::string name = segments == 0 ? path : path.substr(0, path.size() - 5) + number;
    if (access(name.c_str(), R_OK) != 0) break;
    const Stream stream = test_reader::read_stream(test_reader::read_file(name));  // by itself
    for (const std::string& wrong : stream.wrong) EXPECT_EQ(wrong.find("descriptor"), std::string::npos) << wrong;
    tensors += stream.tensors.size();
    unlink(name.c_str());
  }
  EXPECT_GT(segments, 3u);
  EXPECT_EQ(tensors, 200u);
}

// It counted losses of later captures as if what it waits for had been shipped.
TEST_F(RegressionTest, FlushWaitsForWhatWasCapturedBefore_WhateverIsLostMeanwhile) {
  collector_.stalled = true;
  open();
  for (uint64_t f = 0; f < 10; ++f) ASSERT_EQ(capture("t", f, 1000), DH_OK);
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (uint64_t f = 100; !over; ++f) {
      EXPECT_EQ(capture("too_big", f, options_.raw_pool_bytes + 1), DH_DROPPED);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  EXPECT_EQ(dh_flush(session_, 300), DH_TIMEOUT);
  collector_.stalled = false;
  EXPECT_EQ(dh_flush(session_, 10000), DH_OK);
  EXPECT_EQ(counters_of(session_).shipped, 10u);
  over = true;
  other.join();
  EXPECT_EQ(dh_close(session_), DH_OK);
}

// A change that came while the one before it was being applied was built on what held before that, and undid it.
TEST_F(RegressionTest, ChangesFollowOneAnother_AlsoWhileFramesBegin) {
  options_.include = "nothing";
  open();
  std::atomic<bool> over{false};
  std::vector<std::thread> frames;
  for (int t = 0; t < 3; ++t) {
    frames.emplace_back([&, t] {
      for (uint64_t f = static_cast<uint64_t>(t); !over; f += 3) dh_frame_end(session_, begin_frame(session_, f));
    });
  }
  int wrong = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    const std::string bytes(100, 'x'), wanted = "w" + std::to_string(i);
    EXPECT_EQ(dh_configure(session_, ("include = " + wanted).c_str()), DH_OK);
    EXPECT_EQ(dh_configure(session_, i % 2 == 0 ? "first_n = 0" : "every_nth = 1"), DH_OK);
    const dh_tensor tensor = u8_tensor(wanted.c_str(), bytes);
    wrong += !soon([&] {
      const dh_frame frame = begin_frame(session_, 1000000000 + i);
      const dh_status status = dh_capture_by_name(session_, frame, &tensor);
      dh_frame_end(session_, frame);
      return status != DH_SKIPPED;
    });
  }
  over = true;
  for (std::thread& thread : frames) thread.join();
  EXPECT_EQ(wrong, 0);
  dh_close(session_);
}

// Closing with a sink that takes nothing kept a core busy until the deadline.
TEST_F(RegressionTest, ClosingWaitsAsleep) {
  options_.close_ms = 1000;
  open();
  ASSERT_EQ(dh_flush(session_, 5000), DH_OK);
  collector_.stalled = true;
  EXPECT_EQ(capture("t", 1, 1000), DH_OK);
  const auto cpu_ms = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    const auto ms = [](const timeval& t) { return t.tv_sec * 1000 + t.tv_usec / 1000; };
    return ms(usage.ru_utime) + ms(usage.ru_stime);
  };
  const auto before = cpu_ms();
  EXPECT_EQ(dh_close(session_), DH_DROPPED);
  EXPECT_LT(cpu_ms() - before, 500);
}

// With the arena for names full, or all frames in use, tensors that nobody had selected were counted as lost.
TEST_F(RegressionTest, WhatWasNotSelectedIsNotLost) {
  options_.include = "wanted";
  options_.descriptor_bytes = 65536;
  options_.every_nth = 10;
  collector_.stalled = true;
  open();
  const std::string data = "abc";
  for (uint64_t f = 0; f < 500; ++f) {
    const dh_frame frame = begin_frame(session_, f);
    const std::string other = std::to_string(f) + std::string(300, 'o');
    const dh_tensor tensors[] = {u8_tensor(other.c_str(), data), u8_tensor("wanted", data)};
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensors[0]), DH_SKIPPED);
    const dh_status status = dh_capture_by_name(session_, frame, &tensors[1]);
    if (f % 10 != 0) {
      EXPECT_EQ(status, DH_SKIPPED) << f;
    }
    dh_frame_end(session_, frame);
  }
  EXPECT_EQ(counters_of(session_).seen, 50u);
  EXPECT_EQ(counters_of(session_).lost[DH_LOSS_NO_DESCRIPTOR_ROOM], 0u);
  collector_.stalled = false;
  dh_close(session_);
}

// An older caller's struct ends before the fields that came later.
TEST_F(RegressionTest, RequiredBytes_ReadsNoFurtherThanTheCallersStruct) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  constexpr size_t kOld = offsetof(dh_options, config_file);
  auto* old = reinterpret_cast<dh_options*>(pages + page - kOld);
  memset(static_cast<void*>(old), 0, kOld);
  old->struct_size = kOld;
  EXPECT_GT(dh_required_bytes(old, nullptr), 0u);
  munmap(pages, 2 * page);
}

// The nodes before a bad one had been declared.
TEST_F(RegressionTest, AModelThatIsRefusedIsNotHalfDeclared) {
  open();
  std::vector<dh_node> nodes(200, dh_node{});
  for (dh_node& node : nodes) node.name = "n";
  nodes[150].input_count = 3;  // and no inputs
  dh_model model = dh_model_default();
  model.name = "m";
  model.nodes = nodes.data();
  model.node_count = 200;
  EXPECT_EQ(dh_declare_model(session_, &model), DH_ERR_ARGUMENT);
  EXPECT_EQ(dh_close(session_), DH_OK);
  EXPECT_TRUE(test_reader::read_stream(collector_.bytes()).graphs.empty());
}

// A name longer than a buffer was cut, and then the whole message was left out.
TEST_F(RegressionTest, AFrameOfAModelWithTheLongestName_Begins) {
  open();
  const std::string model(DH_MAX_NAME_BYTES, 'm');
  dh_frame_info info = dh_frame_info_default();
  info.model = model.c_str();
  dh_frame_end(session_, dh_frame_begin(session_, &info));
  EXPECT_EQ(dh_close(session_), DH_OK);
  const Stream stream = test_reader::read_stream(collector_.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  ASSERT_EQ(stream.frames.size(), 1u);
  EXPECT_EQ(stream.frames.begin()->second.model, model);
}

// Attributes that were taken, though no descriptor could hold them, cost every capture of the tensor.
TEST_F(RegressionTest, AttributesBeyondADescriptorAreRefused_AndTheTensorIsKept) {
  open();
  dh_attr_target target = dh_attr_target_default();
  target.scope = DH_ATTR_TENSOR;
  target.tensor = "t";
  const std::string value(4000, 'v');
  int taken = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    const dh_status status = dh_attr(session_, &target, key.c_str(), value.c_str());
    EXPECT_TRUE(status == DH_OK || status == DH_ERR_LIMIT);
    taken += status == DH_OK;
  }
  EXPECT_GT(taken, 2);
  EXPECT_LT(taken, 9);
  EXPECT_EQ(capture("t", 1, 100), DH_OK);
  EXPECT_EQ(dh_close(session_), DH_OK);
  EXPECT_EQ(test_reader::read_stream(collector_.bytes()).tensors.size(), 1u);
}

// Without a worker the app's own thread writes, and a pipe whose reader has left killed it.
TEST_F(RegressionTest, APipeThatNobodyReads_DoesNotKillAnAppThatPumps) {
  const std::string path = temporary("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  const std::string sink = "file:" + path + "?overwrite=1";
  options_.sink = sink.c_str();
  options_.flags = DH_FLAG_NO_WORKER;
  open();
  ::close(reader);
  capture("t", 1, 100000);
  dh_flush(session_, 300);
  dh_close(session_);
  unlink(path.c_str());
}

// `thread_priority` is added to the caller's, not put in its place.
TEST_F(RegressionTest, TheWorkerIsAsManyStepsNicerThanItsMaker) {
  std::thread([this] {
    const auto self = static_cast<id_t>(syscall(SYS_gettid));
    ASSERT_EQ(setpriority(PRIO_PROCESS, self, 5), 0);
    options_.thread_priority = 3;
    options_.thread_name = "nicer";
    open();
    int worker = -1;
    EXPECT_TRUE(soon([&] {
      for (int id = static_cast<int>(self) + 1; id < static_cast<int>(self) + 50; ++id) {
        const std::string comm = test_reader::read_file("/proc/self/task/" + std::to_string(id) + "/comm");
        if (comm == "nicer\n") worker = id;
      }
      return worker >= 0 && getpriority(PRIO_PROCESS, static_cast<id_t>(worker)) == 8;
    }));
    dh_close(session_);
  }).join();
}

}  // namespace
