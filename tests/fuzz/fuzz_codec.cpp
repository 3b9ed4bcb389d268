// SPDX-License-Identifier: Apache-2.0
// A part's data: the first four bytes say codec, dtype and raw size. Decoding stays inside, the vectors agree with the
// portable loops, and what is encoded comes back.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "dumphook/dumphook.h"
#include "wire/codec.h"
#include "wire/format.h"
#include "wire/packed_part.h"

namespace {

alignas(8) uint8_t scratch[dumphook::kCodecScratchBytes];
dumphook::PackedScratch packed_scratch;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dumphook;
  if (size < 4) return 0;
  const uint8_t codec = data[0] % 4;
  const uint32_t dtype = data[1] % (DH_U4 + 2);
  std::vector<uint8_t> raw((size_t{data[3]} << 8 | data[2]) * (data[1] >= 128 ? 3 : 1));
  const std::vector<uint8_t> input(data + 4, data + size);  // of its own size: a sanitizer sees what lies around it
  (void)decode_part(dtype, codec, {input.data(), input.size()}, {raw.data(), raw.size()}, scratch);

  const PackShape shape{data[1] % kPackWidths, data[1] / kPackWidths % 2u};
  std::vector<uint8_t> again(raw.size());
  std::fill(raw.begin(), raw.end(), uint8_t{0});
  const bool one =
      packed_decode({input.data(), input.size()}, shape, kPortableUnpackKernels, {raw.data(), raw.size()}, &packed_scratch);
  const bool other =
      packed_decode({input.data(), input.size()}, shape, unpack_kernels(), {again.data(), again.size()}, &packed_scratch);
  check(one == other && (!one || raw == again));

  std::vector<uint8_t> encoded(input.size());
  uint8_t chosen = 0xFF;
  const size_t bytes =
      encode_part(dtype, {input.data(), input.size()}, {encoded.data(), encoded.size()}, scratch, &chosen);
  check(bytes <= input.size());
  encoded.resize(bytes);
  encoded.shrink_to_fit();
  again.assign(input.size(), 0xA5);
  check(decode_part(dtype, chosen, {encoded.data(), bytes}, {again.data(), again.size()}, scratch) && again == input);
  return 0;
}
