// SPDX-License-Identifier: Apache-2.0
#include "codecs.h"

#include <lz4.h>
#include <zlib.h>
#ifdef BENCH_ZSTD
#include <zstd.h>
#endif
#ifdef BENCH_BLOSC
#include <blosc.h>
#endif

#include <algorithm>
#include <cstring>

#include "corpus.h"
#include "wire/codec.h"
#include "wire/lz4_decode.h"

namespace bench {
namespace {

using dumphook::Bytes;
using dumphook::ConstBytes;

constexpr size_t kShuffleBytes = 128 << 10;  // blocks, as HDF5 and Blosc have them

alignas(64) uint8_t scratch[dumphook::kCodecScratchBytes];
uint8_t shuffled[kShuffleBytes];

size_t encode_memcpy(uint32_t, ConstBytes raw, Bytes out, uint8_t* method) {
  memcpy(out.data, raw.data, raw.size);
  *method = 0;
  return raw.size;
}
bool decode_memcpy(uint32_t, uint8_t, ConstBytes data, Bytes raw) {
  memcpy(raw.data, data.data, raw.size);
  return true;
}

size_t encode_ours(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* method) {
  return dumphook::encode_part(dtype, raw, out, scratch, method);
}
bool decode_ours(uint32_t dtype, uint8_t method, ConstBytes data, Bytes raw) {
  return dumphook::decode_part(dtype, method, data, raw, scratch);
}

// ---- General compressors of one block of bytes: bytes written, 0 = did not get smaller.

size_t lz4_block(ConstBytes raw, Bytes out) {
  const auto room = static_cast<int>(std::min(out.size, raw.size - 1));
  const int bytes = LZ4_compress_default(reinterpret_cast<const char*>(raw.data), reinterpret_cast<char*>(out.data),
                                         static_cast<int>(raw.size), room);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}
bool lz4_unblock(ConstBytes data, Bytes raw) { return dumphook::lz4_decode(data, raw); }

#ifdef BENCH_ZSTD
// The level of `zstd -1`.
size_t zstd_block(ConstBytes raw, Bytes out) {
  static ZSTD_CCtx* context = ZSTD_createCCtx();
  const size_t bytes = ZSTD_compressCCtx(context, out.data, out.size, raw.data, raw.size, 1);
  return ZSTD_isError(bytes) || bytes >= raw.size ? 0 : bytes;
}
bool zstd_unblock(ConstBytes data, Bytes raw) {
  static ZSTD_DCtx* context = ZSTD_createDCtx();
  return ZSTD_decompressDCtx(context, raw.data, raw.size, data.data, data.size) == raw.size;
}
#endif

// What numpy.savez_compressed does to an array.
size_t deflate_block(ConstBytes raw, Bytes out) {
  uLongf bytes = out.size;
  return compress2(out.data, &bytes, raw.data, raw.size, 6) == Z_OK && bytes < raw.size ? bytes : 0;
}
bool deflate_unblock(ConstBytes data, Bytes raw) {
  uLongf bytes = raw.size;
  return uncompress(raw.data, &bytes, data.data, data.size) == Z_OK && bytes == raw.size;
}

using BlockEncode = size_t (*)(ConstBytes raw, Bytes out);
using BlockDecode = bool (*)(ConstBytes data, Bytes raw);

template <BlockEncode encode>
size_t encode_whole(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* method) {
  const size_t bytes = encode(raw, out);
  if (bytes == 0) return encode_memcpy(dtype, raw, out, method);
  *method = 1;
  return bytes;
}
template <BlockDecode decode>
bool decode_whole(uint32_t dtype, uint8_t method, ConstBytes data, Bytes raw) {
  return method == 0 ? decode_memcpy(dtype, 0, data, raw) : decode(data, raw);
}

// ---- The same after sorting each block's bytes by significance: u32 length, block, ...

template <size_t kWidth>
void shuffle(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t plane = 0; plane < kWidth; ++plane) to[plane * count + i] = from[i * kWidth + plane];
  }
}
template <size_t kWidth>
void unshuffle(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t plane = 0; plane < kWidth; ++plane) to[i * kWidth + plane] = from[plane * count + i];
  }
}

template <BlockEncode encode>
size_t encode_shuffled(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* method) {
  const size_t width = element_bytes(dtype);
  size_t used = 0;
  for (size_t at = 0; at < raw.size; at += kShuffleBytes) {
    const size_t bytes = std::min(kShuffleBytes, raw.size - at);
    if (width == 4) shuffle<4>(raw.data + at, bytes / 4, shuffled);
    if (width == 2) shuffle<2>(raw.data + at, bytes / 2, shuffled);
    const ConstBytes block(width == 1 ? raw.data + at : shuffled, bytes);
    const Bytes room = out.from(used + 4);
    size_t written = encode(block, room);
    if (written == 0) {
      memcpy(room.data, block.data, bytes);
      written = bytes;
    }
    dumphook::store_le(out.data + used, static_cast<uint32_t>(written));
    used += 4 + written;
  }
  *method = 1;
  return used;
}
template <BlockDecode decode>
bool decode_shuffled(uint32_t dtype, uint8_t, ConstBytes data, Bytes raw) {
  const size_t width = element_bytes(dtype);
  for (size_t at = 0; at < raw.size; at += kShuffleBytes) {
    const size_t bytes = std::min(kShuffleBytes, raw.size - at);
    const auto written = dumphook::load_le<uint32_t>(data.data);
    const Bytes to(width == 1 ? raw.data + at : shuffled, bytes);
    if (written == bytes) {
      memcpy(to.data, data.data + 4, bytes);
    } else if (!decode(data.from(4).first(written), to)) {
      return false;
    }
    if (width == 4) unshuffle<4>(shuffled, bytes / 4, raw.data + at);
    if (width == 2) unshuffle<2>(shuffled, bytes / 2, raw.data + at);
    data = data.from(4 + written);
  }
  return true;
}

#ifdef BENCH_BLOSC
template <int kShuffle>
size_t encode_blosc(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* method) {
  *method = 1;
  const int bytes =
      blosc_compress_ctx(5, kShuffle, element_bytes(dtype), raw.size, raw.data, out.data, out.size, "lz4", 0, 1);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}
bool decode_blosc(uint32_t, uint8_t, ConstBytes data, Bytes raw) {
  return blosc_decompress_ctx(data.data, raw.data, raw.size, 1) == static_cast<int>(raw.size);
}
#endif

}  // namespace

const std::vector<Codec>& codecs() {
  static const std::vector<Codec> all = {
      {"memcpy", encode_memcpy, decode_memcpy},
      {"dumphook", encode_ours, decode_ours},
      {"lz4", encode_whole<lz4_block>, decode_whole<lz4_unblock>},
      {"shuffle+lz4", encode_shuffled<lz4_block>, decode_shuffled<lz4_unblock>},
#ifdef BENCH_ZSTD
      {"zstd-1", encode_whole<zstd_block>, decode_whole<zstd_unblock>},
      {"shuffle+zstd-1", encode_shuffled<zstd_block>, decode_shuffled<zstd_unblock>},
#endif
#ifdef BENCH_BLOSC
      {"blosc-lz4-shuffle", encode_blosc<BLOSC_SHUFFLE>, decode_blosc},
      {"blosc-lz4-bitshuffle", encode_blosc<BLOSC_BITSHUFFLE>, decode_blosc},
#endif
      {"npz-deflate", encode_whole<deflate_block>, decode_whole<deflate_unblock>},
  };
  return all;
}

}  // namespace bench
