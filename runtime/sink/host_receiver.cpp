// SPDX-License-Identifier: Apache-2.0
#include "sink/host_receiver.h"

#include "wire/format.h"

namespace dumphook {

void HostReceiver::reset() {
  got_ = 0;
  skip_bytes_ = 0;
  error_ = 0;
}

HostInput HostReceiver::next(Transport& transport, HostMessageView* out) {
  for (;;) {
    Bytes into;
    if (skip_bytes_ != 0) {
      into = Bytes(buffer_, skip_bytes_ < sizeof buffer_ ? skip_bytes_ : sizeof buffer_);
    } else if (got_ < kSizePrefixBytes) {
      into = Bytes(buffer_ + got_, kSizePrefixBytes - got_);
    } else {
      into = Bytes(buffer_ + got_, kSizePrefixBytes + load_le<uint32_t>(buffer_) - got_);
    }
    const IoResult read = transport.receive(into);
    if (read.state != IoState::moved) return outcome(read);
    if (skip_bytes_ != 0) {
      skip_bytes_ -= static_cast<uint32_t>(read.bytes);
      continue;
    }
    got_ += read.bytes;
    if (got_ < kSizePrefixBytes) continue;
    const uint32_t message_bytes = load_le<uint32_t>(buffer_);
    if (message_bytes == 0 || message_bytes > kMaxHostMessageBytes) return HostInput::malformed;
    if (message_bytes > kMostBytes) {
      skip_bytes_ = message_bytes;
      got_ = 0;
      continue;
    }
    if (got_ < kSizePrefixBytes + message_bytes) continue;
    got_ = 0;
    return parse_host_message(ConstBytes(buffer_, kSizePrefixBytes + message_bytes), out) ? HostInput::message
                                                                                          : HostInput::malformed;
  }
}

HostInput HostReceiver::discard(Transport& transport) {
  const IoResult read = transport.receive(Bytes(buffer_, sizeof buffer_));
  return read.state == IoState::moved ? HostInput::malformed : outcome(read);
}

HostInput HostReceiver::outcome(const IoResult& read) {
  error_ = read.error;
  if (read.state == IoState::later) return HostInput::nothing;
  return read.state == IoState::closed ? HostInput::closed : HostInput::failed;
}

}  // namespace dumphook
