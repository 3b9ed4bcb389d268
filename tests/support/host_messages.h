// SPDX-License-Identifier: Apache-2.0
// What a host says to the board, made with flatc's own builder.
#pragma once

#include <string>

#include "control_generated.h"
#include "wire/format.h"
#include "wire/messages.h"

namespace dumphook {

inline std::string host_message(flatbuffers::FlatBufferBuilder& builder, Command type,
                                flatbuffers::Offset<void> command) {
  builder.ForceDefaults(true);
  HostMessageBuilder message(builder);
  message.add_crc32(0);
  message.add_command_type(type);
  message.add_command(command);
  builder.FinishSizePrefixed(message.Finish());
  uint8_t* prefixed = builder.GetBufferPointer();
  const Bytes bytes = Bytes(prefixed, builder.GetSize()).from(kSizePrefixBytes);
  const size_t field = find_crc_field(bytes);
  store_le<uint32_t>(bytes.data + field, message_crc(bytes, field));
  return std::string(reinterpret_cast<const char*>(prefixed), builder.GetSize());
}

inline std::string hello_bytes(uint64_t durable_seq, uint16_t current = 1, uint16_t oldest = 1,
                               uint64_t session_low = 0x5678) {
  flatbuffers::FlatBufferBuilder builder;
  const Uuid session(0x1234, session_low);
  const auto hello = CreateHello(builder, current, oldest, 0, nullptr, &session, durable_seq);
  return host_message(builder, Command::Hello, hello.Union());
}

inline std::string ack_bytes(uint64_t durable_seq) {
  flatbuffers::FlatBufferBuilder builder;
  return host_message(builder, Command::Ack, CreateAck(builder, durable_seq).Union());
}

}  // namespace dumphook
