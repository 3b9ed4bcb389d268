// SPDX-License-Identifier: Apache-2.0
// What the host says to the board (schemas/control.fbs), read from hostile bytes.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// As in the 32 digits of the text form: `high` is the first 16.
struct UuidValue {
  uint64_t high = 0;
  uint64_t low = 0;

  bool operator==(const UuidValue& other) const { return high == other.high && low == other.low; }
  bool operator!=(const UuidValue& other) const { return !(*this == other); }
};

enum class HostCommand : uint8_t {
  kUnknown,  // of a later version, or not understood yet: answer it when request_id is not 0
  kHello,
  kAck,
};

struct HostMessageView {
  HostCommand command = HostCommand::kUnknown;
  uint64_t request_id = 0;  // 0: no answer wanted

  // kHello
  uint16_t format_current = 0;
  uint16_t format_oldest = 0;
  uint16_t format_minor = 0;
  UuidValue host;
  UuidValue session;  // all zero: none
  bool insecure = false;

  // kHello and kAck
  uint64_t durable_seq = 0;
};

// `message` is a size-prefixed HostMessage at an address that is a multiple of 8, of at most kMaxHostMessageBytes
// without the prefix. False when it is not a valid message or its CRC is wrong; *out is untouched then.
[[nodiscard]] bool parse_host_message(ConstBytes message, HostMessageView* out);

}  // namespace dumphook
