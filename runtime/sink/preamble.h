// SPDX-License-Identifier: Apache-2.0
// What both kinds of sink ask when they begin a stream.
#pragma once

#include "encode/stream_state.h"
#include "spool/spool.h"

namespace dumphook {

// The first message from `position` on; NULL when there is none yet.
inline const SpoolEntry* first_message(const Spool& spool, uint64_t position) {
  for (; position != spool.end(); position = spool.next(position)) {
    const SpoolEntry& entry = spool.entry(position);
    if (entry.kind == EntryKind::message) return &entry;
  }
  return nullptr;
}

// Whether an item of the repeats was sent before `first_stream_seq`, so that it does not come by itself.
inline bool is_repeat(const StreamItem& item, uint64_t first_stream_seq) {
  constexpr size_t kSequenceOffset = 11;
  if (item.head.size < kSequenceOffset + 4) return false;
  const uint32_t sequence = load_le<uint32_t>(item.head.data + kSequenceOffset);
  return static_cast<int32_t>(sequence - static_cast<uint32_t>(first_stream_seq)) < 0;
}

}  // namespace dumphook
