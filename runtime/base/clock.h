// SPDX-License-Identifier: Apache-2.0
// Clock: where time comes from, so that tests can make it.
#pragma once

#include <cstdint>

namespace dumphook {

constexpr uint64_t kMillisecond = 1000000;  // in nanoseconds, the unit of all clocks here

struct Clock {
  uint64_t (*read_monotonic)(void* user) = nullptr;
  uint64_t (*read_wall)(void* user) = nullptr;
  void* user = nullptr;

  // Nanoseconds since some moment of this boot; never goes back.
  uint64_t monotonic_ns() const { return read_monotonic(user); }
  // Nanoseconds since 1970; jumps when somebody sets it, and boards without a battery start in 1970.
  uint64_t wall_ns() const { return read_wall(user); }

  static Clock system();
};

}  // namespace dumphook
