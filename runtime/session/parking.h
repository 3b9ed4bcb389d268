// SPDX-License-Identifier: Apache-2.0
// Parking: how the worker sleeps and who wakes it, and how callers wait for the worker. System calls happen only when
// one side really sleeps.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/status.h"

namespace dumphook {

class Parking {
 public:
  Status open();
  void close();
  // In a forked child, where locks may be held for ever.
  void close_descriptor();

  // --- the worker -------------------------------------------------------------------------------------------------
  // Says that it is about to sleep; check for work once more between prepare() and sleep().
  void prepare() {
    parked_.store(true, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // what is checked now is no older; wake() has the other half
  }
  // Sleeps until wake(), until `fd` (or -1) has one of `events`, or for timeout_ns.
  void sleep(int fd, short events, uint64_t timeout_ns);
  // Lets waiters look again.
  void notify() {
    if (waiters_.load(std::memory_order_seq_cst) != 0) notify_slow();
  }

  // --- everybody else ---------------------------------------------------------------------------------------------
  void wake() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst)) wake_slow();
  }
  // Waits for notify(), at most `timeout_ns`. May return early.
  void wait(uint64_t timeout_ns);

 private:
  void wake_slow();
  void notify_slow();

  int event_fd_ = -1;
  std::atomic<uint32_t> parked_{false};  // a word: riscv64 has no atomic byte exchange without libatomic
  std::atomic<uint32_t> waiters_{0};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_;
};

}  // namespace dumphook
