// SPDX-License-Identifier: Apache-2.0
// What a peer sends to the board is read safely, also when its CRC is right.
#include <cstdint>
#include <cstring>
#include <vector>

#include "wire/control.h"
#include "wire/format.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dumphook;
  std::vector<uint64_t> words((kSizePrefixBytes + size + 7) / 8);
  uint8_t* prefixed = reinterpret_cast<uint8_t*>(words.data());
  store_le(prefixed, static_cast<uint32_t>(size));
  if (size != 0) memcpy(prefixed + kSizePrefixBytes, data, size);
  const Bytes message(prefixed + kSizePrefixBytes, size);
  const size_t crc_at = find_crc_field(message);
  if (crc_at != 0) store_le(message.data + crc_at, message_crc(message, crc_at));
  HostMessageView view;
  (void)parse_host_message(ConstBytes(prefixed, kSizePrefixBytes + size), &view);
  return 0;
}
