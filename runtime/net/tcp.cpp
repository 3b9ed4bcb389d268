// SPDX-License-Identifier: Apache-2.0
#include "net/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dumphook {
namespace {

// Non-blocking and close-on-exec in two steps: SOCK_NONBLOCK and accept4 are not everywhere.
bool prepare(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int make_socket(const Endpoint& endpoint) {
  const int fd = socket(endpoint.storage.ss_family, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  if (!prepare(fd)) {
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

void set_int(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); }

// The outcome of a non-blocking connect: 0, an errno, or EINPROGRESS.
int connect_outcome(int fd) {
  pollfd waiting = {};
  waiting.fd = fd;
  waiting.events = POLLOUT;
  const int ready = poll(&waiting, 1, 0);
  if (ready < 0 && errno != EINTR) return errno;
  if (ready <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t bytes = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

IoResult failed(int error) {
  IoResult result;
  result.error = error;
  const bool later = error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS;
  result.state = later ? IoState::later : IoState::failed;
  return result;
}

}  // namespace

void TcpSocket::adopt(int fd) {
  close();
  fd_ = fd;
  prepare(fd);
  set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  // A silent peer is noticed within half a minute, also while it owes us acknowledgements.
  set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
  set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

IoResult TcpSocket::send(const iovec* runs, int count) {
  if (count <= 0) return {};
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(runs);
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count < kMostRuns ? count : kMostRuns);
  ssize_t sent;
  do {
    sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return failed(errno);
  IoResult result;
  result.bytes = static_cast<size_t>(sent);
  result.state = sent > 0 ? IoState::moved : IoState::later;
  return result;
}

IoResult TcpSocket::receive(Bytes into) {
  ssize_t got;
  do {
    got = recv(fd_, into.data, into.size, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return failed(errno);
  IoResult result;
  result.bytes = static_cast<size_t>(got);
  result.state = got > 0 ? IoState::moved : IoState::closed;
  return result;
}

void TcpSocket::shutdown_write() {
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

void TcpSocket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void TcpConnector::start(const Endpoints& endpoints, uint64_t now_ns, uint64_t timeout_ns) {
  cancel();
  endpoints_ = &endpoints;
  next_ = 0;
  error_ = 0;
  deadline_ns_ = now_ns + timeout_ns;
  state_ = ConnectState::connecting;
}

ConnectState TcpConnector::step(uint64_t now_ns) {
  while (state_ == ConnectState::connecting) {
    if (fd_ >= 0) {
      const int outcome = connect_outcome(fd_);
      if (outcome == 0) {
        state_ = ConnectState::connected;
        break;
      }
      if (outcome == EINPROGRESS && now_ns < try_deadline_ns_) break;
      error_ = outcome == EINPROGRESS ? ETIMEDOUT : outcome;
      ::close(fd_);
      fd_ = -1;
    }
    if (next_ == endpoints_->count || (next_ > 0 && now_ns >= deadline_ns_)) {
      state_ = ConnectState::failed;
      break;
    }
    const uint64_t left = now_ns < deadline_ns_ ? deadline_ns_ - now_ns : 0;
    try_deadline_ns_ = now_ns + left / (endpoints_->count - next_);
    const Endpoint& endpoint = endpoints_->items[next_++];
    fd_ = make_socket(endpoint);
    if (fd_ < 0) {
      error_ = errno;
      continue;
    }
    // An interrupted connect goes on by itself, as EINPROGRESS does.
    if (connect(fd_, endpoint.get(), endpoint.bytes) == 0 || errno == EINPROGRESS || errno == EINTR) continue;
    error_ = errno;
    ::close(fd_);
    fd_ = -1;
  }
  return state_;
}

int TcpConnector::take() {
  const int fd = fd_;
  fd_ = -1;
  state_ = ConnectState::idle;
  return fd;
}

void TcpConnector::cancel() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  state_ = ConnectState::idle;
}

int TcpListener::open(const Endpoint& endpoint) {
  close();
  fd_ = make_socket(endpoint);
  if (fd_ < 0) return errno;
  set_int(fd_, SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd_, endpoint.get(), endpoint.bytes) == 0 && listen(fd_, 16) == 0) return 0;
  const int error = errno;
  close();
  return error;
}

int TcpListener::accept(Endpoint* peer, int* error) {
  *error = 0;
  peer->bytes = sizeof peer->storage;
  int fd;
  do {
    fd = ::accept(fd_, peer->get(), &peer->bytes);
  } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (fd < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK) *error = errno;
    return -1;
  }
  prepare(fd);
  return fd;
}

Endpoint TcpListener::local() const {
  Endpoint endpoint;
  endpoint.bytes = sizeof endpoint.storage;
  if (getsockname(fd_, endpoint.get(), &endpoint.bytes) != 0) endpoint.bytes = 0;
  return endpoint;
}

void TcpListener::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace dumphook
