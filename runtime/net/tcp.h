// SPDX-License-Identifier: Apache-2.0
// TCP that never blocks, for both roles. Plain values without destructors: whoever opens a socket closes it.
#pragma once

#include <sys/uio.h>

#include <cstdint>

#include "base/bytes.h"
#include "net/address.h"

namespace dumphook {

// Outcome of one transfer.
enum class IoState : uint8_t {
  moved,   // `bytes` > 0 of them
  later,   // nothing can be moved now: wait for the descriptor
  closed,  // received the peer's end of stream
  failed,  // `error` is the errno; the connection is of no more use
};

struct IoResult {
  IoState state = IoState::later;
  size_t bytes = 0;
  int error = 0;
};

// One connected socket. Non-blocking, close-on-exec, without Nagle's delay, with keep-alive.
class TcpSocket {
 public:
  // Takes over a connected descriptor.
  void adopt(int fd);
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

  // As much as the kernel takes now of `count` runs (at most kMostRuns are looked at). Never raises SIGPIPE.
  static constexpr int kMostRuns = 64;
  IoResult send(const iovec* runs, int count);
  IoResult receive(Bytes into);
  // No more will be sent: the peer reads to the end of the stream.
  void shutdown_write();
  void close();

 private:
  int fd_ = -1;
};

enum class ConnectState : uint8_t { idle, connecting, connected, failed };

// Connects to the first endpoint that answers, one after the other, within a deadline for all.
class TcpConnector {
 public:
  // `endpoints` must stay valid. Then step() until the state is connected or failed.
  void start(const Endpoints& endpoints, uint64_t now_ns, uint64_t timeout_ns);
  ConnectState step(uint64_t now_ns);
  // What to wait for while connecting: fd() to become writable, or the deadline.
  int fd() const { return fd_; }
  uint64_t deadline_ns() const { return try_deadline_ns_; }
  // Why it failed: the last errno.
  int error() const { return error_; }
  // The connected descriptor, which the caller owns from now on.
  int take();
  void cancel();

 private:
  ConnectState state_ = ConnectState::idle;
  const Endpoints* endpoints_ = nullptr;
  uint32_t next_ = 0;
  int fd_ = -1;
  int error_ = 0;
  uint64_t deadline_ns_ = 0;
  uint64_t try_deadline_ns_ = 0;  // of the present endpoint: each gets its share of what is left
};

// A listening socket.
class TcpListener {
 public:
  // 0, or an errno.
  int open(const Endpoint& endpoint);
  // A connection, or -1 when there is none now. *error is the errno when accepting failed for good (or 0).
  int accept(Endpoint* peer, int* error);
  // Where it listens, with the port the system chose.
  Endpoint local() const;
  int fd() const { return fd_; }
  void close();

 private:
  int fd_ = -1;
};

}  // namespace dumphook
