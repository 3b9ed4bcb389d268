// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

namespace dumphook {

// A set of numbers that come mostly in order.
class SeqRanges {
 public:
  // False when it was there.
  bool add(uint64_t seq) {
    auto after = ranges_.upper_bound(seq);
    auto before = after;
    if (after != ranges_.begin() && (--before)->second >= seq) return false;
    const bool joins_before = after != ranges_.begin() && before->second + 1 == seq;
    const bool joins_after = after != ranges_.end() && after->first == seq + 1;
    if (joins_before && joins_after) {
      before->second = after->second;
      ranges_.erase(after);
    } else if (joins_before) {
      before->second = seq;
    } else if (joins_after) {
      const uint64_t last = after->second;
      ranges_.erase(after);
      ranges_[seq] = last;
    } else {
      ranges_[seq] = seq;
    }
    return true;
  }
  // How many of [first, end) are not in it.
  uint64_t missing(uint64_t first, uint64_t end) const {
    uint64_t count = 0;
    for (const auto& [from, last] : ranges_) {
      if (from >= end || first >= end) break;
      if (from > first) count += from - first;
      if (last >= first) first = last + 1;
    }
    return first < end ? count + (end - first) : count;
  }
  size_t range_count() const { return ranges_.size(); }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first to last
};

}  // namespace dumphook
