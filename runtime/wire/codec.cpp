// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include "base/dtype.h"
#include "wire/format.h"
#include "wire/packed_part.h"

namespace dumphook {
namespace {

static_assert(sizeof(PackedScratch) <= kCodecScratchBytes && alignof(PackedScratch) <= 8, "the scratch has grown");

constexpr const char* kNames[] = {"raw", "lz4", "packed"};

bool is_float(uint32_t dtype) { return dtype >= DH_F64 && dtype <= DH_F8E5M2; }

// Types of less than a byte, and those that are not known, are bytes.
PackShape shape_of(uint32_t dtype) {
  const uint32_t bits = dtype_bits(dtype);
  return {bits == 64 ? 3u : bits == 32 ? 2u : bits == 16 ? 1u : 0u, is_float(dtype) ? 1u : 0u};
}

}  // namespace

size_t encode_part(uint32_t dtype, ConstBytes raw, Bytes out, void* scratch, uint8_t* codec) {
  auto* const work = static_cast<PackedScratch*>(scratch);
  const Bytes gainful = out.first(raw.size - (raw.size + 49) / 50);
  size_t bytes = 0;
  if (raw.size > kMaxPartRawBytes) {
    bytes = 0;
  } else if (dtype == DH_RAW) {
    *codec = kCodecLz4;
    bytes = lz4_encode(raw, gainful, work->lz4_state);
  } else {
    *codec = kCodecPacked;
    bytes = packed_encode(raw, shape_of(dtype), pack_kernels(), gainful, work);
  }
  if (bytes != 0) return bytes;
  *codec = kCodecRaw;
  if (raw.size != 0) memcpy(out.data, raw.data, raw.size);
  return raw.size;
}

bool decode_part(uint32_t dtype, uint8_t codec, ConstBytes data, Bytes raw, void* scratch) {
  switch (codec) {
    case kCodecRaw:
      if (data.size != raw.size) return false;
      if (raw.size != 0) memcpy(raw.data, data.data, raw.size);
      return true;
    case kCodecLz4: return lz4_decode(data, raw);
    case kCodecPacked:
      return packed_decode(data, shape_of(dtype), pack_kernels(), raw, static_cast<PackedScratch*>(scratch));
    default: return false;
  }
}

bool codec_is_known(uint8_t codec) { return codec < sizeof kNames / sizeof *kNames; }

const char* codec_name(uint8_t codec) { return codec_is_known(codec) ? kNames[codec] : "?"; }

}  // namespace dumphook
