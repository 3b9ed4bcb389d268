// SPDX-License-Identifier: Apache-2.0
// dh_capture makes no system call: it runs on a thread for which seccomp traps every one of them.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "dumphook/dumphook.h"

namespace {

std::atomic<uint32_t> trapped{0};
std::atomic<int> last_trapped{-1};

void on_trap(int, siginfo_t* info, void*) {
  trapped.fetch_add(1);
  last_trapped.store(info->si_syscall);
}

// From here on every system call of this thread is counted and not made. There is no way back.
bool trap_all_system_calls() {
  static sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  static const sock_fprog filter = {sizeof program / sizeof program[0], program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

enum Exit { kFine = 0, kNotSupported = 10, kWrong = 11 };

// Runs in a process of its own, since the trapped thread can never end.
int capture_under_trap(const char* sink) {
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  dh_options options = dh_options_default();
  options.sink = sink;
  options.include = "*";
  options.exclude = "off*";
  dh_session* session = nullptr;
  if (dh_open(&options, &session) != DH_OK) return kWrong;
  static std::vector<char> bytes(100000, 'x');
  static const char* const kNames[] = {"a", "b", "c", "d", "off"};
  static std::atomic<dh_frame> frame{0};
  static std::atomic<int> ready{0};
  static std::atomic<uint64_t> captured{0};
  std::thread app([session] {
    dh_tap taps[5] = {};
    dh_tensor tensor = dh_tensor_default();
    tensor.dtype = DH_U8;
    tensor.rank = 2;
    tensor.shape[0] = 100;
    tensor.shape[1] = 700;
    tensor.strides[0] = 1000;
    tensor.strides[1] = 1;
    tensor.data = bytes.data();
    const bool trapping = trap_all_system_calls();
    ready = trapping ? 1 : -1;
    for (dh_frame last = 0; trapping;) {
      const dh_frame now = frame.load();
      if (now == last) continue;
      last = now;
      for (int k = 0; k < 5; ++k) {
        tensor.name = kNames[k];
        if (dh_capture(session, &taps[k], now, &tensor) >= 0) captured.fetch_add(1);
        tensor.name = "by_name";
        if (dh_capture_by_name(session, now, &tensor) >= 0) captured.fetch_add(1);
      }
      frame.store(0);
      last = 0;
    }
  });
  while (ready == 0) usleep(100);
  if (ready < 0) {
    app.join();
    return kNotSupported;
  }
  constexpr int kFrames = 200;
  for (int f = 0; f < kFrames; ++f) {
    const dh_frame now = dh_frame_begin(session, nullptr);
    frame.store(now);
    while (frame.load() != 0) usleep(50);
    dh_frame_end(session, now);
  }
  dh_flush(session, 5000);
  dh_counter_values values = {};
  values.struct_size = sizeof values;
  dh_counters(session, &values);
  dh_close(session);
  std::printf("%llu captures (%llu shipped), %u system calls%s\n", static_cast<unsigned long long>(captured.load()),
              static_cast<unsigned long long>(values.shipped), trapped.load(),
              trapped == 0 ? "" : (", the last was number " + std::to_string(last_trapped)).c_str());
  std::fflush(stdout);
  _exit(trapped == 0 && captured == kFrames * 10 && values.shipped > 0 ? kFine : kWrong);
}

TEST(SystemCalls, DhCaptureMakesNone) {
  const std::string path = ::testing::TempDir() + "syscall_test_" + std::to_string(getpid()) + ".mcap";
  const pid_t pid = fork();
  if (pid == 0) _exit(capture_under_trap(path.c_str()));
  int status = 0;
  waitpid(pid, &status, 0);
  unlink(path.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotSupported) GTEST_SKIP() << "this system does not allow seccomp filters";
  EXPECT_EQ(WEXITSTATUS(status), kFine);
}

}  // namespace
