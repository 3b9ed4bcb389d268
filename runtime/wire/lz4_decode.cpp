// SPDX-License-Identifier: Apache-2.0
#include "wire/lz4_decode.h"

#include <lz4.h>

#include "wire/format.h"

namespace dumphook {

bool lz4_decode(ConstBytes block, Bytes raw) {
  constexpr size_t kMaxBlockBytes = 2u * kMaxPartRawBytes;
  if (block.size > kMaxBlockBytes || raw.size > kMaxPartRawBytes) return false;
  const int decoded = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data), reinterpret_cast<char*>(raw.data),
                                          static_cast<int>(block.size), static_cast<int>(raw.size));
  return decoded >= 0 && static_cast<size_t>(decoded) == raw.size;
}

}  // namespace dumphook
