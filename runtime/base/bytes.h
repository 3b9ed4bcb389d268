// SPDX-License-Identifier: Apache-2.0
// Runs of memory, little-endian loads and stores, and arithmetic that does not wrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error dumphook runs on little-endian machines only: captures hold tensors byte for byte as they lie in memory.
#endif

namespace dumphook {

// A run of T that somebody else owns.
template <class T>
struct Span {
  T* data = nullptr;
  size_t size = 0;

  constexpr Span() = default;
  constexpr Span(T* first, size_t count) : data(first), size(count) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data(array), size(N) {}
  // Span<U> to Span<const U>.
  template <class U, class = typename std::enable_if<std::is_same<const U, T>::value>::type>
  constexpr Span(Span<U> other) : data(other.data), size(other.size) {}

  constexpr T& operator[](size_t index) const { return data[index]; }
  constexpr T* begin() const { return data; }
  constexpr T* end() const { return data + size; }
  constexpr bool empty() const { return size == 0; }

  // The first `count`, and all but the first `count`. `count` is at most size.
  constexpr Span first(size_t count) const { return Span(data, count); }
  constexpr Span from(size_t count) const { return Span(data + count, size - count); }
};

using Bytes = Span<uint8_t>;
using ConstBytes = Span<const uint8_t>;

// Any alignment. T is an integer, a floating-point number or an enumeration.
template <class T>
inline T load_le(const void* from) {
  static_assert(std::is_arithmetic<T>::value || std::is_enum<T>::value, "numbers only");
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store_le(void* to, T value) {
  static_assert(std::is_arithmetic<T>::value || std::is_enum<T>::value, "numbers only");
  memcpy(to, &value, sizeof value);
}

// False, and *out unspecified, when the result does not fit 64 bits.
[[nodiscard]] inline bool checked_mul(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

[[nodiscard]] inline bool checked_add(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}

// `align` is a power of two; value + align must not overflow.
template <class T>
constexpr T align_up(T value, T align) {
  static_assert(std::is_unsigned<T>::value, "unsigned only");
  return (value + align - 1) & ~(align - 1);
}

inline size_t text_length(const char* text_or_null) { return text_or_null == nullptr ? 0 : strlen(text_or_null); }

}  // namespace dumphook
