// SPDX-License-Identifier: Apache-2.0
#include "collect/record_splitter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "collect/seq_ranges.h"

namespace dumphook {
namespace {

std::string record(uint8_t opcode, const std::string& content) {
  std::string bytes(kRecordPrefixBytes, '\0');
  bytes[0] = static_cast<char>(opcode);
  store_le<uint64_t>(bytes.data() + 1, content.size());
  return bytes + content;
}

ConstBytes bytes_of(const std::string& text) {
  return ConstBytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

TEST(RecordSplitter, FindsRecordsWhateverThePieces) {
  const std::string magic(reinterpret_cast<const char*>(kMcapMagic), 8);
  std::string all = magic;
  for (int i = 0; i < 200; ++i)
    all += record(static_cast<uint8_t>(1 + i % 200), std::string(static_cast<size_t>(i * i), 'a'));
  all += magic;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    RecordSplitter splitter;
    std::string again;
    size_t at = 0, magics = 0;
    while (at < all.size()) {
      const size_t now = std::min<size_t>(all.size() - at, seed == 0 ? 1 : 1 + random() % 5000);
      splitter.add(bytes_of(all.substr(at, now)));
      at += now;
      for (RecordSplitter::Step step; (step = splitter.next()) != RecordSplitter::Step::more;) {
        ASSERT_NE(step, RecordSplitter::Step::broken);
        magics += step == RecordSplitter::Step::magic;
        again.append(reinterpret_cast<const char*>(splitter.whole().data), splitter.whole().size);
        ASSERT_EQ(splitter.position(), again.size());
      }
    }
    EXPECT_EQ(magics, 2u);
    EXPECT_TRUE(again == all);
    EXPECT_TRUE(splitter.empty());
  }
}

TEST(RecordSplitter, ALengthAlone_TakesNoMemory) {
  RecordSplitter splitter;
  std::string head = record(5, "");
  store_le<uint64_t>(head.data() + 1, uint64_t{64} << 20);
  splitter.add(bytes_of(head));
  EXPECT_EQ(splitter.next(), RecordSplitter::Step::more);
  EXPECT_LT(splitter.room(1).size, 1u << 20);
}

TEST(RecordSplitter, TooLongARecord_IsTheEnd) {
  for (const uint64_t length : {(uint64_t{64} << 20) + 1, ~uint64_t{0}, ~uint64_t{0} - 8}) {
    RecordSplitter splitter;
    std::string head = record(5, "");
    store_le<uint64_t>(head.data() + 1, length);
    splitter.add(bytes_of(head));
    EXPECT_EQ(splitter.next(), RecordSplitter::Step::broken);
  }
}

TEST(SeqRanges, RememberEachNumberOnce) {
  std::mt19937 random(1);
  SeqRanges ranges;
  std::set<uint64_t> model;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t seq = random() % 3000;
    ASSERT_EQ(ranges.add(seq), model.insert(seq).second);
  }
  SeqRanges in_order;
  for (uint64_t seq = 1; seq < 1000; ++seq) EXPECT_TRUE(in_order.add(seq));
  EXPECT_EQ(in_order.range_count(), 1u);
}

}  // namespace
}  // namespace dumphook
