// SPDX-License-Identifier: Apache-2.0
// The short run of tests/fuzz/fuzz_flat_writer.cpp.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "flat_writer_check.h"

namespace dumphook {
namespace {

TEST(AnyMessage, IsReadBackByFlatcsCodeAsItWasWritten) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    std::vector<uint8_t> choices(random() % 400);
    for (uint8_t& byte : choices) byte = static_cast<uint8_t>(random());
    const char* failure = check_flat_writer(ConstBytes(choices.data(), choices.size()));
    ASSERT_EQ(nullptr, failure) << failure << ", seed " << seed;
  }
}

}  // namespace
}  // namespace dumphook
