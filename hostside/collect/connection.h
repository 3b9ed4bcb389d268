// SPDX-License-Identifier: Apache-2.0
// Connection: one board on one socket. Cuts what it sends into records and gives them to its session's file. Everything
// that arrives is hostile.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collect/record_splitter.h"
#include "collect/session_file.h"
#include "net/tcp.h"
#include "wire/control.h"

namespace dumphook {

// What a stream says of itself at its beginning.
struct StreamIdentity {
  std::string session, board;
  UuidValue uuid;
  uint64_t stream = 0;
  uint64_t first_stream_seq = 0;
};

class Connection {
 public:
  // `bind` is called when a stream has said who it is: the file of that session, or why there is none. A NULL file
  // means that the session is complete here already: its records are read and forgotten.
  using Bind = std::function<Expected<SessionFile*>(const StreamIdentity&, ConstBytes header, ConstBytes metadata)>;

  Connection(int socket, std::string peer);
  void set_bind(Bind bind) { bind_ = std::move(bind); }
  ~Connection() { socket_.close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes what is there, within limits. False when the peer has no more to say, with why_closed().
  bool receive();
  // Queues a host message, and sends what the kernel takes. False when an earlier one still waits: say it again later.
  bool say(const std::string& message);
  void send();
  bool wants_to_send() const { return !unsent_.empty(); }

  int fd() const { return socket_.fd(); }
  const std::string& peer() const { return peer_; }
  const std::optional<StreamIdentity>& identity() const { return identity_; }
  SessionFile* file() const { return file_; }
  // The stream was closed as its writer closes it.
  bool ended() const { return state_ == State::ended; }
  // Empty after a plain end of the bytes.
  const std::string& why_closed() const { return why_closed_; }

 private:
  enum class State : uint8_t { start, preamble, messages, summary, footer, ended };

  bool take_magic();
  bool take_record();
  bool take_metadata();
  bool take_chunk(ConstBytes content);
  bool take_inner(uint8_t opcode, ConstBytes whole);
  bool refuse(const std::string& why);

  TcpSocket socket_;
  std::string peer_;
  Bind bind_;
  RecordSplitter splitter_;
  State state_ = State::start;
  std::string header_;  // the Header record, until the Metadata comes
  std::optional<StreamIdentity> identity_;
  SessionFile* file_ = nullptr;
  std::string unsent_;
  std::string why_closed_;
};

}  // namespace dumphook
