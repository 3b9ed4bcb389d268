// SPDX-License-Identifier: Apache-2.0
#include "wire/control.h"

#include "wire/format.h"
#include "wire/generated.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

UuidValue uuid_value(const Uuid* uuid) {
  UuidValue value;
  if (uuid != nullptr) {
    value.high = uuid->high();
    value.low = uuid->low();
  }
  return value;
}

bool is_valid(ConstBytes message) {
  if (message.size < kSizePrefixBytes || message.size - kSizePrefixBytes > kMaxHostMessageBytes) return false;
  if (reinterpret_cast<uintptr_t>(message.data) % 8 != 0) return false;
  flatbuffers::Verifier::Options limits;
  limits.max_depth = kMaxFlatDepth;
  limits.max_tables = kMaxFlatTables;
  flatbuffers::Verifier verifier(message.data, message.size, limits);
  return verifier.VerifySizePrefixedBuffer<HostMessage>(nullptr) && check_message_crc(message.from(kSizePrefixBytes));
}

}  // namespace

bool parse_host_message(ConstBytes message, HostMessageView* out) {
  if (!is_valid(message)) return false;
  const HostMessage* host_message = flatbuffers::GetSizePrefixedRoot<HostMessage>(message.data);
  HostMessageView view;
  view.request_id = host_message->request_id();
  if (const Hello* hello = host_message->command_as_Hello()) {
    view.command = HostCommand::kHello;
    view.format_current = hello->format_current();
    view.format_oldest = hello->format_oldest();
    view.format_minor = hello->format_minor();
    view.host = uuid_value(hello->host());
    view.session = uuid_value(hello->session());
    view.insecure = hello->insecure();
    view.durable_seq = hello->durable_seq();
  } else if (const Ack* ack = host_message->command_as_Ack()) {
    view.command = HostCommand::kAck;
    view.durable_seq = ack->durable_seq();
  }
  *out = view;
  return true;
}

}  // namespace dumphook
