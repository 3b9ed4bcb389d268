// SPDX-License-Identifier: Apache-2.0
#include "spool/spool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace dumphook {
namespace {

class SpoolTest : public ::testing::Test {
 protected:
  void open(size_t bytes) {
    memory_.assign(bytes / 8, 0);
    spool_.open(reinterpret_cast<uint8_t*>(memory_.data()), bytes);
  }

  // False when the spool has no room.
  bool put(size_t bytes, uint64_t seq) { return put(bytes, bytes, seq); }
  bool put(size_t reserved, size_t bytes, uint64_t seq) {
    const Bytes room = spool_.reserve(reserved);
    if (room.data == nullptr) return false;
    EXPECT_EQ(room.size, reserved);
    std::fill(room.data, room.data + bytes, static_cast<uint8_t>(seq));
    SpoolEntry entry;
    entry.stream_seq = seq;
    entry.record_bytes = static_cast<uint32_t>(bytes);
    spool_.commit(entry);
    return true;
  }

  std::vector<uint64_t> seqs() const {
    std::vector<uint64_t> all;
    for (uint64_t at = spool_.begin(); at != spool_.end(); at = spool_.next(at))
      all.push_back(spool_.entry(at).stream_seq);
    return all;
  }

  std::vector<uint64_t> memory_;
  Spool spool_;
};

TEST_F(SpoolTest, GivesBackWhatWasPut_InOrder) {
  open(4096);
  ASSERT_TRUE(put(10, 1));
  ASSERT_TRUE(put(0, 2));
  ASSERT_TRUE(put(33, 3));
  EXPECT_EQ(seqs(), (std::vector<uint64_t>{1, 2, 3}));
  const ConstBytes record = spool_.record(spool_.next(spool_.next(spool_.begin())));
  EXPECT_EQ(record.size, 33u);
  EXPECT_EQ(record[32], 3);
}

TEST_F(SpoolTest, CommitsLessThanReserved) {
  open(4096);
  ASSERT_TRUE(put(1000, 10, 1));
  ASSERT_TRUE(put(1000, 10, 2));
  EXPECT_LT(spool_.used_bytes(), 300u);
  EXPECT_EQ(seqs(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(SpoolTest, RefusesWhenFull_AndTakesAgainAfterPop) {
  open(1024);
  uint64_t seq = 0;
  while (put(100, seq + 1)) ++seq;
  EXPECT_GT(seq, 3u);
  EXPECT_LE(spool_.used_bytes(), 1024u);
  spool_.pop();
  EXPECT_TRUE(put(100, seq + 1));
}

TEST_F(SpoolTest, ARecordOfTheMostBytes_FitsAnEmptyRingWhereverItStands) {
  for (size_t start = 0; start < 4096; start += 8) {
    open(4096);
    ASSERT_TRUE(put(start / 3, 1));
    spool_.pop();
    ASSERT_TRUE(put(Spool::max_record_bytes(4096), 2)) << start;
    ASSERT_EQ(seqs(), (std::vector<uint64_t>{2}));
  }
}

TEST_F(SpoolTest, ReservingWithoutCommit_ChangesNothing) {
  open(1024);
  ASSERT_TRUE(put(300, 1));
  EXPECT_NE(spool_.reserve(200).data, nullptr);
  EXPECT_NE(spool_.reserve(500).data, nullptr);
  EXPECT_EQ(seqs(), (std::vector<uint64_t>{1}));
  ASSERT_TRUE(put(100, 2));
  EXPECT_EQ(seqs(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(SpoolTest, RefusesAbsurdSizes) {
  open(1024);
  EXPECT_EQ(spool_.reserve(1025).data, nullptr);
  EXPECT_EQ(spool_.reserve(SIZE_MAX).data, nullptr);
  EXPECT_EQ(spool_.reserve(SIZE_MAX - 7).data, nullptr);
}

TEST_F(SpoolTest, ACursorAtTheEnd_ReachesTheNextEntryAcrossTheGap) {
  open(1024);
  ASSERT_TRUE(put(600, 1));
  const uint64_t cursor = spool_.end();
  spool_.pop();
  ASSERT_TRUE(put(400, 2));  // does not fit behind: leaves a gap, in an empty ring
  EXPECT_EQ(spool_.entry(cursor).stream_seq, 2u);
  EXPECT_EQ(spool_.next(cursor), spool_.end());
}

// Against a model that knows every live byte: order, contents, no overlap, through small rings.
class SpoolAgainstModel : public ::testing::TestWithParam<unsigned> {};

TEST_P(SpoolAgainstModel, LosesNothing_MixesNothing) {
  struct Live {
    uint64_t seq, position;
    const uint8_t* data;
    size_t bytes;
  };
  std::mt19937 random(GetParam());
  const size_t capacity = 512 + 8 * (random() % 1000);
  std::vector<uint64_t> memory(capacity / 8);
  Spool spool;
  spool.open(reinterpret_cast<uint8_t*>(memory.data()), capacity);
  std::deque<Live> model;
  const auto byte_of = [](uint64_t seq, size_t i) { return static_cast<uint8_t>(seq * 31 + i); };
  uint64_t seq = 0;
  size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const unsigned what = random() % 8;
    if (what < 5) {
      const size_t reserved = random() % (random() % 4 == 0 ? Spool::max_record_bytes(capacity) : 90);
      const size_t bytes = random() % 2 == 0 ? reserved : random() % (reserved + 1);
      const Bytes room = spool.reserve(reserved);
      if (room.data == nullptr) {
        ++refused;
        ASSERT_FALSE(model.empty()) << "an empty ring takes every record up to the most";
        continue;
      }
      ASSERT_GE(room.data, reinterpret_cast<uint8_t*>(memory.data()));
      ASSERT_LE(room.data + reserved, reinterpret_cast<uint8_t*>(memory.data()) + capacity);
      for (const Live& live : model) {
        ASSERT_TRUE(room.data + reserved <= live.data || live.data + live.bytes <= room.data) << "overlap";
      }
      if (random() % 10 == 0) continue;  // given up
      ++seq;
      for (size_t i = 0; i < bytes; ++i) room.data[i] = byte_of(seq, i);
      const uint64_t cursor = spool.end();
      SpoolEntry entry;
      entry.stream_seq = seq;
      entry.record_bytes = static_cast<uint32_t>(bytes);
      spool.commit(entry);
      model.push_back({seq, cursor, room.data, bytes});
    } else if (!model.empty()) {
      spool.pop();
      model.pop_front();
    }
    ASSERT_EQ(spool.empty(), model.empty());
    ASSERT_LE(spool.used_bytes(), capacity);
    uint64_t at = spool.begin();
    for (const Live& live : model) {
      ASSERT_EQ(spool.entry(at).stream_seq, live.seq);
      ASSERT_EQ(spool.entry(live.position).stream_seq, live.seq) << "positions stay the same";
      const ConstBytes record = spool.record(at);
      ASSERT_EQ(record.data, live.data);
      ASSERT_EQ(record.size, live.bytes);
      for (size_t i = 0; i < record.size; ++i) ASSERT_EQ(record[i], byte_of(live.seq, i));
      at = spool.next(at);
    }
    ASSERT_EQ(at, spool.end());
  }
  EXPECT_GT(seq, 100u);
  EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpoolAgainstModel, ::testing::Range(1u, 11u));

}  // namespace
}  // namespace dumphook
