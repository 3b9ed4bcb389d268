// SPDX-License-Identifier: Apache-2.0
// kill -9 at a random moment: all that reached the kernel decodes, and no more than window_ms of data is missing.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "known_tensors.h"
#include "read_stream.h"

namespace {

constexpr uint64_t kWindowMs = 200;
constexpr uint64_t kSchedulingMs = 250;  // of a machine that does other things as well

uint64_t monotonic_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

int runs() {
  const char* text = getenv("DUMPHOOK_KILL_RUNS");
  return text == nullptr ? 10 : std::atoi(text);
}

struct Killed {
  std::vector<Accepted> accepted;
  uint64_t killed_ns = 0;
  int status = 0;
};

// Runs the victim and kills it after `live_us`; 0 = lets it end after 20 frames, with dh_close or without. With one
// small tensor a frame, data wait for the window; with all, for a chunk.
Killed run_victim(const std::string& sink, uint64_t live_us, uint32_t tensors = kKnownTensors,
                  const char* exits = nullptr) {
  Killed killed;
  int log[2];
  EXPECT_EQ(pipe2(log, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const int fd = dup(log[1]);  // without close-on-exec
    execl(KILL_VICTIM, "kill_victim", sink.c_str(), std::to_string(fd).c_str(), live_us == 0 ? "20" : "0",
          std::to_string(tensors).c_str(), exits, nullptr);
    _exit(127);
  }
  close(log[1]);
  std::thread reader([&] {
    Accepted accepted;
    while (read(log[0], &accepted, sizeof accepted) == sizeof accepted) killed.accepted.push_back(accepted);
  });
  if (live_us != 0) {
    usleep(static_cast<useconds_t>(live_us));
    kill(pid, SIGKILL);
  }
  killed.killed_ns = monotonic_ns();
  waitpid(pid, &killed.status, 0);
  if (live_us == 0) killed.killed_ns = monotonic_ns();
  reader.join();
  close(log[0]);
  return killed;
}

// Milliseconds from the oldest capture that is missing to the kill.
double check(const Killed& killed, const std::string& bytes) {
  const test_reader::Stream stream = test_reader::read_stream(bytes);
  for (const std::string& wrong : stream.wrong) ADD_FAILURE() << wrong;
  std::map<std::pair<uint32_t, uint64_t>, bool> whole;
  size_t truncated = 0;
  for (const auto& [id, tensor] : stream.tensors) {
    const auto number = static_cast<uint32_t>(std::atoi(tensor.name.c_str() + 5));
    if (!tensor.whole()) {
      ++truncated;
      continue;
    }
    whole[{number, tensor.frame}] = true;
    EXPECT_EQ(tensor.bytes, known_content(number, tensor.frame)) << tensor.name << " of frame " << tensor.frame;
  }
  EXPECT_LE(truncated, 1u);
  double worst_ms = 0;
  for (const Accepted& accepted : killed.accepted) {
    if (whole.count({accepted.tensor, accepted.frame}) != 0) continue;
    worst_ms = std::max(worst_ms, static_cast<double>(killed.killed_ns - accepted.monotonic_ns) / 1e6);
  }
  EXPECT_LE(worst_ms, kWindowMs + kSchedulingMs);
  return worst_ms;
}

class Report {
 public:
  explicit Report(const char* sink) : sink_(sink) {}
  ~Report() {
    std::sort(losses_.begin(), losses_.end());
    std::printf("%s: killed %zu times, %zu captures accepted; data lost: median %.1f ms, worst %.1f ms\n", sink_,
                losses_.size(), accepted_, losses_.empty() ? 0.0 : losses_[losses_.size() / 2],
                losses_.empty() ? 0.0 : losses_.back());
  }
  void add(const Killed& killed, double lost_ms) {
    accepted_ += killed.accepted.size();
    losses_.push_back(lost_ms);
  }

 private:
  const char* sink_;
  std::vector<double> losses_;
  size_t accepted_ = 0;
};

uint64_t random_life_us(int run) {
  std::mt19937 random(static_cast<unsigned>(run) * 7919u + 1u);
  return 5000 + random() % 900000;
}

std::string temporary(int run) {
  return ::testing::TempDir() + "kill_test_" + std::to_string(getpid()) + "_" + std::to_string(run) + ".mcap";
}

TEST(Kill, AFileHoldsAllButTheLastWindow) {
  Report report("file");
  for (int run = 0; run < runs(); ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    const std::string path = temporary(run);
    const Killed killed = run_victim(path, random_life_us(run), run % 2 == 0 ? 1 : kKnownTensors);
    ASSERT_TRUE(WIFSIGNALED(killed.status));
    report.add(killed, check(killed, test_reader::read_file(path)));
    unlink(path.c_str());
  }
}

TEST(Kill, APlainSocketReaderHoldsAllButTheLastWindow) {
  Report report("tcp");
  for (int run = 0; run < runs(); ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    ASSERT_EQ(listen(listener, 1), 0);
    std::string bytes;
    std::thread reader([&] {
      const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      char buffer[65536];
      for (ssize_t got; (got = read(connection, buffer, sizeof buffer)) > 0;)
        bytes.append(buffer, static_cast<size_t>(got));
      close(connection);
    });
    const Killed killed = run_victim("tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)),
                                     random_life_us(run + 1000), run % 2 == 0 ? 1 : kKnownTensors);
    shutdown(listener, SHUT_RDWR);
    reader.join();
    close(listener);
    ASSERT_TRUE(WIFSIGNALED(killed.status));
    report.add(killed, check(killed, bytes));
  }
}

TEST(Kill, WithoutAKill_NothingIsMissing) {
  const std::string path = temporary(-1);
  const Killed lived = run_victim(path, 0);
  ASSERT_TRUE(WIFEXITED(lived.status));
  EXPECT_EQ(WEXITSTATUS(lived.status), 0);
  EXPECT_EQ(lived.accepted.size(), 20u * kKnownTensors);
  EXPECT_EQ(check(lived, test_reader::read_file(path)), 0.0);
  unlink(path.c_str());
}

TEST(Kill, AProcessThatExitsWithoutClosing_LosesNoMoreThanOneThatCrashes) {
  for (int run = 0; run < 5; ++run) {
    const std::string path = temporary(-10 - run);
    const Killed left = run_victim(path, 0, run % 2 == 0 ? 1 : kKnownTensors, "exit");
    ASSERT_TRUE(WIFEXITED(left.status));
    EXPECT_EQ(WEXITSTATUS(left.status), 0);
    EXPECT_FALSE(left.accepted.empty());
    check(left, test_reader::read_file(path));
    unlink(path.c_str());
  }
}

// What `dumphook info` prints, and its exit code.
std::string info(const std::string& path, int* exit_code) {
  std::string text;
  FILE* pipe = popen(("'" DUMPHOOK_TOOL "' info '" + path + "' 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  const int status = pclose(pipe);
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return text;
}

TEST(Kill, TheToolSaysThatMoreMayBeMissing) {
  if (access(DUMPHOOK_TOOL, X_OK) != 0) GTEST_SKIP() << "the host tool is not built";
  const std::string whole = temporary(-2), cut = temporary(-3);
  run_victim(whole, 0);
  run_victim(cut, 700000);
  int exit_code = -1;
  std::string text = info(whole, &exit_code);
  EXPECT_EQ(exit_code, 0) << text;
  EXPECT_EQ(text.find("unconfirmed"), std::string::npos) << text;
  text = info(cut, &exit_code);
  EXPECT_TRUE(exit_code == 0 || exit_code == 3) << text;  // 3 when the kill fell into a frame
  EXPECT_NE(text.find("unconfirmed"), std::string::npos) << text;
  unlink(whole.c_str());
  unlink(cut.c_str());
}

}  // namespace
