// SPDX-License-Identifier: Apache-2.0
// The first four bytes say how much room there is, the acceleration, and how often the rest repeats (beyond what
// offsets reach). What is encoded comes back from lz4's decoder, nothing outside is touched, and what fits is not
// refused.
#include <lz4.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "wire/lz4_encode.h"

namespace {

alignas(8) uint8_t state[dumphook::kLz4StateBytes];

void check(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dumphook;
  if (size < 4) return 0;
  const unsigned acceleration = data[2] % 8 + 1u;
  std::vector<uint8_t> raw;
  for (unsigned i = 0; i <= data[3] && raw.size() < 200000; ++i) raw.insert(raw.end(), data + 4, data + size);
  raw.shrink_to_fit();
  memset(state, data[3], sizeof state);  // whatever was there

  std::vector<uint8_t> whole(raw.size() + raw.size() / 255 + 16);
  const size_t needed = lz4_encode({raw.data(), raw.size()}, {whole.data(), whole.size()}, state, acceleration);
  check(needed != 0);
  std::vector<uint8_t> back(raw.size() + 1);
  check(LZ4_decompress_safe(reinterpret_cast<const char*>(whole.data()), reinterpret_cast<char*>(back.data()),
                            static_cast<int>(needed), static_cast<int>(back.size())) == static_cast<int>(raw.size()));
  check(raw.empty() || memcmp(raw.data(), back.data(), raw.size()) == 0);

  const size_t room = (size_t{data[1]} << 8 | data[0]) % (needed + 16);
  std::vector<uint8_t> block(room);  // of its own size: a sanitizer sees what lies around it
  const size_t written = lz4_encode({raw.data(), raw.size()}, {block.data(), room}, state, acceleration);
  check(written == (room < needed ? 0 : needed));
  check(written == 0 || memcmp(block.data(), whole.data(), written) == 0);
  return 0;
}
