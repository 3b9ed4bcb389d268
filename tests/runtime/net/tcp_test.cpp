// SPDX-License-Identifier: Apache-2.0
#include "net/tcp.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

namespace dumphook {
namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

Endpoint endpoint(const char* text) {
  Address address;
  Endpoints endpoints;
  EXPECT_EQ(parse_address(text, &address), nullptr);
  EXPECT_EQ(resolve(address, false, &endpoints), nullptr);
  return endpoints.items[0];
}

void wait_for(int fd, short events) {
  pollfd waiting = {fd, events, 0};
  poll(&waiting, 1, 1000);
}

class TcpTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(listener_.open(endpoint("127.0.0.1:0")), 0); }
  void TearDown() override {
    client_.close();
    server_.close();
    listener_.close();
  }

  ConnectState connect(const Endpoints& endpoints, uint64_t timeout_ns = 2000000000) {
    TcpConnector connector;
    connector.start(endpoints, now_ns(), timeout_ns);
    ConnectState state;
    while ((state = connector.step(now_ns())) == ConnectState::connecting) {
      pollfd waiting = {connector.fd(), POLLOUT, 0};
      poll(&waiting, 1, 5);
    }
    error_ = connector.error();
    if (state == ConnectState::connected) client_.adopt(connector.take());
    return state;
  }

  void connect_both() {
    Endpoints endpoints;
    endpoints.items[endpoints.count++] = listener_.local();
    ASSERT_EQ(connect(endpoints), ConnectState::connected);
    wait_for(listener_.fd(), POLLIN);
    Endpoint peer;
    int error = 0;
    const int fd = listener_.accept(&peer, &error);
    ASSERT_GE(fd, 0);
    EXPECT_TRUE(is_loopback(peer));
    server_.adopt(fd);
  }

  TcpListener listener_;
  TcpSocket client_, server_;
  int error_ = 0;
};

TEST_F(TcpTest, MovesBytes_AndReportsTheEnd) {
  connect_both();
  uint8_t buffer[64];
  EXPECT_EQ(server_.receive(buffer).state, IoState::later);
  char hello[] = "hel", lo[] = "lo";
  iovec runs[] = {{hello, 3}, {lo, 2}};
  const IoResult sent = client_.send(runs, 2);
  EXPECT_EQ(sent.state, IoState::moved);
  EXPECT_EQ(sent.bytes, 5u);
  wait_for(server_.fd(), POLLIN);
  const IoResult got = server_.receive(buffer);
  EXPECT_EQ(std::string(buffer, buffer + got.bytes), "hello");
  client_.shutdown_write();
  wait_for(server_.fd(), POLLIN);
  EXPECT_EQ(server_.receive(buffer).state, IoState::closed);
}

TEST_F(TcpTest, AStalledPeerMakesItWait_NotBlock) {
  connect_both();
  std::vector<uint8_t> bytes(1 << 20);
  iovec run = {bytes.data(), bytes.size()};
  IoResult result;
  size_t total = 0;
  while ((result = client_.send(&run, 1)).state == IoState::moved) {
    total += result.bytes;
    ASSERT_LT(total, size_t{1} << 30);
  }
  EXPECT_EQ(result.state, IoState::later);
}

TEST_F(TcpTest, AClosedPeerIsAnError_NotASignal) {
  connect_both();
  server_.close();
  std::vector<uint8_t> bytes(1 << 16);
  iovec run = {bytes.data(), bytes.size()};
  IoResult result;
  for (int i = 0; i < 100; ++i) {
    result = client_.send(&run, 1);
    if (result.state == IoState::failed) break;
    wait_for(client_.fd(), POLLIN);
  }
  EXPECT_EQ(result.state, IoState::failed);
  EXPECT_TRUE(result.error == EPIPE || result.error == ECONNRESET) << result.error;
}

TEST_F(TcpTest, TriesTheNextEndpoint) {
  Endpoint dead = listener_.local();
  TcpListener other;
  ASSERT_EQ(other.open(endpoint("127.0.0.1:0")), 0);
  Endpoints endpoints;
  endpoints.items[endpoints.count++] = dead;
  endpoints.items[endpoints.count++] = other.local();
  listener_.close();
  EXPECT_EQ(connect(endpoints), ConnectState::connected);
  other.close();
}

TEST_F(TcpTest, SaysWhyNobodyAnswered) {
  Endpoints endpoints;
  endpoints.items[endpoints.count++] = listener_.local();
  listener_.close();
  EXPECT_EQ(connect(endpoints), ConnectState::failed);
  EXPECT_EQ(error_, ECONNREFUSED);
}

TEST_F(TcpTest, GivesUpAtTheDeadline) {
  // A listener whose queue is full does not answer.
  std::vector<TcpConnector> waiting(64);
  Endpoints endpoints;
  endpoints.items[endpoints.count++] = listener_.local();
  for (TcpConnector& connector : waiting) {
    connector.start(endpoints, now_ns(), 60000000000);
    connector.step(now_ns());
  }
  const uint64_t begin = now_ns();
  const ConnectState state = connect(endpoints, 100000000);
  EXPECT_EQ(state, ConnectState::failed);
  EXPECT_EQ(error_, ETIMEDOUT);
  EXPECT_LT(now_ns() - begin, 1000000000u);
  for (TcpConnector& connector : waiting) connector.cancel();
}

TEST_F(TcpTest, ListensOnIpv6) {
  TcpListener six;
  if (six.open(endpoint("[::1]:0")) != 0) GTEST_SKIP() << "no IPv6 here";
  Endpoints endpoints;
  endpoints.items[endpoints.count++] = six.local();
  EXPECT_EQ(connect(endpoints), ConnectState::connected);
  six.close();
}

TEST_F(TcpTest, APortInUseIsAnError) {
  TcpListener second;
  EXPECT_EQ(second.open(listener_.local()), EADDRINUSE);
}

}  // namespace
}  // namespace dumphook
