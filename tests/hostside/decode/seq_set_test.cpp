// SPDX-License-Identifier: Apache-2.0
#include "decode/seq_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dumphook {
namespace {

using Ranges = std::map<uint64_t, uint64_t>;

TEST(SeqSet, NumbersInOrder_AreOneRange) {
  SeqSet set;
  for (uint64_t seq = 1; seq <= 100; ++seq) EXPECT_TRUE(set.add(seq));
  EXPECT_EQ(set.ranges(), (Ranges{{1, 100}}));
  EXPECT_FALSE(set.add(50));
}

TEST(SeqSet, LargestNumber_DoesNotWrap) {
  SeqSet set;
  EXPECT_TRUE(set.add(~uint64_t{0}));
  EXPECT_TRUE(set.add(0));
  EXPECT_FALSE(set.add(~uint64_t{0}));
  EXPECT_EQ(set.ranges().size(), 2u);
}

TEST(SeqSet, AnyOrder_AgreesWithASet) {
  std::mt19937 random(7);
  SeqSet set;
  std::set<uint64_t> expected;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t seq = random() % 1000;
    ASSERT_EQ(set.add(seq), expected.insert(seq).second);
  }
  uint64_t count = 0, before = 0;
  for (const auto& [first, last] : set.ranges()) {
    EXPECT_TRUE(count == 0 || first > before + 1);
    count += last - first + 1;
    before = last;
  }
  EXPECT_EQ(count, expected.size());
}

}  // namespace
}  // namespace dumphook
