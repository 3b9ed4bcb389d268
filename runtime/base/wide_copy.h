// SPDX-License-Identifier: Apache-2.0
// Copies for data that the copying thread will not touch again: past its caches where the processor has stores for
// that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dumphook {

// From this size on a tensor is copied past the caches. Smaller ones go to blocks that were in use just before and are
// still in a cache, where ordinary stores are up to three times faster (tests/bench).
constexpr size_t kWideCopyBytes = 512 * 1024;

// As memcpy. What it stores may become visible to other threads late: finish_wide_copies() comes before any release.
// With ordinary stores a line of `to` is read before it is overwritten, which costs as much as reading `from`.
inline void wide_copy(uint8_t* to, const uint8_t* from, size_t bytes) {
#ifdef __SSE2__
  constexpr size_t kLine = 64;
  if (bytes >= 2 * kLine) {
    const size_t head = -reinterpret_cast<uintptr_t>(to) & (kLine - 1);
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
      const auto* in = reinterpret_cast<const __m128i*>(from);
      auto* out = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(in);
      const __m128i b = _mm_loadu_si128(in + 1);
      const __m128i c = _mm_loadu_si128(in + 2);
      const __m128i d = _mm_loadu_si128(in + 3);
      _mm_stream_si128(out, a);
      _mm_stream_si128(out + 1, b);
      _mm_stream_si128(out + 2, c);
      _mm_stream_si128(out + 3, d);
    }
  }
#endif
  std::memcpy(to, from, bytes);
}

// A release store that follows publishes what wide_copy has stored, too.
inline void finish_wide_copies() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace dumphook
