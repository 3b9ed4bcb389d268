// SPDX-License-Identifier: Apache-2.0
// What the collector says to a board: size-prefixed host messages (schemas/control.fbs).
#pragma once

#include <string>

#include "wire/control.h"

namespace dumphook {

// `session` is the board's; everything of it up to durable_seq is here.
std::string hello_message(const UuidValue& host, const UuidValue& session, uint64_t durable_seq, bool insecure);
std::string ack_message(uint64_t durable_seq);

// From 32 hexadecimal digits. False when it is something else.
[[nodiscard]] bool parse_uuid(const std::string& text, UuidValue* out);

}  // namespace dumphook
