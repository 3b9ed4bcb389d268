// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

TEST(Clock, System_RunsForward) {
  const Clock clock = Clock::system();
  const uint64_t first = clock.monotonic_ns();
  EXPECT_LE(first, clock.monotonic_ns());
  EXPECT_GT(clock.wall_ns(), 0u);
}

TEST(Clock, CanBeFaked) {
  uint64_t now = 41;
  Clock clock;
  clock.user = &now;
  clock.read_monotonic = [](void* user) { return ++*static_cast<uint64_t*>(user); };
  clock.read_wall = [](void*) { return uint64_t{5}; };
  EXPECT_EQ(42u, clock.monotonic_ns());
  EXPECT_EQ(43u, clock.monotonic_ns());
  EXPECT_EQ(5u, clock.wall_ns());
}

}  // namespace
}  // namespace dumphook
