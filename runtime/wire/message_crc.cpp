// SPDX-License-Identifier: Apache-2.0
#include "wire/message_crc.h"

#include "wire/crc32.h"
#include "wire/flat_fields.h"
#include "wire/generated.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

constexpr uint16_t kCrcField = TensorMessage::VT_CRC32;
static_assert(FrameBegin::VT_CRC32 == kCrcField && FrameEnd::VT_CRC32 == kCrcField &&
                  ModelGraph::VT_CRC32 == kCrcField && Loss::VT_CRC32 == kCrcField && Counters::VT_CRC32 == kCrcField &&
                  ConfigChange::VT_CRC32 == kCrcField && ClockSync::VT_CRC32 == kCrcField &&
                  Log::VT_CRC32 == kCrcField && RunReply::VT_CRC32 == kCrcField && HostMessage::VT_CRC32 == kCrcField,
              "crc32 is the first field of every message");

}  // namespace

size_t find_crc_field(ConstBytes message) {
  return flat_field(message, flat_root(message), kCrcField, sizeof(uint32_t));
}

uint32_t message_crc(ConstBytes message, size_t crc_field_offset) {
  constexpr uint8_t kZero[sizeof(uint32_t)] = {};
  const size_t after = crc_field_offset + sizeof kZero;
  uint32_t crc = crc32(0, message.data, crc_field_offset);
  crc = crc32(crc, kZero, sizeof kZero);
  return crc32(crc, message.data + after, message.size - after);
}

// The stored CRC is that of the message with zeros in its place. CRCs are linear: the difference is the CRC of the
// field alone, moved on by the bytes behind it.
uint32_t crc_of_sealed(uint32_t crc, ConstBytes message) {
  const size_t at = find_crc_field(message);
  if (at == 0) return crc32(crc, message.data, message.size);
  constexpr uint32_t kNothingBefore = ~uint32_t{0};
  const uint32_t field = ~crc32(kNothingBefore, message.data + at, sizeof(uint32_t));
  const uint32_t difference = crc32_combine(field, 0, message.size - at - sizeof(uint32_t));
  return crc32_combine(crc, load_le<uint32_t>(message.data + at) ^ difference, message.size);
}

bool check_message_crc(ConstBytes message) {
  const size_t at = find_crc_field(message);
  return at != 0 && load_le<uint32_t>(message.data + at) == message_crc(message, at);
}

size_t seal_message(Bytes message) {
  const size_t at = find_crc_field(message);
  if (at == 0) return 0;
  store_le(message.data + at, message_crc(message, at));
  return message.size;
}

size_t seal_message(FlatWriter& writer, Bytes out) {
  writer.pad(kMessageAlign);
  return writer.overflowed() ? 0 : seal_message(out.first(writer.used_bytes()));
}

}  // namespace dumphook
