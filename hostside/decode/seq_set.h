// SPDX-License-Identifier: Apache-2.0
// SeqSet: which stream_seqs were seen, as ranges. A capture without losses is one range.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>

namespace dumphook {

class SeqSet {
 public:
  // False when it was there.
  bool add(uint64_t seq) {
    auto after = ranges_.upper_bound(seq);
    if (after != ranges_.begin()) {
      const auto before = std::prev(after);
      if (seq <= before->second) return false;
      if (before->second + 1 == seq) {
        before->second = seq;
        if (after != ranges_.end() && after->first == seq + 1) {
          before->second = after->second;
          ranges_.erase(after);
        }
        return true;
      }
    }
    if (after != ranges_.end() && seq + 1 == after->first) {
      const uint64_t last = after->second;
      ranges_.erase(after);
      ranges_[seq] = last;
    } else {
      ranges_[seq] = seq;
    }
    return true;
  }

  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }  // first -> last

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace dumphook
