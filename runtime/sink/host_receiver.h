// SPDX-License-Identifier: Apache-2.0
// HostReceiver: cuts what the host sends into messages. Hostile input; fixed memory.
#pragma once

#include "sink/transport.h"
#include "wire/control.h"
#include "wire/format.h"

namespace dumphook {

enum class HostInput : uint8_t {
  message,    // *out is filled
  nothing,    // no more for now
  closed,     // the peer says no more, ever
  failed,     // the connection broke: error()
  malformed,  // these are not host messages: what follows cannot be understood either
};

class HostReceiver {
 public:
  void reset();
  // Reads until one message is whole. Messages longer than kMostBytes are passed over.
  HostInput next(Transport& transport, HostMessageView* out);
  // Reads and forgets.
  HostInput discard(Transport& transport);
  int error() const { return error_; }

 private:
  HostInput outcome(const IoResult& read);
  static constexpr size_t kMostBytes = 4096;
  alignas(8) uint8_t buffer_[kSizePrefixBytes + kMostBytes];
  size_t got_ = 0;  // of prefix and message
  uint32_t skip_bytes_ = 0;
  int error_ = 0;
};

}  // namespace dumphook
