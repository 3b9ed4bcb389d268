// SPDX-License-Identifier: Apache-2.0
#include "session/process.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>

namespace dumphook {
namespace {

std::atomic<uint32_t> forks{0};
std::atomic<uint32_t> forks_watched{false};

}  // namespace

bool watch_forks() {
  if (forks_watched.exchange(true, std::memory_order_relaxed)) return true;
  if (pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0) return true;
  forks_watched.store(false, std::memory_order_relaxed);
  return false;
}

uint32_t fork_count() { return forks.load(std::memory_order_relaxed); }

WriteSignalsHeldBack::WriteSignalsHeldBack() {
  sigemptyset(&ours_);
  sigaddset(&ours_, SIGPIPE);
  sigaddset(&ours_, SIGXFSZ);
  sigset_t pending;
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  // Those that were blocked and pending are the app's.
  for (const int signal : {SIGPIPE, SIGXFSZ}) {
    if (sigismember(&pending, signal) == 1) sigdelset(&ours_, signal);
  }
}

WriteSignalsHeldBack::~WriteSignalsHeldBack() {
  const timespec now = {0, 0};
  while (sigtimedwait(&ours_, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool add_niceness(int added) {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, thread);
  return errno == 0 && setpriority(PRIO_PROCESS, thread, now + added) == 0;
}

}  // namespace dumphook
