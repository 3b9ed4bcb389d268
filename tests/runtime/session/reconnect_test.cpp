// SPDX-License-Identifier: Apache-2.0
// A peer that comes late, on a plain socket.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host_messages.h"
#include "open_session.h"

namespace {

// Listens on a port of the system's choice, or on the one given; reads all that comes over one connection.
class Listener {
 public:
  explicit Listener(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bound_ = bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    socklen_t bytes = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(fd_); }
  uint16_t port() const { return port_; }
  bool listen_now() { return bound_ && listen(fd_, 1) == 0; }
  std::string read_all() {
    const int connection = accept(fd_, nullptr, nullptr);
    std::string all;
    char buffer[65536];
    for (ssize_t got; (got = read(connection, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<size_t>(got));
    ::close(connection);
    return all;
  }
  // Greets, reads until the stream has ended with `end` (behind the one it begins with), then acknowledges up to
  // `durable` (0: says nothing) and hangs up.
  std::string converse(uint64_t durable, const std::string& end) {
    const int connection = accept(fd_, nullptr, nullptr);
    const std::string hello = dumphook::hello_bytes(0);
    EXPECT_EQ(send(connection, hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
    std::string all;
    char buffer[65536];
    for (ssize_t got;
         all.find(end, end.size()) == std::string::npos && (got = read(connection, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<size_t>(got));
    const std::string ack = durable == 0 ? std::string() : dumphook::ack_bytes(durable);
    EXPECT_EQ(send(connection, ack.data(), ack.size(), MSG_NOSIGNAL), static_cast<ssize_t>(ack.size()));
    ::close(connection);
    return all;
  }

 private:
  int fd_;
  uint16_t port_ = 0;
  bool bound_ = false;
};

TEST(Reconnect, BeforeTheFirstPeer_LossesAreCounted_AndToldToTheFirstPeer) {
  Listener listener(0);  // bound, so that nobody else takes the port, but refusing
  Collector collector;
  dh_options options = callback_options(&collector);
  const std::string uri = "tcp://127.0.0.1:" + std::to_string(listener.port());
  options.sink = uri.c_str();
  options.hello_ms = 50;
  options.close_ms = 5000;
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  const auto capture = [&](uint64_t number) {
    const std::string data = content("t", number, 1000);
    const dh_frame frame = begin_frame(session, number);
    const dh_tensor tensor = u8_tensor("t", data);
    EXPECT_EQ(dh_capture_by_name(session, frame, &tensor), DH_OK);
    EXPECT_EQ(dh_frame_end(session, frame), DH_OK);
  };
  const std::string data(options.raw_pool_bytes + 1, 'x');
  const dh_tensor too_big = u8_tensor("t", data);
  const dh_frame frame = begin_frame(session, 0);
  EXPECT_EQ(dh_capture_by_name(session, frame, &too_big),
            DH_DROPPED);  // may be told, to nobody, while it first connects
  EXPECT_EQ(dh_frame_end(session, frame), DH_OK);
  for (uint64_t f = 1; f <= 10; ++f) capture(f);
  ASSERT_TRUE(soon([&] { return counters_of(session).lost[DH_LOSS_NOT_CONNECTED] == 10; })) << collector.log();

  ASSERT_TRUE(listener.listen_now());
  std::string bytes;
  std::thread reader([&] { bytes = listener.read_all(); });
  ASSERT_TRUE(soon([&] { return collector.log().find("connected to") != std::string::npos; }, 10000));
  for (uint64_t f = 11; f <= 20; ++f) capture(f);
  EXPECT_EQ(dh_flush(session, 5000), DH_OK);
  EXPECT_EQ(dh_close(session), DH_DROPPED);
  reader.join();
  const auto stream = test_reader::read_stream(bytes);
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_TRUE(stream.sealed);
  EXPECT_EQ(stream.tensors.size(), 10u);
  EXPECT_EQ(stream.clock_syncs, 1u);
  const uint32_t id = stream.id_of("t");
  EXPECT_EQ(stream.lost(id), 11u);
  for (uint64_t f = 0; f <= 10; ++f) EXPECT_TRUE(stream.lost_in(id, f)) << f;
  EXPECT_EQ(stream.counters.back().seen, 21u);
  EXPECT_EQ(stream.counters.back().lost.at(DH_LOSS_NOT_CONNECTED), 10u);
}

// A collector that acknowledges nothing before it is cut off in the board's last words, and comes back.
TEST(Reconnect, CutInTheGoodbye_ThePeerThatComesBackGetsAllOfIt) {
  Listener listener(0);
  ASSERT_TRUE(listener.listen_now());
  Collector collector;
  dh_options options = callback_options(&collector);
  const std::string uri = "tcp://127.0.0.1:" + std::to_string(listener.port());
  options.sink = uri.c_str();
  options.close_ms = 4000;  // the last quarter is for the last words
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  std::string bytes;
  std::thread reader([&] {
    EXPECT_TRUE(listener.converse(/*durable=*/0, "\x89MCAP0\r\n").size() > 0);
    bytes = listener.converse(/*durable=*/1000, "\x89MCAP0\r\n");
  });
  for (uint64_t f = 0; f < 10; ++f) {
    const std::string data = content("t", f, 1000);
    const dh_frame frame = begin_frame(session, f);
    const dh_tensor tensor = u8_tensor("t", data);
    EXPECT_EQ(dh_capture_by_name(session, frame, &tensor), DH_OK);
    dh_frame_end(session, frame);
  }
  EXPECT_EQ(dh_close(session), DH_OK) << collector.log();
  reader.join();
  const auto stream = test_reader::read_stream(bytes);
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_TRUE(stream.sealed);
  EXPECT_EQ(stream.tensors.size(), 10u);
}

TEST(Reconnect, WithKeepEarly_NothingIsLostBeforeTheFirstPeer) {
  Listener listener(0);
  Collector collector;
  dh_options options = callback_options(&collector);
  const std::string uri = "tcp://127.0.0.1:" + std::to_string(listener.port());
  options.sink = uri.c_str();
  options.hello_ms = 50;
  options.flags = DH_FLAG_KEEP_EARLY;
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  for (uint64_t f = 0; f < 10; ++f) {
    const std::string data = content("t", f, 1000);
    const dh_frame frame = begin_frame(session, f);
    const dh_tensor tensor = u8_tensor("t", data);
    EXPECT_EQ(dh_capture_by_name(session, frame, &tensor), DH_OK);
    dh_frame_end(session, frame);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(listener.listen_now());
  std::string bytes;
  std::thread reader([&] { bytes = listener.read_all(); });
  EXPECT_EQ(dh_flush(session, 10000), DH_OK);
  EXPECT_EQ(dh_close(session), DH_OK);
  reader.join();
  const auto stream = test_reader::read_stream(bytes);
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.first_seq, 1u);
  EXPECT_EQ(stream.tensors.size(), 10u);
}

}  // namespace
