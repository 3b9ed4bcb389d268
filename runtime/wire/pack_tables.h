// SPDX-License-Identifier: Apache-2.0
// Byte shuffles by a mask of eight: what the vector kernels squeeze and spread with.
#pragma once

#include <cstdint>

namespace dumphook {

struct SqueezeTable {
  uint8_t order[256][8];  // [mask][i]: where the i-th set bit is; 0 behind the last
};

struct SpreadTable {
  uint8_t order[256][8];  // [mask][i]: how many bits are set below bit i; 0x80 when bit i is not set
};

struct BitCounts {
  uint8_t of[256];
};

constexpr BitCounts make_bit_counts() {
  BitCounts count{};
  for (unsigned mask = 1; mask < 256; ++mask) count.of[mask] = static_cast<uint8_t>(count.of[mask / 2] + mask % 2);
  return count;
}

constexpr SqueezeTable make_squeeze_table() {
  SqueezeTable table{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned count = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (((mask >> bit) & 1) != 0) table.order[mask][count++] = static_cast<uint8_t>(bit);
    }
  }
  return table;
}

constexpr SpreadTable make_spread_table() {
  SpreadTable table{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned count = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      table.order[mask][bit] = static_cast<uint8_t>(((mask >> bit) & 1) != 0 ? count++ : 0x80);
    }
  }
  return table;
}

}  // namespace dumphook
