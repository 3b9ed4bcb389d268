// SPDX-License-Identifier: Apache-2.0
#include "emit.h"

namespace dumphook {
namespace {

Emitted emitted(Bytes out, size_t bytes) {
  Emitted result;
  result.data = out.data;
  result.size = bytes;
  return result;
}

Emitted part(Bytes out, Bytes, const PartView& view, ConstBytes raw, Emitter::Encode encode) {
  const size_t at = write_part_prefix(out, 1, view);
  const size_t payload_bytes = encode(out.from(at), raw);
  return emitted(
      out, finish_part(out, at, static_cast<uint32_t>(payload_bytes), kCodecRaw, static_cast<uint32_t>(raw.size)));
}

Emitted descriptor(Bytes out, const DescriptorView& view) { return emitted(out, write_descriptor(out, 1, view)); }

}  // namespace

Emitter writer_emitter() { return {part, descriptor}; }

}  // namespace dumphook
