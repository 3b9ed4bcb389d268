// SPDX-License-Identifier: Apache-2.0
#include "session/parking.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

namespace dumphook {

Status Parking::open() {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return DH_ERR_THREAD;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  const int failed = pthread_cond_init(&condition_, &attributes);
  pthread_condattr_destroy(&attributes);
  if (failed != 0) return DH_ERR_THREAD;
  event_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return event_fd_ < 0 ? DH_ERR_THREAD : DH_OK;
}

void Parking::close_descriptor() {
  if (event_fd_ >= 0) ::close(event_fd_);
  event_fd_ = -1;
}

void Parking::close() {
  if (event_fd_ < 0) return;
  close_descriptor();
  pthread_cond_destroy(&condition_);
  pthread_mutex_destroy(&mutex_);
}

void Parking::sleep(int fd, short events, uint64_t timeout_ns) {
  struct pollfd polled[2] = {{event_fd_, POLLIN, 0}, {fd, events, 0}};
  uint64_t timeout_ms = (timeout_ns + 999999) / 1000000;
  if (timeout_ms > 60000) timeout_ms = 60000;
  if (parked_.load(std::memory_order_seq_cst)) {
    poll(polled, fd < 0 ? 1 : 2, static_cast<int>(timeout_ms));
  }
  parked_.store(false, std::memory_order_seq_cst);
  uint64_t count = 0;
  if ((polled[0].revents & POLLIN) != 0) {
    const ssize_t drained = read(event_fd_, &count, sizeof count);
    (void)drained;
  }
}

void Parking::wake_slow() {
  if (!parked_.exchange(false, std::memory_order_seq_cst)) return;
  const uint64_t one = 1;
  const ssize_t written = write(event_fd_, &one, sizeof one);
  (void)written;  // it can only fail when it is readable already
}

void Parking::notify_slow() {
  pthread_mutex_lock(&mutex_);
  pthread_cond_broadcast(&condition_);
  pthread_mutex_unlock(&mutex_);
}

void Parking::wait(uint64_t timeout_ns) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const uint64_t nanoseconds = static_cast<uint64_t>(until.tv_nsec) + timeout_ns;
  until.tv_sec += static_cast<time_t>(nanoseconds / 1000000000);
  until.tv_nsec = static_cast<long>(nanoseconds % 1000000000);
  pthread_mutex_lock(&mutex_);
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  pthread_cond_timedwait(&condition_, &mutex_, &until);
  waiters_.fetch_sub(1, std::memory_order_seq_cst);
  pthread_mutex_unlock(&mutex_);
}

}  // namespace dumphook
