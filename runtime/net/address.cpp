// SPDX-License-Identifier: Apache-2.0
#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstring>

namespace dumphook {
namespace {

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name_character(char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; }

// With a zone after '%', as in fe80::1%eth0.
bool is_ipv6_character(char c) { return is_name_character(c) || c == ':' || c == '%'; }

const char* parse_port(const char* text, uint16_t* out) {
  if (text[0] == '\0') return "the port is missing: HOST:PORT";
  uint32_t port = 0;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at < '0' || *at > '9') return "the port must be a number, with nothing after it";
    port = port * 10 + static_cast<uint32_t>(*at - '0');
    if (port > 65535) return "the port must be at most 65535";
  }
  *out = static_cast<uint16_t>(port);
  return nullptr;
}

const char* copy_host(const char* host, size_t bytes, bool (*accepts)(char), Address* out) {
  if (bytes == 0) return "the host is missing: HOST:PORT";
  if (bytes >= Address::kHostBytes) return "the host's name is too long";
  for (size_t i = 0; i < bytes; ++i) {
    if (!accepts(host[i])) return "the host's name has a character that no name or address has";
  }
  memcpy(out->host, host, bytes);
  out->host[bytes] = '\0';
  return nullptr;
}

}  // namespace

const char* parse_address(const char* text, Address* out) {
  *out = Address();
  if (text == nullptr) return "the address is missing";
  const char* scheme_end = strstr(text, "://");
  if (scheme_end != nullptr) text = scheme_end + 3;

  if (text[0] == '[') {
    const char* host = text + 1;
    const char* close = strchr(host, ']');
    if (close == nullptr) return "the closing bracket of the IPv6 address is missing";
    const char* wrong = copy_host(host, static_cast<size_t>(close - host), is_ipv6_character, out);
    if (wrong != nullptr) return wrong;
    if (strchr(out->host, ':') == nullptr) return "brackets are for IPv6 addresses only";
    if (close[1] != ':') return "the port is missing: [ADDRESS]:PORT";
    return parse_port(close + 2, &out->port);
  }

  const char* colon = strchr(text, ':');
  if (colon == nullptr) return "the port is missing: HOST:PORT";
  if (strchr(colon + 1, ':') != nullptr) return "an IPv6 address goes into brackets: [::1]:9000";
  const char* wrong = copy_host(text, static_cast<size_t>(colon - text), is_name_character, out);
  return wrong != nullptr ? wrong : parse_port(colon + 1, &out->port);
}

const char* resolve(const Address& address, bool passive, Endpoints* out) {
  out->count = 0;
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  char port[8];
  snprintf(port, sizeof port, "%u", static_cast<unsigned>(address.port));
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.host, port, &hints, &found);
  if (error != 0) return gai_strerror(error);
  for (const addrinfo* at = found; at != nullptr && out->count < Endpoints::kMost; at = at->ai_next) {
    if (at->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Endpoint& endpoint = out->items[out->count++];
    endpoint = Endpoint();
    memcpy(&endpoint.storage, at->ai_addr, at->ai_addrlen);
    endpoint.bytes = at->ai_addrlen;
  }
  freeaddrinfo(found);
  return out->count == 0 ? "the name has no address" : nullptr;
}

bool is_loopback(const Endpoint& endpoint) {
  if (endpoint.storage.ss_family == AF_INET) {
    sockaddr_in in;
    memcpy(&in, &endpoint.storage, sizeof in);
    return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
  }
  if (endpoint.storage.ss_family == AF_INET6) {
    sockaddr_in6 in;
    memcpy(&in, &endpoint.storage, sizeof in);
    if (IN6_IS_ADDR_LOOPBACK(&in.sin6_addr)) return true;
    return IN6_IS_ADDR_V4MAPPED(&in.sin6_addr) && in.sin6_addr.s6_addr[12] == 127;
  }
  return false;
}

bool is_loopback(const Endpoints& endpoints) {
  for (uint32_t i = 0; i < endpoints.count; ++i) {
    if (!is_loopback(endpoints.items[i])) return false;
  }
  return endpoints.count != 0;
}

void format_endpoint(const Endpoint& endpoint, char* out, size_t out_bytes) {
  char host[INET6_ADDRSTRLEN] = "?";
  if (endpoint.storage.ss_family == AF_INET6) {
    sockaddr_in6 in;
    memcpy(&in, &endpoint.storage, sizeof in);
    inet_ntop(AF_INET6, &in.sin6_addr, host, sizeof host);
    snprintf(out, out_bytes, "[%s]:%u", host, static_cast<unsigned>(ntohs(in.sin6_port)));
    return;
  }
  sockaddr_in in = {};
  if (endpoint.storage.ss_family == AF_INET) {
    memcpy(&in, &endpoint.storage, sizeof in);
    inet_ntop(AF_INET, &in.sin_addr, host, sizeof host);
  }
  snprintf(out, out_bytes, "%s:%u", host, static_cast<unsigned>(ntohs(in.sin_port)));
}

}  // namespace dumphook
