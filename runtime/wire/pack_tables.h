// SPDX-License-Identifier: Apache-2.0
// Byte shuffles by a mask of eight: what the vector kernels squeeze and spread with.
#pragma once

#include <cstdint>

namespace dumphook {

struct PackTables {
  uint8_t squeeze[256][8];  // [mask][i]: where the i-th set bit is; 0 behind the last
  uint8_t spread[256][8];   // [mask][i]: how many bits are set below bit i; 0x80 when bit i is not set
  uint8_t count[256];       // set bits
};

constexpr PackTables make_pack_tables() {
  PackTables tables{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned count = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool set = ((mask >> bit) & 1) != 0;
      tables.spread[mask][bit] = static_cast<uint8_t>(set ? count : 0x80);
      if (set) tables.squeeze[mask][count++] = static_cast<uint8_t>(bit);
    }
    tables.count[mask] = static_cast<uint8_t>(count);
  }
  return tables;
}

}  // namespace dumphook
