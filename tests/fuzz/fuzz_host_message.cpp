// SPDX-License-Identifier: Apache-2.0
// What a peer sends to the board is read safely, also when its CRC is right.
#include <cstdint>
#include <cstring>
#include <vector>

#include "wire/control.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dumphook;
  if (size == 0) return 0;
  std::vector<uint64_t> words((size + 7) / 8);
  uint8_t* message = reinterpret_cast<uint8_t*>(words.data());
  memcpy(message, data, size);
  const size_t crc_at = find_crc_field(ConstBytes(message, size));
  if (crc_at != 0) store_le(message + crc_at, message_crc(ConstBytes(message, size), crc_at));
  HostMessageView view;
  (void)parse_host_message(ConstBytes(message, size), &view);
  return 0;
}
