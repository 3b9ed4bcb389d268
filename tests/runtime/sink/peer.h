// SPDX-License-Identifier: Apache-2.0
// Peer: the other end of a stream sink, on a real socket, one call at a time.
#pragma once

#include <poll.h>

#include <string>

#include "control_generated.h"
#include "net/tcp.h"
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

class Peer {
 public:
  Peer() {
    Address address;
    parse_address("127.0.0.1:0", &address);
    Endpoints endpoints;
    resolve(address, false, &endpoints);
    listener_.open(endpoints.items[0]);
    // Small buffers, so that the kernel does not hide what a sink does with a slow peer.
    const int small = 4096;
    setsockopt(listener_.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    local.items[local.count++] = listener_.local();
  }
  ~Peer() {
    socket_.close();
    listener_.close();
  }

  bool accept() {
    pollfd waiting = {listener_.fd(), POLLIN, 0};
    poll(&waiting, 1, 200);
    Endpoint who;
    int error = 0;
    const int fd = listener_.accept(&who, &error);
    if (fd < 0) return false;
    socket_.adopt(fd);
    bytes.clear();
    return true;
  }
  // Takes what is there, at most `most`. False at the end of the stream.
  bool read(size_t most = ~size_t{0}) {
    uint8_t buffer[65536];
    while (most > 0) {
      const IoResult got = socket_.receive(Bytes(buffer, most < sizeof buffer ? most : sizeof buffer));
      if (got.state == IoState::closed || got.state == IoState::failed) return false;
      if (got.state != IoState::moved) return true;
      bytes.append(reinterpret_cast<char*>(buffer), got.bytes);
      most -= got.bytes;
    }
    return true;
  }
  void say(std::string text) {
    iovec run = {text.data(), text.size()};
    socket_.send(&run, 1);
  }
  void half_close() { socket_.shutdown_write(); }
  void hang_up() { socket_.close(); }
  void stop_listening() { listener_.close(); }

  Endpoints local;
  std::string bytes;  // of this connection

 private:
  TcpListener listener_;
  TcpSocket socket_;
};

}  // namespace dumphook
