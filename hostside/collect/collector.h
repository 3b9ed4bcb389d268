// SPDX-License-Identifier: Apache-2.0
// Collector: receives the captures of several boards at once and leaves one file per session.
//
// A board is told by Hello what of its session is here, and by Ack what is on the medium. A file is sealed when its
// stream was closed, or when the collector stops; between two connections of a session it waits.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/connection.h"

namespace dumphook {

struct CollectorOptions {
  std::string listen = "127.0.0.1:9000";  // port 0: any
  std::string folder = ".";               // for <board>-<uuid8>.mcap
  std::string file;                       // or exactly this one, for the first session; others are refused
  bool replace_file = false;
  bool insecure = false;  // listen on other addresses than this machine's
  // A line of what happened. May be empty.
  std::function<void(const std::string&)> say;
};

struct CollectedSession {
  std::string session, board, path;
  uint64_t messages = 0, bytes = 0;
  uint64_t damaged = 0;  // messages that were refused
  uint64_t missing = 0;  // numbers that never came
  uint64_t streams = 0;  // connections
  bool closed = false;   // its stream was closed by the board

  bool complete() const { return closed && missing == 0 && damaged == 0; }
};

class Collector {
 public:
  static Expected<std::unique_ptr<Collector>> open(CollectorOptions options);
  ~Collector();

  // Where it listens.
  const std::string& address() const { return address_; }
  // Waits at most timeout_ms for something to happen and handles it. The error is one of this machine, e.g. a full
  // disk.
  Expected<bool> turn(int timeout_ms);
  // Seals what is open.
  Expected<bool> stop();

  // Sealed so far, in order.
  const std::vector<CollectedSession>& sealed() const { return sealed_; }
  size_t open_sessions() const { return sessions_.size(); }
  // Since anybody sent anything.
  std::chrono::steady_clock::duration idle_time() const { return Clock::now() - last_data_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Session {
    std::string board;
    std::unique_ptr<SessionFile> file;
    Connection* connection = nullptr;
    uint64_t streams = 0;
    bool ended = false;
    Clock::time_point unsynced_since = {};
    Clock::time_point ended_at = {};
    uint64_t acknowledged = 0;
    uint64_t damaged_told = 0;
  };
  struct Peer {
    Peer(int socket, std::string name) : connection(socket, std::move(name)) {}
    Connection connection;
    Clock::time_point since = Clock::now();
    bool over = false;
  };

  explicit Collector(CollectorOptions options) : options_(std::move(options)) {}
  void say(const std::string& line) const;
  void accept_all();
  Expected<SessionFile*> bind(Peer& peer, const StreamIdentity& identity, ConstBytes header, ConstBytes metadata);
  void serve(Peer& peer, short events);
  void part_from(Peer& peer);
  bool sync_and_ack(Session& session);
  Expected<bool> seal(const std::string& uuid);
  std::string final_path(const std::string& uuid, const Session& session) const;
  std::string stem(const std::string& board) const;

  CollectorOptions options_;
  UuidValue host_;
  TcpListener listener_;
  std::string address_;
  std::list<Peer> peers_;
  std::map<std::string, Session> sessions_;            // by uuid
  std::map<std::string, uint64_t> durable_of_sealed_;  // by uuid
  std::map<std::string, std::string> unfinished_;      // .part by uuid, after a failed write
  Clock::time_point disk_again_ = {};
  std::vector<CollectedSession> sealed_;
  Clock::time_point last_data_ = Clock::now();
  Clock::time_point listen_again_ = {};
  std::string file_session_;  // whose file options_.file is
};

}  // namespace dumphook
