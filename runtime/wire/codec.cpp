// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include "dumphook/dumphook.h"
#include "wire/format.h"
#include "wire/packed_part.h"

namespace dumphook {
namespace {

static_assert(sizeof(PackedScratch) <= kCodecScratchBytes && alignof(PackedScratch) <= 8, "the scratch has grown");

constexpr const char* kNames[] = {"raw", "lz4", "packed"};

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
    bytes = packed_encode(raw, pack_shape(dtype), pack_kernels(), gainful, work);
  }
  if (bytes != 0) return bytes;
  *codec = kCodecRaw;
  if (raw.size != 0) memcpy(out.data, raw.data, raw.size);
  return raw.size;
}

bool codec_is_known(uint8_t codec) { return codec < sizeof kNames / sizeof *kNames; }

const char* codec_name(uint8_t codec) { return codec_is_known(codec) ? kNames[codec] : "?"; }

}  // namespace dumphook
