// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"
#include "wire/format.h"
#include "wire/lz4_decode.h"
#include "wire/packed_part.h"

namespace dumphook {

bool decode_part(uint32_t dtype, uint8_t codec, ConstBytes data, Bytes raw, void* scratch) {
  switch (codec) {
    case kCodecRaw:
      if (data.size != raw.size) return false;
      if (raw.size != 0) memcpy(raw.data, data.data, raw.size);
      return true;
    case kCodecLz4: return lz4_decode(data, raw);
    case kCodecPacked:
      return packed_decode(data, pack_shape(dtype), unpack_kernels(), raw, static_cast<PackedScratch*>(scratch));
    default: return false;
  }
}

}  // namespace dumphook
