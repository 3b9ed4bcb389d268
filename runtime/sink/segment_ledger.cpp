// SPDX-License-Identifier: Apache-2.0
#include "sink/segment_ledger.h"

#include <cstring>

#include "wire/format.h"
#include "wire/mcap.h"
#include "wire/messages.h"

namespace dumphook {

// Enough for the tensors of two groups whatever happens, and for some segments' losses.
size_t SegmentLedger::memory_bytes(uint32_t max_tensors) {
  return (4 * (size_t{max_tensors} + 1) + 256) * sizeof(SegmentShare);
}

void SegmentLedger::open(Bytes memory) {
  shares_ = reinterpret_cast<SegmentShare*>(memory.data);
  share_limit_ = static_cast<uint32_t>(memory.size / sizeof(SegmentShare));
}

void SegmentLedger::begin_segment(uint32_t number) {
  if (!is_kept()) return;
  while (group_count_ == kMaxGroups && merge_two()) {
  }
  present_ = number;
  groups_[group_count_++] = {number, number, 0, 0};
  open_ = 1;
  hint_ = share_count_;
}

void SegmentLedger::end_segment(uint64_t bytes) {
  if (!is_kept()) return;
  groups_[group_count_ - 1].bytes = bytes;
  open_ = 0;
}

bool SegmentLedger::add(const SpoolEntry& entry, ConstBytes record) {
  if (!is_kept() || entry.kind != EntryKind::message) return true;
  if (entry.channel_id == kLossChannel.channel) {
    LossRangeView range;
    for (uint32_t i = 0; read_loss_range(record.from(kMessageHeaderBytes), i, &range); ++i) {
      add_share(present_, {range.tensor_id, range.reason, true, range.count, range.first_frame, range.last_frame});
    }
    return true;
  }
  if (entry.first_part && !entry.last_part) {
    begun_[next_begun_++ % kMaxBegun] = {entry.capture_id, present_, true};
    return true;
  }
  if (!entry.last_part) return true;
  uint32_t segment = present_;
  if (!entry.first_part) {
    segment = groups_[0].first;  // forgotten where it began: as early as can be
    for (Begun& begun : begun_) {
      if (!begun.set || begun.capture_id != entry.capture_id) continue;
      segment = begun.segment;
      begun.set = false;
    }
  }
  return add_share(segment, {entry.tensor_id, 0, false, 1, entry.frame, entry.frame});
}

void SegmentLedger::merge_into(SegmentShare* share, const SegmentShare& other) {
  share->count += other.count;
  if (other.first_frame < share->first_frame) share->first_frame = other.first_frame;
  if (other.last_frame > share->last_frame) share->last_frame = other.last_frame;
}

uint32_t SegmentLedger::find(uint32_t begin, uint32_t end, const SegmentShare& share) const {
  for (uint32_t i = begin; i < end; ++i) {
    const SegmentShare& at = shares_[i];
    if (at.tensor_id == share.tensor_id && at.told == share.told && at.reason == share.reason) return i;
  }
  return end;
}

bool SegmentLedger::add_share(uint32_t segment, const SegmentShare& share) {
  if (segment < groups_[0].first) return false;
  for (;;) {
    uint32_t group = 0, begin = 0;
    while (segment > groups_[group].last) begin += groups_[group++].share_count;
    const uint32_t end = begin + groups_[group].share_count;
    // Tensors come in the same order frame after frame.
    const uint32_t middle = hint_ > begin && hint_ < end ? hint_ : begin;
    uint32_t at = find(middle, end, share);
    if (at == end && (at = find(begin, middle, share)) == middle) at = end;
    if (at != end) {
      merge_into(&shares_[at], share);
      hint_ = at + 1;
      return true;
    }
    if (share_count_ < share_limit_) {
      std::memmove(&shares_[end + 1], &shares_[end], (share_count_ - end) * sizeof(SegmentShare));
      shares_[end] = share;
      ++share_count_;
      ++groups_[group].share_count;
      hint_ = end + 1;
      return true;
    }
    if (!merge_two() && !forget_told()) return true;
  }
}

// Keeps of the shares [begin, end), all of one group, those for which keep() is true.
template <class Keep>
void SegmentLedger::filter(uint32_t group, uint32_t begin, uint32_t end, const Keep& keep) {
  uint32_t to = begin;
  for (uint32_t from = begin; from < end; ++from) {
    if (keep(shares_[from])) shares_[to++] = shares_[from];
  }
  std::memmove(&shares_[to], &shares_[end], (share_count_ - end) * sizeof(SegmentShare));
  groups_[group].share_count -= end - to;
  share_count_ -= end - to;
  hint_ = 0;
}

bool SegmentLedger::merge_two() {
  const uint32_t ended = group_count_ - open_;
  if (ended < 2) return false;
  uint32_t chosen = 0;
  for (uint32_t i = 1; i + 1 < ended; ++i) {
    const uint64_t bytes = groups_[i].bytes + groups_[i + 1].bytes;
    if (bytes < groups_[chosen].bytes + groups_[chosen + 1].bytes) chosen = i;
  }
  Group& group = groups_[chosen];
  const Group& next = groups_[chosen + 1];
  uint32_t begin = 0;
  for (uint32_t i = 0; i < chosen; ++i) begin += groups_[i].share_count;
  const uint32_t middle = begin + group.share_count, end = middle + next.share_count;
  group.last = next.last;
  group.bytes += next.bytes;
  group.share_count = end - begin;
  std::memmove(&groups_[chosen + 1], &groups_[chosen + 2], (group_count_ - chosen - 2) * sizeof(Group));
  --group_count_;
  ++merged_;
  filter(chosen, middle, end, [this, begin, middle](const SegmentShare& share) {
    const uint32_t at = find(begin, middle, share);
    if (at != middle) merge_into(&shares_[at], share);
    return at == middle;
  });
  return true;
}

// The last resort: losses that were told in these segments are not told again when they go. The counters have them.
bool SegmentLedger::forget_told() {
  const uint32_t before = share_count_;
  uint32_t begin = 0;
  for (uint32_t i = 0; i < group_count_; begin += groups_[i++].share_count) {
    filter(i, begin, begin + groups_[i].share_count, [](const SegmentShare& share) { return !share.told; });
  }
  return share_count_ != before;
}

void SegmentLedger::remove_oldest() {
  filter(0, 0, groups_[0].share_count, [](const SegmentShare&) { return false; });
  std::memmove(&groups_[0], &groups_[1], (--group_count_) * sizeof(Group));
}

uint64_t SegmentLedger::bytes() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < group_count_ - open_; ++i) sum += groups_[i].bytes;
  return sum;
}

}  // namespace dumphook
