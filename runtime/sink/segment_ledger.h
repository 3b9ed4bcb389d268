// SPDX-License-Identifier: Apache-2.0
// SegmentLedger: which tensors each segment of this session holds, and which losses were told in it, so that the books
// stay right when a segment is removed. In fixed memory:
//
//   | shares of the oldest segment | of the next | ... | of the present one -->      |
//
// When that is full, the two neighbours that are smallest together become one group: their files go together, too.
#pragma once

#include "base/bytes.h"
#include "spool/spool.h"

namespace dumphook {

// `count` tensors that were shipped, all in frames first ... last; or, if `told`, losses that a Loss listed.
struct SegmentShare {
  uint32_t tensor_id = 0;
  uint8_t reason = 0;  // told: dh_loss_reason
  bool told = false;
  uint64_t count = 0;
  uint64_t first_frame = 0;
  uint64_t last_frame = 0;
};

class SegmentLedger {
 public:
  struct Group {
    uint32_t first = 0, last = 0;  // segment numbers
    uint32_t share_count = 0;
    uint64_t bytes = 0;
  };

  static size_t memory_bytes(uint32_t max_tensors);
  void open(Bytes memory);
  bool is_kept() const { return shares_ != nullptr; }

  void begin_segment(uint32_t number);
  // A record was written to the present segment. A tensor counts where its first part lies. False when that segment was
  // removed meanwhile: the tensor is not whole, and not in the books.
  bool add(const SpoolEntry& entry, ConstBytes record);
  void end_segment(uint64_t bytes);

  // The oldest ended segments; NULL when there are none.
  const Group* oldest() const { return group_count_ - open_ == 0 ? nullptr : groups_; }
  const SegmentShare& share(uint32_t index) const { return shares_[index]; }  // of the oldest
  void remove_oldest();
  // Of all ended segments.
  uint64_t bytes() const;
  uint32_t groups_merged() const { return merged_; }

 private:
  struct Begun {  // a tensor whose last part is still to come
    uint64_t capture_id = 0;
    uint32_t segment = 0;
    bool set = false;
  };

  bool add_share(uint32_t segment, const SegmentShare& share);
  uint32_t find(uint32_t begin, uint32_t end, const SegmentShare& share) const;
  template <class Keep>
  void filter(uint32_t group, uint32_t begin, uint32_t end, const Keep& keep);
  bool merge_two();
  bool forget_told();
  static void merge_into(SegmentShare* share, const SegmentShare& other);

  static constexpr uint32_t kMaxGroups = 64;
  static constexpr uint32_t kMaxBegun = 64;
  SegmentShare* shares_ = nullptr;
  uint32_t share_limit_ = 0;
  uint32_t share_count_ = 0;
  uint32_t hint_ = 0;  // where the next share will probably be
  uint32_t group_count_ = 0;
  uint32_t open_ = 0;  // 1: the last group is the present segment
  uint32_t present_ = 0;
  uint32_t merged_ = 0;
  uint32_t next_begun_ = 0;
  Group groups_[kMaxGroups];
  Begun begun_[kMaxBegun];
};

}  // namespace dumphook
