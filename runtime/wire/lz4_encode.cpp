// SPDX-License-Identifier: Apache-2.0
#include "wire/lz4_encode.h"

#include "wire/format.h"

namespace dumphook {
namespace {

constexpr size_t kLeastMatch = 4;
constexpr size_t kLastLiterals = 5;  // what a block ends in
constexpr size_t kLastStart = 12;    // no match begins nearer to the end
constexpr size_t kOffsetBytes = 2;
constexpr size_t kLongLength = 15;           // of a token's four bits: more bytes follow
constexpr unsigned kMissesPerStep = 1 << 5;  // after so many the search takes longer steps
constexpr size_t kWindowBytes = 1 << 16;     // what 16 bits tell apart
constexpr unsigned kMaxSlotBits = 13;
static_assert(sizeof(uint16_t) << kMaxSlotBits == kLz4StateBytes, "a slot for each hash");

inline uint32_t four_at(const uint8_t* p) { return load_le<uint32_t>(p); }

// Finds what was there before, by a table of where each hash was seen last in this window of the input. Windows do not
// overlap: of repeats from far away, in inputs longer than one, some are missed.
class Matches {
 public:
  Matches(ConstBytes raw, void* state) : slots_(static_cast<uint16_t*>(state)), wide_(raw.size > kWindowBytes) {
    unsigned bits = kMaxSlotBits;
    while (bits > 8 && raw.size <= size_t{1} << (bits - 1)) --bits;
    shift_ = 32 - bits;
    end_ = window_end_ = raw.data;
    if (raw.size > kLastStart) end_ += raw.size - kLastStart + 1;
  }

  // Moves `at` on to four bytes that were there before, and returns where; or NULL when there is no such place.
  const uint8_t* find(const uint8_t*& at, unsigned acceleration) {
    return wide_ ? search<true>(at, acceleration) : search<false>(at, acceleration);
  }

  void remember(const uint8_t* at) {
    if (at < window_end_) *(wide_ ? slot<true>(at) : slot<false>(at)) = static_cast<uint16_t>(at - window_);
  }

 private:
  // In long inputs matches of four bytes are so many that they cost more time than they save space: hashes of five.
  template <bool kWide>
  uint16_t* slot(const uint8_t* at) const {
    uint32_t hash = four_at(at) * 2654435761u;
    if (kWide) hash += at[4] * 2246822519u;
    return slots_ + (hash >> shift_);
  }

  template <bool kWide>
  const uint8_t* search(const uint8_t*& at, unsigned acceleration) {
    for (unsigned tried = acceleration * kMissesPerStep;; at += tried++ / kMissesPerStep) {
      if (at >= window_end_) {
        if (at >= end_) return nullptr;
        begin_window(at - 1);
      }
      uint16_t* const seen = slot<kWide>(at);
      const uint8_t* const before = window_ + *seen;
      *seen = static_cast<uint16_t>(at - window_);
      if (four_at(before) == four_at(at)) return before;
    }
  }

  // An empty slot is the window's first place.
  void begin_window(const uint8_t* at) {
    window_ = at;
    window_end_ = static_cast<size_t>(end_ - at) < kWindowBytes ? end_ : at + kWindowBytes;
    memset(slots_, 0, sizeof *slots_ << (32 - shift_));
  }

  uint16_t* slots_;
  bool wide_;
  unsigned shift_;
  const uint8_t* window_ = nullptr;
  const uint8_t* window_end_;
  const uint8_t* end_;  // of where a match may begin
};

// How many bytes are the same from `a` and from `b` on.
inline size_t common_bytes(const uint8_t* a, const uint8_t* b, const uint8_t* a_end) {
  const uint8_t* const from = a;
  for (; a + sizeof(size_t) <= a_end; a += sizeof(size_t), b += sizeof(size_t)) {
    const size_t differing = load_le<size_t>(a) ^ load_le<size_t>(b);
    if (differing != 0) return static_cast<size_t>(a - from) + static_cast<size_t>(__builtin_ctzl(differing)) / 8;
  }
  while (a != a_end && *a == *b) ++a, ++b;
  return static_cast<size_t>(a - from);
}

inline size_t length_bytes(size_t length) { return length < kLongLength ? 0 : (length - kLongLength) / 255 + 1; }

// The token's four bits; what they cannot say goes to `to`.
inline unsigned put_length(size_t length, uint8_t*& to) {
  if (length < kLongLength) return static_cast<unsigned>(length);
  for (length -= kLongLength; length >= 255; length -= 255) *to++ = 255;
  *to++ = static_cast<uint8_t>(length);
  return kLongLength;
}

}  // namespace

size_t lz4_encode(ConstBytes raw, Bytes out, void* state, unsigned acceleration) {
  if (raw.size > kMaxPartRawBytes || out.size == 0) return 0;
  const uint8_t* const end = raw.data + raw.size;
  const uint8_t* literals = raw.data;
  uint8_t* to = out.data;
  uint8_t* const to_end = to + out.size;
  Matches matches(raw, state);
  const uint8_t* at = raw.size != 0 ? raw.data + 1 : raw.data;
  while (const uint8_t* before = matches.find(at, acceleration)) {
    const auto offset = static_cast<uint16_t>(at - before);
    const uint8_t* const known = at + kLeastMatch;
    while (((at > literals) & (before > raw.data)) && at[-1] == before[-1]) --at, --before;
    const uint8_t* const match_end = known + common_bytes(known, known - offset, end - kLastLiterals);
    const size_t literal_bytes = static_cast<size_t>(at - literals);
    const size_t more = static_cast<size_t>(match_end - at) - kLeastMatch;
    // With the token and the literals that are still to come: what fits is never refused, and there is room to copy
    // literals by eights.
    if (static_cast<size_t>(to_end - to) <
        1 + length_bytes(literal_bytes) + literal_bytes + kOffsetBytes + length_bytes(more) + 1 + kLastLiterals) {
      return 0;
    }
    uint8_t* const token = to++;
    *token = static_cast<uint8_t>(put_length(literal_bytes, to) << 4);
    size_t copied = 0;
    do {
      memcpy(to + copied, literals + copied, 8);
      copied += 8;
    } while (copied < literal_bytes);
    to += literal_bytes;
    store_le(to, offset);
    to += kOffsetBytes;
    *token = static_cast<uint8_t>(*token + put_length(more, to));
    at = literals = match_end;
    matches.remember(at - 2);
  }
  const size_t literal_bytes = static_cast<size_t>(end - literals);
  if (static_cast<size_t>(to_end - to) < 1 + length_bytes(literal_bytes) + literal_bytes) return 0;
  uint8_t* const token = to++;
  *token = static_cast<uint8_t>(put_length(literal_bytes, to) << 4);
  if (literal_bytes != 0) memcpy(to, literals, literal_bytes);
  return static_cast<size_t>(to + literal_bytes - out.data);
}

}  // namespace dumphook
