// SPDX-License-Identifier: Apache-2.0
// The inner loops of packed blocks (FORMAT.md section 4), portable and with the processor's vectors. Every set makes
// the same bytes.
//
// How far they reach beyond what they are asked for:
//   - `kept`, `rest`, `fields` and `escapes` that are written to have kPackSlack bytes behind them, whose content is
//   lost;
//   - `kept` and `escapes` that are read from have kPackSlack readable bytes behind them;
//   - everything else is touched exactly where the values are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dumphook {

constexpr size_t kPackSlack = 64;

// One step of coding symbols: those from `low` on, 2^bits - 1 of them, become fields of `bits` bits; the field of all
// ones says that the symbol is an escape, which the next level codes.
struct PackLevel {
  uint8_t low;
  uint8_t bits;  // 1 ... 7
};

// By the width of a value: 1, 2, 4, 8 bytes.
constexpr unsigned kPackWidths = 4;

struct PackKernels {
  // values -> the top byte of each, and its other bytes, lowest first. With turn = 1 a value is rotated left by one bit
  // before: then the sign is at the bottom, and the top byte holds the exponent.
  void (*split[kPackWidths])(const uint8_t* values, size_t count, unsigned turn, uint8_t* symbols, uint8_t* rest);
  // Keeps the values that are not zero; bit i of `mask` says that values[i] is one of them. Returns their number.
  size_t (*keep_nonzero[kPackWidths])(const uint8_t* values, size_t count, uint8_t* mask, uint8_t* kept);
  // Returns the number of escapes.
  size_t (*put_level)(const uint8_t* symbols, size_t count, PackLevel level, uint8_t* fields, uint8_t* escapes);
};

// The way back, which no board needs.
struct UnpackKernels {
  void (*join[kPackWidths])(const uint8_t* symbols, const uint8_t* rest, size_t count, unsigned turn, uint8_t* values);
  void (*spread[kPackWidths])(const uint8_t* mask, size_t count, const uint8_t* kept, uint8_t* values);
  size_t (*take_level)(const uint8_t* fields, size_t count, PackLevel level, const uint8_t* escapes, uint8_t* symbols);
};

extern const PackKernels kPortableKernels;
extern const UnpackKernels kPortableUnpackKernels;

// The best sets for this processor. Any thread.
const PackKernels& pack_kernels();
const UnpackKernels& unpack_kernels();

// Bytes of `count` fields.
constexpr size_t field_bytes(size_t count, unsigned bits) { return (count * bits + 7) / 8; }

}  // namespace dumphook
