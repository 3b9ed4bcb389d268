// SPDX-License-Identifier: Apache-2.0
#include "sink/transport.h"

#include <errno.h>

#include <cstdio>

namespace dumphook {

void TcpTransport::open(const Endpoints& endpoints, const char* name) {
  endpoints_ = endpoints;
  snprintf(name_, sizeof name_, "%s", name);
}

void TcpTransport::connect(uint64_t now_ns, uint64_t timeout_ns) {
  close();
  connector_.start(endpoints_, now_ns, timeout_ns);
}

ConnectState TcpTransport::connect_step(uint64_t now_ns) {
  const ConnectState state = connector_.step(now_ns);
  if (state == ConnectState::connected) socket_.adopt(connector_.take());
  return state;
}

void TcpTransport::close() {
  connector_.cancel();
  socket_.close();
}

void CallbackTransport::open(Callback callback, void* user) {
  callback_ = callback;
  user_ = user;
}

IoResult CallbackTransport::send(const iovec* runs, int count) {
  IoResult result;
  for (int i = 0; i < count; ++i) {
    const int64_t taken = callback_(user_, runs[i].iov_base, runs[i].iov_len);
    if (taken < 0 || static_cast<uint64_t>(taken) > runs[i].iov_len) {
      result.state = IoState::failed;
      result.error = ECANCELED;
      return result;
    }
    result.bytes += static_cast<size_t>(taken);
    if (static_cast<size_t>(taken) < runs[i].iov_len) break;
  }
  result.state = result.bytes != 0 ? IoState::moved : IoState::later;
  return result;
}

}  // namespace dumphook
