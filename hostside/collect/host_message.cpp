// SPDX-License-Identifier: Apache-2.0
#include "collect/host_message.h"

#include "collect/schema.h"
#include "wire/format.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

namespace fb = dumphook_schema;

std::string finish(flatbuffers::FlatBufferBuilder& builder, fb::Command type, flatbuffers::Offset<void> command) {
  builder.ForceDefaults(true);  // the CRC's field must be there
  fb::HostMessageBuilder message(builder);
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

}  // namespace

std::string hello_message(const UuidValue& host, const UuidValue& session, uint64_t durable_seq, bool insecure) {
  flatbuffers::FlatBufferBuilder builder;
  const fb::Uuid host_uuid(host.high, host.low);
  const fb::Uuid session_uuid(session.high, session.low);
  const auto hello = fb::CreateHello(builder, kFormatCurrent, kFormatOldest, kFormatMinor, &host_uuid, &session_uuid,
                                     durable_seq, insecure);
  return finish(builder, fb::Command::Hello, hello.Union());
}

std::string ack_message(uint64_t durable_seq) {
  flatbuffers::FlatBufferBuilder builder;
  return finish(builder, fb::Command::Ack, fb::CreateAck(builder, durable_seq).Union());
}

bool parse_uuid(const std::string& text, UuidValue* out) {
  if (text.size() != 32) return false;
  uint64_t halves[2] = {0, 0};
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return false;
    }
    halves[i / 16] = halves[i / 16] << 4 | digit;
  }
  out->high = halves[0];
  out->low = halves[1];
  return true;
}

}  // namespace dumphook
