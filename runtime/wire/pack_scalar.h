// SPDX-License-Identifier: Apache-2.0
// The kernels in plain C++: one set of its own, and the ends of the vector loops. Contracts: pack_kernels.h.
#pragma once

#include "base/bytes.h"
#include "wire/pack_kernels.h"

namespace dumphook {
namespace pack_scalar {

// An escape loses the gap that the level's window leaves, so that what lay around the window lies side by side.
inline uint8_t escape_of(uint8_t distance, uint8_t window) {
  return static_cast<uint8_t>(distance < 128 ? distance - window : distance);
}
inline uint8_t distance_of(uint8_t escape, uint8_t window) {
  return static_cast<uint8_t>(escape < 128 ? escape + window : escape);
}

template <class T>
void split(const uint8_t* values, size_t count, unsigned turn, uint8_t* symbols, uint8_t* rest) {
  constexpr unsigned kBits = 8 * sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T value = load_le<T>(values + i * sizeof(T));
    if (turn != 0) value = static_cast<T>(static_cast<T>(value << 1) | static_cast<T>(value >> (kBits - 1)));
    symbols[i] = static_cast<uint8_t>(value >> (kBits - 8));
    if (sizeof(T) > 1)
      memcpy(rest + i * (sizeof(T) - 1), &value, sizeof(T) - 1);  // bytes leave no rest, and it is NULL
  }
}

template <class T>
void join(const uint8_t* symbols, const uint8_t* rest, size_t count, unsigned turn, uint8_t* values) {
  constexpr unsigned kBits = 8 * sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T value = 0;
    if (sizeof(T) > 1) memcpy(&value, rest + i * (sizeof(T) - 1), sizeof(T) - 1);
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(symbols[i]) << (kBits - 8)));
    if (turn != 0) value = static_cast<T>(static_cast<T>(value >> 1) | static_cast<T>(value << (kBits - 1)));
    store_le(values + i * sizeof(T), value);
  }
}

template <class T>
size_t keep_nonzero(const uint8_t* values, size_t count, uint8_t* mask, uint8_t* kept) {
  uint8_t* const first = kept;
  for (size_t i = 0; i < count; i += 8) {
    unsigned bits = 0;
    for (size_t j = 0; j < 8 && i + j < count; ++j) {
      const T value = load_le<T>(values + (i + j) * sizeof(T));
      const unsigned is_kept = value != 0;
      store_le(kept, value);
      kept += is_kept * sizeof(T);
      bits |= is_kept << j;
    }
    *mask++ = static_cast<uint8_t>(bits);
  }
  return static_cast<size_t>(kept - first) / sizeof(T);
}

template <class T>
void spread(const uint8_t* mask, size_t count, const uint8_t* kept, uint8_t* values) {
  for (size_t i = 0; i < count; ++i) {
    const unsigned is_kept = (mask[i / 8] >> (i % 8)) & 1;
    const T value = load_le<T>(kept);
    store_le(values + i * sizeof(T), static_cast<T>(is_kept != 0 ? value : 0));
    kept += is_kept * sizeof(T);
  }
}

inline size_t put_level(const uint8_t* symbols, size_t count, PackLevel level, uint8_t* fields, uint8_t* escapes) {
  const auto window = static_cast<uint8_t>((1u << level.bits) - 1);
  uint8_t* const first = escapes;
  for (size_t i = 0; i < count; i += 8) {
    uint64_t group = 0;
    const size_t end = count - i < 8 ? count - i : 8;
    for (size_t j = 0; j < end; ++j) {
      const auto distance = static_cast<uint8_t>(symbols[i + j] - level.low);
      const uint8_t field = distance < window ? distance : window;
      group |= uint64_t{field} << (j * level.bits);
      *escapes = escape_of(distance, window);
      escapes += field == window;
    }
    store_le(fields, group);
    fields += level.bits;
  }
  return static_cast<size_t>(escapes - first);
}

inline size_t take_level(const uint8_t* fields, size_t count, PackLevel level, const uint8_t* escapes,
                         uint8_t* symbols) {
  const auto window = static_cast<uint8_t>((1u << level.bits) - 1);
  const uint8_t* const first = escapes;
  for (size_t i = 0; i < count; i += 8) {
    uint64_t group = 0;
    const size_t end = count - i < 8 ? count - i : 8;
    memcpy(&group, fields, field_bytes(end, level.bits));
    fields += level.bits;
    for (size_t j = 0; j < end; ++j) {
      const auto field = static_cast<uint8_t>(group & window);
      group >>= level.bits;
      const bool is_escape = field == window;
      const uint8_t distance = is_escape ? distance_of(*escapes, window) : field;
      escapes += is_escape;
      symbols[i + j] = static_cast<uint8_t>(distance + level.low);
    }
  }
  return static_cast<size_t>(escapes - first);
}

}  // namespace pack_scalar
}  // namespace dumphook
