// SPDX-License-Identifier: Apache-2.0
// A session whose segments are removed for its quota: what it says is what is in the files.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "open_session.h"

namespace {

namespace fs = std::filesystem;

class QuotaSession : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/dumphook_quota_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
    sink_ = "file:" + folder_ + "/run.mcap";
    options_.sink = sink_.c_str();
    options_.quota_bytes = 512 << 10;
    options_.window_ms = 5;
    options_.chunk_bytes = 16 << 10;
  }
  void TearDown() override { fs::remove_all(folder_); }

  uint64_t folder_bytes() const {
    uint64_t bytes = 0;
    std::error_code gone;  // files may go while we look
    for (const auto& file : fs::directory_iterator(folder_)) {
      const uint64_t size = fs::file_size(file, gone);
      bytes += gone ? 0 : size;
    }
    return bytes;
  }
  std::vector<fs::path> segments() const {
    std::vector<fs::path> paths;
    for (const auto& file : fs::directory_iterator(folder_)) paths.push_back(file.path());
    // run.mcap, run-0001.mcap, ...
    std::sort(paths.begin(), paths.end(), [](const fs::path& a, const fs::path& b) {
      return std::make_pair(a.string().size(), a) < std::make_pair(b.string().size(), b);
    });
    return paths;
  }

  std::string folder_, sink_;
  Collector collector_;  // for its log
  dh_options options_ = callback_options(&collector_);
};

TEST_F(QuotaSession, TheFilesAccountForEveryTensor) {
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options_, &session), DH_OK) << collector_.log();
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0}, looks{0};
  std::thread watcher([&] {
    while (!done) {
      const dh_counter_values now = counters_of(session);
      wrong += now.seen != now.shipped + now.in_flight + lost_sum(now) || now.in_flight > now.seen;
      ++looks;
    }
  });
  constexpr uint64_t kFrames = 400;
  for (uint64_t number = 0; number < kFrames; ++number) {
    const dh_frame frame = begin_frame(session, number);
    for (const auto& [name, size] : {std::pair<const char*, size_t>{"small", 800}, {"middle", 5000}, {"big", 90000}}) {
      if (name == std::string("big") && number % 10 != 0) continue;
      const std::string bytes = content(name, number, size);
      const dh_tensor tensor = u8_tensor(name, bytes);
      dh_capture_by_name(session, frame, &tensor);
    }
    dh_frame_end(session, frame);
    if (number % 20 == 0) {
      dh_flush(session, 5000);
      ASSERT_LE(folder_bytes(), options_.quota_bytes);
    }
  }
  dh_flush(session, 5000);
  done = true;
  watcher.join();
  EXPECT_EQ(wrong, 0u) << "of " << looks;
  const dh_counter_values before = counters_of(session);
  EXPECT_EQ(before.in_flight, 0u);
  EXPECT_GT(before.lost[DH_LOSS_QUOTA_REMOVED], 100u);
  EXPECT_EQ(dh_close(session), DH_OK) << "what left the session has left it";
  EXPECT_LE(folder_bytes(), options_.quota_bytes);

  std::string bytes;
  for (const fs::path& path : segments()) bytes += test_reader::read_file(path.string());
  const test_reader::Stream stream = test_reader::read_stream(bytes);
  EXPECT_TRUE(stream.sealed);
  ASSERT_FALSE(stream.counters.empty());
  const test_reader::Counters& last = stream.counters.back();
  EXPECT_TRUE(last.closing);
  EXPECT_EQ(last.seen, last.shipped + last.lost_sum());
  std::map<std::string, uint64_t> whole, lost;
  for (const auto& [id, tensor] : stream.tensors) {
    whole[tensor.name] += tensor.whole();
    if (tensor.whole()) {
      EXPECT_EQ(tensor.bytes, content(tensor.name, tensor.frame, tensor.bytes.size()));
    }
  }
  uint64_t all_whole = 0, all_lost = 0;
  for (const char* name : {"small", "middle", "big"}) {
    lost[name] = stream.lost(stream.id_of(name));
    EXPECT_EQ(whole[name] + lost[name], name == std::string("big") ? kFrames / 10 : kFrames) << name;
    all_whole += whole[name];
    all_lost += lost[name];
  }
  EXPECT_EQ(all_whole, last.shipped);
  EXPECT_EQ(all_lost, last.lost_sum());
  EXPECT_NE(joined(stream.logs).find("removed segment"), std::string::npos) << "the stream's own log says so";
}

TEST_F(QuotaSession, OfLessThanFourParts_IsRefused) {
  dh_session* session = nullptr;
  options_.quota_bytes = 255 << 10;
  EXPECT_EQ(dh_open(&options_, &session), DH_ERR_OPTION);
  EXPECT_NE(collector_.log().find("quota_bytes is 261120: at least 256 KiB"), std::string::npos) << collector_.log();
}

}  // namespace
