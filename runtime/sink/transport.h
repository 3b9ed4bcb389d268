// SPDX-License-Identifier: Apache-2.0
// Transport: a way for the bytes of a stream to a peer. Nothing blocks.
#pragma once

#include "base/clock.h"
#include "dumphook/dumphook.h"
#include "net/tcp.h"

namespace dumphook {

class Transport {
 public:
  // Begins to connect, then goes on with it, until connected or failed.
  virtual void connect(uint64_t, uint64_t) {}  // now_ns, timeout_ns
  virtual ConnectState connect_step(uint64_t) { return ConnectState::failed; }
  // What to wait for: a descriptor, or nothing but the clock (-1). While connecting, it becomes writable.
  virtual int fd() const { return -1; }
  virtual uint64_t connect_deadline_ns() const { return ~uint64_t{0}; }
  virtual int connect_error() const { return 0; }

  virtual IoResult send(const iovec*, int) { return {}; }
  virtual IoResult receive(Bytes) { return {}; }
  // The stream is at its end; the peer may still answer.
  virtual void shutdown_write() {}
  virtual void close() {}

  // Whether the other side may ever say something.
  virtual bool can_answer() const { return true; }
  // Whether connect() makes sense again after a failure.
  virtual bool can_reconnect() const { return true; }
  // Who is there, for the log.
  virtual const char* name() const { return ""; }

 protected:
  ~Transport() = default;
};

class TcpTransport final : public Transport {
 public:
  void open(const Endpoints& endpoints, const char* name);
  void connect(uint64_t now_ns, uint64_t timeout_ns) override;
  ConnectState connect_step(uint64_t now_ns) override;
  int fd() const override { return socket_.is_open() ? socket_.fd() : connector_.fd(); }
  uint64_t connect_deadline_ns() const override { return connector_.deadline_ns(); }
  int connect_error() const override { return connector_.error(); }
  IoResult send(const iovec* runs, int count) override { return socket_.send(runs, count); }
  IoResult receive(Bytes into) override { return socket_.receive(into); }
  void shutdown_write() override { socket_.shutdown_write(); }
  void close() override;
  const char* name() const override { return name_; }

 private:
  Endpoints endpoints_;
  TcpConnector connector_;
  TcpSocket socket_;
  char name_[Address::kHostBytes + 16] = {};
};

// dh_options.on_bytes.
class CallbackTransport final : public Transport {
 public:
  using Callback = int64_t (*)(void* user, const void* data, size_t bytes);
  void open(Callback callback, void* user);
  ConnectState connect_step(uint64_t) override { return ConnectState::connected; }
  IoResult send(const iovec* runs, int count) override;
  bool can_answer() const override { return false; }
  bool can_reconnect() const override { return false; }
  const char* name() const override { return "the callback"; }

 private:
  Callback callback_ = nullptr;
  void* user_ = nullptr;
};

}  // namespace dumphook
