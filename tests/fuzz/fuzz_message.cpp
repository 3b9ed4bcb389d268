// SPDX-License-Identifier: Apache-2.0
// One message, as if its CRC were right: the first byte says of which kind, the rest is the FlatBuffer.
#include <cstdint>
#include <cstring>
#include <vector>

#include "decode/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dumphook;
  if (size == 0) return 0;
  const auto kind = static_cast<MessageKind>(data[0] % 10);
  std::vector<uint64_t> aligned((size + 7) / 8);
  if (size > 1) memcpy(aligned.data(), data + 1, size - 1);
  // Of its own size, so that a sanitizer sees reads beyond it where the size is a multiple of 8.
  const auto message = read_message(kind, ConstBytes(reinterpret_cast<const uint8_t*>(aligned.data()), size - 1));
  if (!message.ok() && message.error().what.empty()) __builtin_trap();
  return 0;
}
