// SPDX-License-Identifier: Apache-2.0
#include "collect/collector.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "collect/host_message.h"

namespace dumphook {
namespace {

using std::chrono::milliseconds;

constexpr auto kAckTime = milliseconds(100);
constexpr uint64_t kAckBytes = 8 << 20;
constexpr auto kGreetingTime = milliseconds(10000);  // to say which session it is
constexpr auto kPartingTime = milliseconds(2000);    // to hang up after the end of its stream
constexpr auto kAcceptPause = milliseconds(500);
constexpr auto kDiskPause = milliseconds(2000);  // after a failed write, before a board may try again
constexpr size_t kMostPeers = 64;
constexpr size_t kMostNameBytes = 64;

// Names come from the board: no folders, no surprises.
std::string file_name(const std::string& untrusted_name) {
  std::string name;
  for (const char c : untrusted_name.substr(0, kMostNameBytes)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                       c == '_' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return name;
}

std::string shown_name(const CollectedSession& session) {
  return session.board.empty() ? "session " + session.session.substr(0, 8) : "board " + file_name(session.board);
}

// A file that nobody sees comes and goes. 0, or errno.
int try_to_write(const std::string& folder) {
  std::string path = folder + "/.dumphook-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return errno;
  close(file);
  unlink(path.c_str());
  return 0;
}

std::string endpoint_text(const Endpoint& endpoint) {
  char text[kEndpointTextBytes];
  format_endpoint(endpoint, text, sizeof text);
  return text;
}

}  // namespace

void Collector::say(const std::string& line) const {
  if (options_.say) options_.say(line);
}

Expected<std::unique_ptr<Collector>> Collector::open(CollectorOptions options) {
  std::unique_ptr<Collector> collector(new Collector(std::move(options)));
  const CollectorOptions& chosen = collector->options_;
  Address address;
  Endpoints endpoints;
  const char* wrong = parse_address(chosen.listen.c_str(), &address);
  if (wrong == nullptr) wrong = resolve(address, true, &endpoints);
  if (wrong != nullptr)
    return Error{fmt::format("--listen {}: {}", chosen.listen, wrong), "write HOST:PORT, e.g. 127.0.0.1:9000"};
  if (!is_loopback(endpoints) && !chosen.insecure) {
    return Error{
        fmt::format("{} can be reached from other machines, and TCP is plain to everyone on the way", chosen.listen),
        "--insecure allows it, on both sides"};
  }
  std::error_code error;
  std::filesystem::path folder(chosen.folder);
  if (!chosen.file.empty()) folder = std::filesystem::path(chosen.file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return Error{fmt::format("cannot create {}: {}", folder.string(), error.message()), ""};
  if (!chosen.file.empty() && std::filesystem::is_directory(chosen.file, error))
    return Error{chosen.file + " is a folder, and a file of that name is to be written", ""};
  if (!chosen.file.empty() && !chosen.replace_file && std::filesystem::exists(chosen.file, error)) {
    return Error{chosen.file + " exists", "--force replaces it"};
  }
  if (const int number = try_to_write(folder.empty() ? "." : folder.string()); number != 0)
    return Error{fmt::format("cannot write in {}: {}", folder.empty() ? "." : folder.string(), strerror(number)), ""};
  const int number = collector->listener_.open(endpoints.items[0]);
  if (number != 0) {
    return Error{fmt::format("cannot listen on {}: {}", chosen.listen, strerror(number)),
                 number == EADDRINUSE ? "another program has this port; choose one with --listen" : ""};
  }
  collector->address_ = endpoint_text(collector->listener_.local());
  std::random_device random;
  collector->host_.high = uint64_t{random()} << 32 | random();
  collector->host_.low = uint64_t{random()} << 32 | random();
  return collector;
}

Collector::~Collector() { listener_.close(); }

Expected<bool> Collector::turn(int timeout_ms) {
  std::vector<pollfd> waiting;
  const Clock::time_point start = Clock::now();
  const bool listening = peers_.size() < kMostPeers && start >= listen_again_;
  if (listening) waiting.push_back({listener_.fd(), POLLIN, 0});
  for (const Peer& peer : peers_) {
    const int events = (peer.over ? 0 : POLLIN) | (peer.connection.wants_to_send() ? POLLOUT : 0);
    waiting.push_back({peer.over && events == 0 ? -1 : peer.connection.fd(), static_cast<short>(events), 0});
  }
  const bool pressing = std::any_of(sessions_.begin(), sessions_.end(), [](const auto& entry) {
    return entry.second.ended || (entry.second.file && entry.second.file->unsynced_bytes() != 0);
  });
  if (pressing) timeout_ms = std::min(timeout_ms, 20);
  if (poll(waiting.data(), waiting.size(), timeout_ms) < 0) {
    if (errno == EINTR) return true;
    return Error{fmt::format("cannot wait: {}", strerror(errno)), ""};
  }

  size_t at = listening ? 1 : 0;
  for (Peer& peer : peers_) serve(peer, waiting[at++].revents);
  if (listening && waiting[0].revents != 0) accept_all();

  const Clock::time_point now = Clock::now();
  for (auto& [uuid, session] : sessions_) {
    if (session.file->unsynced_bytes() == 0 && session.acknowledged == session.file->durable_seq()) continue;
    if (session.unsynced_since == Clock::time_point()) session.unsynced_since = now;
    if (now - session.unsynced_since >= kAckTime || session.file->unsynced_bytes() >= kAckBytes) sync_and_ack(session);
  }
  for (Peer& peer : peers_) {
    const bool silent = !peer.connection.identity() && now - peer.since > kGreetingTime;
    if (silent && !peer.over) {
      say(fmt::format("{} never said which session it is", peer.connection.peer()));
      peer.over = true;
    }
  }
  peers_.remove_if([](const Peer& peer) { return peer.over; });

  std::vector<std::string> done;
  for (const auto& [uuid, session] : sessions_) {
    if (session.ended && (session.connection == nullptr || now - session.ended_at > kPartingTime)) done.push_back(uuid);
  }
  for (const std::string& uuid : done) {
    const Expected<bool> sealed = seal(uuid);
    if (!sealed.ok()) return sealed;
  }
  return true;
}

void Collector::accept_all() {
  while (peers_.size() < kMostPeers) {
    Endpoint from;
    int error = 0;
    const int socket = listener_.accept(&from, &error);
    if (socket < 0) {
      if (error != 0) {
        say(fmt::format("cannot accept a connection: {}", strerror(error)));
        listen_again_ = Clock::now() + kAcceptPause;
      }
      return;
    }
    // The list does not move its elements.
    Peer& peer = peers_.emplace_back(socket, endpoint_text(from));
    peer.connection.set_bind([this, &peer](const StreamIdentity& identity, ConstBytes header, ConstBytes metadata) {
      return bind(peer, identity, header, metadata);
    });
  }
}

Expected<SessionFile*> Collector::bind(Peer& peer, const StreamIdentity& identity, ConstBytes header,
                                       ConstBytes metadata) {
  const auto sealed = durable_of_sealed_.find(identity.session);
  if (sealed != durable_of_sealed_.end()) {
    peer.connection.say(hello_message(host_, identity.uuid, sealed->second, options_.insecure));
    return static_cast<SessionFile*>(nullptr);
  }
  if (!options_.file.empty() && !file_session_.empty() && file_session_ != identity.session) {
    return Error{"this collector takes one session only, and it has one", ""};
  }
  if (Clock::now() < disk_again_) return Error{"the disk takes no more at the moment", ""};
  auto found = sessions_.find(identity.session);
  if (found == sessions_.end()) {
    Expected<std::unique_ptr<SessionFile>> file =
        SessionFile::open(stem(identity.board), identity.session, header, metadata);
    if (!file.ok()) return file.error();
    found = sessions_.try_emplace(identity.session).first;
    found->second.file = std::move(*file);
    found->second.board = identity.board;
    unfinished_.erase(identity.session);
    if (!options_.file.empty()) file_session_ = identity.session;
  }
  Session& session = found->second;
  // The board is back before its old connection was found dead.
  if (session.connection != nullptr && session.connection != &peer.connection) {
    for (Peer& other : peers_) other.over |= &other.connection == session.connection;
  }
  // One connection, several streams: it has left the session of the one before.
  for (auto& [uuid, other] : sessions_) {
    if (&other != &session && other.connection == &peer.connection) other.connection = nullptr;
  }
  session.file->begin_stream(identity.stream, identity.first_stream_seq);
  const Expected<bool> synced = session.file->sync();
  if (!synced.ok()) return synced.error();
  session.connection = &peer.connection;
  session.ended = false;
  session.unsynced_since = {};
  ++session.streams;
  CollectedSession named;
  named.session = identity.session;
  named.board = identity.board;
  say(fmt::format("{} {} from {}", shown_name(named),
                  session.streams > 1 || session.file->resumed() ? "is back" : "is here", peer.connection.peer()));
  session.acknowledged = session.file->durable_seq();
  peer.connection.say(hello_message(host_, identity.uuid, session.acknowledged, options_.insecure));
  return session.file.get();
}

void Collector::serve(Peer& peer, short events) {
  if (peer.over || events == 0) return;
  Connection& connection = peer.connection;
  if ((events & POLLOUT) != 0) connection.send();
  if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return;
  last_data_ = Clock::now();
  const bool goes_on = connection.receive();
  if (connection.identity()) {
    const std::string uuid = connection.identity()->session;
    const auto found = sessions_.find(uuid);
    if (found != sessions_.end() && found->second.connection == &connection) {
      Session& session = found->second;
      // The first, and then ever less often.
      if (session.file->damaged() > 2 * session.damaged_told) {
        session.damaged_told = session.file->damaged();
        say(fmt::format("{} damaged messages from {} so far", session.damaged_told, connection.peer()));
      }
      const Expected<bool> written = session.file->write_out();
      if (!written.ok()) {
        say(written.error().what);
        // Whatever was not acknowledged comes again, into the file as it is.
        unfinished_[uuid] = session.file->part_path();
        disk_again_ = Clock::now() + kDiskPause;
        sessions_.erase(found);
        peer.over = true;
        return;
      }
      if (connection.ended() && !session.ended && sync_and_ack(session)) {
        session.ended = true;
        session.ended_at = Clock::now();
      }
    }
  }
  if (!goes_on) part_from(peer);
}

void Collector::part_from(Peer& peer) {
  peer.over = true;
  const std::string& why = peer.connection.why_closed();
  for (auto& [uuid, session] : sessions_) {
    if (session.connection != &peer.connection) continue;
    session.connection = nullptr;
    if (!session.ended) {
      sync_and_ack(session);
      say(fmt::format("{} was cut{}{}; waiting for it to come back", peer.connection.peer(), why.empty() ? "" : ": ",
                      why));
    }
    return;
  }
  if (!why.empty()) say(fmt::format("{} was refused: {}", peer.connection.peer(), why));
}

bool Collector::sync_and_ack(Session& session) {
  const Expected<bool> synced = session.file->sync();
  if (!synced.ok()) {
    say(synced.error().what);
    return false;
  }
  session.unsynced_since = {};
  const uint64_t durable = session.file->durable_seq();
  if (session.connection == nullptr || durable <= session.acknowledged) return true;
  if (session.connection->say(ack_message(durable))) session.acknowledged = durable;
  return true;
}

std::string Collector::stem(const std::string& board) const {
  namespace fs = std::filesystem;
  if (!options_.file.empty()) {
    const fs::path path(options_.file);
    return (path.parent_path() / path.stem()).string();
  }
  const std::string name = file_name(board);
  return (fs::path(options_.folder) / (name.empty() ? "session" : name)).string();
}

std::string Collector::final_path(const std::string& uuid, const Session& session) const {
  return options_.file.empty() ? stem(session.board) + "-" + uuid.substr(0, 8) + ".mcap" : options_.file;
}

Expected<bool> Collector::seal(const std::string& uuid) {
  const auto found = sessions_.find(uuid);
  Session& session = found->second;
  for (Peer& peer : peers_) peer.over |= &peer.connection == session.connection;
  CollectedSession result;
  result.session = uuid;
  result.board = session.board;
  result.messages = session.file->messages();
  result.damaged = session.file->damaged();
  result.missing = session.file->missing();
  result.streams = session.streams;
  result.closed = session.ended;
  const Expected<std::string> path =
      session.file->seal(final_path(uuid, session), !options_.file.empty() && options_.replace_file);
  if (!path.ok()) return path.error();
  result.path = *path;
  result.bytes = session.file->bytes();
  durable_of_sealed_[uuid] = session.file->durable_seq();
  sealed_.push_back(result);
  sessions_.erase(found);
  peers_.remove_if([](const Peer& peer) { return peer.over; });
  return true;
}

Expected<bool> Collector::stop() {
  listener_.close();
  Expected<bool> outcome = true;
  while (!sessions_.empty()) {
    const std::string uuid = sessions_.begin()->first;
    sync_and_ack(sessions_.begin()->second);
    const Expected<bool> sealed = seal(uuid);
    if (!sealed.ok()) {
      outcome = sealed;
      unfinished_[uuid] = sessions_[uuid].file->part_path();
      sessions_.erase(uuid);
    }
  }
  peers_.clear();
  for (const auto& [uuid, path] : unfinished_) {
    outcome =
        Error{path + " is not finished", "it can be read as it is; a collector in the same folder goes on with it"};
  }
  return outcome;
}

}  // namespace dumphook
