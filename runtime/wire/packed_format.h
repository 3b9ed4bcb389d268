// SPDX-License-Identifier: Apache-2.0
// The bytes of a block of codec PACKED, as encoder and decoder agree on them.
#pragma once

#include <cstdint>

namespace dumphook {

// The first byte of a block.
constexpr uint8_t kBlockRaw = 0;     // the raw bytes
constexpr uint8_t kBlockLz4 = 1;     // u16 length, LZ4 block
constexpr uint8_t kBlockPacked = 2;  // u8 level count; for each level u8 low, u8 bits, u16 escapes; streams
constexpr uint8_t kBlockMasked = 3;  // the same, and the streams begin with the mask
constexpr unsigned kPackedHeaderBytes = 2;
constexpr unsigned kPackedLevelBytes = 4;

}  // namespace dumphook
