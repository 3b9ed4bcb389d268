// SPDX-License-Identifier: Apache-2.0
// Address: where a sink sends to or a collector listens, as a person writes it; Endpoints: what the system makes of it.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

namespace dumphook {

struct Address {
  static constexpr size_t kHostBytes = 256;
  char host[kHostBytes] = {};  // name, IPv4 or IPv6 address; without brackets
  uint16_t port = 0;
};

// One address of a peer, in the kernel's form.
struct Endpoint {
  sockaddr_storage storage = {};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

struct Endpoints {
  static constexpr uint32_t kMost = 8;
  Endpoint items[kMost];
  uint32_t count = 0;
};

// "HOST:PORT", "1.2.3.4:9000", "[::1]:9000", also after a scheme "tcp://". NULL, and *out filled, or a sentence that
// says what is wrong. Port 0 is accepted: a listener takes any. Allocates nothing, asks nobody.
const char* parse_address(const char* text, Address* out);

// Asks the system for the addresses of `address`, at most Endpoints::kMost. May block and allocate: only while opening.
// NULL, or a sentence that says what is wrong. `passive`: to listen on.
const char* resolve(const Address& address, bool passive, Endpoints* out);

// 127.0.0.0/8, ::1 and the first as IPv6.
bool is_loopback(const Endpoint& endpoint);
// All of them; false when there are none.
bool is_loopback(const Endpoints& endpoints);

// "127.0.0.1:9000", "[::1]:9000".
constexpr size_t kEndpointTextBytes = 72;
void format_endpoint(const Endpoint& endpoint, char* out, size_t out_bytes);

}  // namespace dumphook
