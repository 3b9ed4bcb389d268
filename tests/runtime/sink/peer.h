// SPDX-License-Identifier: Apache-2.0
// Peer: the other end of a stream sink, on a real socket, one call at a time.
#pragma once

#include <poll.h>

#include <string>

#include "host_messages.h"
#include "net/tcp.h"

namespace dumphook {

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
