// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <time.h>

namespace dumphook {
namespace {

uint64_t read_ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t read_system_monotonic(void*) { return read_ns(CLOCK_MONOTONIC); }
uint64_t read_system_wall(void*) { return read_ns(CLOCK_REALTIME); }

}  // namespace

Clock Clock::system() {
  Clock clock;
  clock.read_monotonic = read_system_monotonic;
  clock.read_wall = read_system_wall;
  return clock;
}

}  // namespace dumphook
