// SPDX-License-Identifier: Apache-2.0
#include "wire/lz4_block.h"

#include <lz4.h>

#include "wire/format.h"

namespace dumphook {

static_assert(sizeof(LZ4_stream_t) <= kLz4StateBytes && alignof(LZ4_stream_t) <= 8, "lz4's state has grown");

size_t lz4_encode(ConstBytes raw, Bytes out, void* state, int acceleration) {
  if (raw.size > kMaxPartRawBytes || out.size == 0) return 0;
  const size_t limit = out.size < 2u * kMaxPartRawBytes ? out.size : 2u * kMaxPartRawBytes;
  const int written =
      LZ4_compress_fast_extState(state, reinterpret_cast<const char*>(raw.data), reinterpret_cast<char*>(out.data),
                                 static_cast<int>(raw.size), static_cast<int>(limit), acceleration);
  return written > 0 ? static_cast<size_t>(written) : 0;
}

bool lz4_decode(ConstBytes block, Bytes raw) {
  constexpr size_t kMaxBlockBytes = 2u * kMaxPartRawBytes;
  if (block.size > kMaxBlockBytes || raw.size > kMaxPartRawBytes) return false;
  const int decoded = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data), reinterpret_cast<char*>(raw.data),
                                          static_cast<int>(block.size), static_cast<int>(raw.size));
  return decoded >= 0 && static_cast<size_t>(decoded) == raw.size;
}

}  // namespace dumphook
