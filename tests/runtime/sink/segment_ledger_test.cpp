// SPDX-License-Identifier: Apache-2.0
#include "sink/segment_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "wire/format.h"
#include "wire/mcap.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

class Ledger : public ::testing::Test {
 protected:
  void open(uint32_t max_tensors) {
    const size_t bytes = SegmentLedger::memory_bytes(max_tensors);
    memory_.assign(bytes / 8 + 1, 0);
    ledger.open(Bytes(reinterpret_cast<uint8_t*>(memory_.data()), bytes));
  }
  bool part(uint32_t tensor, uint64_t frame, bool first = true, bool last = true, uint64_t capture = 0) {
    SpoolEntry entry;
    entry.tensor_id = tensor;
    entry.channel_id = static_cast<uint16_t>(kFirstTensorChannel + tensor);
    entry.frame = frame;
    entry.capture_id = capture;
    entry.first_part = first;
    entry.last_part = last;
    return ledger.add(entry, {});
  }
  void told(uint32_t tensor, uint8_t reason, uint64_t count, uint64_t first, uint64_t last) {
    std::vector<uint8_t> record(512);
    LossRangeView range;
    range.tensor_id = tensor;
    range.reason = reason;
    range.count = count;
    range.first_frame = first;
    range.last_frame = last;
    const size_t bytes = write_loss(Bytes(record.data() + kMessageHeaderBytes + 1, 480), 1, {&range, 1});
    SpoolEntry entry;
    entry.channel_id = kLossChannel.channel;
    ledger.add(entry, ConstBytes(record.data() + 1, kMessageHeaderBytes + bytes));
  }
  // Counts of the oldest segment's tensors; removes it.
  std::map<uint32_t, uint64_t> take_oldest() {
    std::map<uint32_t, uint64_t> counts;
    const SegmentLedger::Group* group = ledger.oldest();
    for (uint32_t i = 0; i < group->share_count; ++i) {
      if (!ledger.share(i).told) counts[ledger.share(i).tensor_id] += ledger.share(i).count;
    }
    ledger.remove_oldest();
    return counts;
  }

  SegmentLedger ledger;

 private:
  std::vector<uint64_t> memory_;
};

using Counts = std::map<uint32_t, uint64_t>;

TEST_F(Ledger, KnowsEachSegmentsTensors_AndTheirFrames) {
  open(8);
  ledger.begin_segment(0);
  for (uint64_t frame = 3; frame < 8; ++frame) EXPECT_TRUE(part(1, frame) && part(2, frame));
  ledger.end_segment(1000);
  ledger.begin_segment(1);
  part(2, 8);
  EXPECT_EQ(ledger.bytes(), 1000u);
  EXPECT_EQ(ledger.share(0).first_frame, 3u);
  EXPECT_EQ(ledger.share(0).last_frame, 7u);
  EXPECT_EQ(take_oldest(), (Counts{{1, 5}, {2, 5}}));
  EXPECT_EQ(ledger.oldest(), nullptr) << "the present segment is not to be removed";
  ledger.end_segment(500);
  EXPECT_EQ(take_oldest(), (Counts{{2, 1}}));
}

TEST_F(Ledger, ATensorBelongsWhereItBegins) {
  open(8);
  ledger.begin_segment(0);
  part(1, 0, true, false, 77);
  part(2, 0, true, false, 78);
  ledger.end_segment(10);
  ledger.begin_segment(1);
  EXPECT_TRUE(part(1, 0, false, true, 77));
  EXPECT_EQ(take_oldest(), (Counts{{1, 1}}));
  EXPECT_FALSE(part(2, 0, false, true, 78)) << "its beginning is gone";
  ledger.end_segment(10);
  EXPECT_EQ(take_oldest(), Counts{});
}

TEST_F(Ledger, RemembersWhichLossesWereTold) {
  open(8);
  ledger.begin_segment(0);
  told(3, DH_LOSS_POOL_FULL, 5, 10, 20);
  told(3, DH_LOSS_POOL_FULL, 2, 4, 6);
  told(3, DH_LOSS_TOO_BIG, 1, 9, 9);
  ledger.end_segment(10);
  ASSERT_EQ(ledger.oldest()->share_count, 2u);
  const SegmentShare& share = ledger.share(0);
  EXPECT_TRUE(share.told);
  EXPECT_EQ(share.tensor_id, 3u);
  EXPECT_EQ(share.reason, DH_LOSS_POOL_FULL);
  EXPECT_EQ(share.count, 7u);
  EXPECT_EQ(share.first_frame, 4u);
  EXPECT_EQ(share.last_frame, 20u);
}

TEST_F(Ledger, MoreSegmentsThanItHolds_GoInGroups_AndNothingIsMiscounted) {
  open(50);
  Counts added, removed;
  uint32_t next = 0;
  for (uint32_t segment = 0; segment < 1000; ++segment) {
    ledger.begin_segment(segment);
    for (uint32_t i = 0; i < 40; ++i) {
      const uint32_t tensor = (segment * 7 + i * 3) % 50;
      if (i % 5 == 0) told(tensor, DH_LOSS_POOL_FULL, 1, segment, segment);
      ASSERT_TRUE(part(tensor, segment));
      ++added[tensor];
    }
    ledger.end_segment(100);
    if (segment > 500 && segment % 3 == 0) {
      EXPECT_EQ(ledger.oldest()->first, next);
      next = ledger.oldest()->last + 1;
      for (const auto& [tensor, count] : take_oldest()) removed[tensor] += count;
    }
  }
  EXPECT_GT(ledger.groups_merged(), 100u);
  EXPECT_EQ(ledger.bytes(), (1000u - next) * 100u);
  while (ledger.oldest() != nullptr) {
    EXPECT_EQ(ledger.oldest()->first, next);
    next = ledger.oldest()->last + 1;
    for (const auto& [tensor, count] : take_oldest()) removed[tensor] += count;
  }
  EXPECT_EQ(next, 1000u);
  EXPECT_EQ(removed, added);
}

}  // namespace
}  // namespace dumphook
