// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3 (reflected polynomial 0xEDB88320), with zlib's conventions.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// Of `data` alone with crc 0; of what gave `crc` followed by `data` otherwise: crc32(crc32(0, a), b) = crc32(0, a b).
// Uses the CPU's CRC or carry-less multiply instructions where it has them.
uint32_t crc32(uint32_t crc, const void* data, size_t bytes);

// crc32 of A followed by B, from crc32(0, A), crc32(0, B) and the length of B. Some hundred nanoseconds whatever the
// length.
uint32_t crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t b_bytes);

// The same without special instructions; for tests and measurements.
uint32_t crc32_portable(uint32_t crc, const void* data, size_t bytes);

}  // namespace dumphook
