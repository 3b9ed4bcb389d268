// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include <lz4.h>

#include "wire/format.h"

namespace dumphook {
namespace {

static_assert(sizeof(LZ4_stream_t) <= kLz4StateBytes && alignof(LZ4_stream_t) <= 8, "lz4's state has grown");

}  // namespace

size_t lz4_encode(ConstBytes raw, Bytes out, void* state) {
  if (raw.size > kMaxPartRawBytes) return 0;
  // With this limit lz4 gives up as soon as the gain is lost.
  size_t limit = raw.size - (raw.size + 49) / 50;
  if (limit > out.size) limit = out.size;
  if (limit == 0) return 0;
  const int written =
      LZ4_compress_fast_extState(state, reinterpret_cast<const char*>(raw.data), reinterpret_cast<char*>(out.data),
                                 static_cast<int>(raw.size), static_cast<int>(limit), 1);
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
