// SPDX-License-Identifier: Apache-2.0
#include "session/handle.h"

#include "session/process.h"
#include "session/session.h"

namespace dumphook {
namespace {

Handle handles[Handle::kMaxSessions];  // zero: all free
std::atomic<uint32_t> next_handle{0};

}  // namespace

Handle* Handle::take() {
  const uint32_t start = next_handle.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kMaxSessions; ++i) {
    Handle& handle = handles[(start + i) % kMaxSessions];
    if (handle.taken_.exchange(true, std::memory_order_acquire)) continue;
    // Calls that were inside when the process forked are the parent's.
    for (Inside& stripe : handle.inside_) {
      if (handle.forks_ != fork_count()) stripe.calls.store(0, std::memory_order_relaxed);
    }
    handle.forks_ = fork_count();
    return &handle;
  }
  return nullptr;
}

Handle* Handle::of(dh_session* session) {
  const auto at = reinterpret_cast<uintptr_t>(session);
  const auto first = reinterpret_cast<uintptr_t>(&handles[0]);
  if (at < first || at >= first + sizeof handles || (at - first) % sizeof(Handle) != 0) return nullptr;
  return reinterpret_cast<Handle*>(session);
}

bool Handle::is_empty() const {
  for (const Inside& stripe : inside_) {
    if (stripe.calls.load(std::memory_order_seq_cst) != 0) return false;
  }
  return true;
}

Call::Call(dh_session* session) {
  Handle* handle = Handle::of(session);
  // Who goes on calling a closed session must not keep it from being freed.
  if (handle == nullptr || handle->session_.load(std::memory_order_relaxed) == nullptr) return;
  // Threads differ in where their stacks are.
  const uint64_t stack = reinterpret_cast<uintptr_t>(&handle) >> 14;
  inside_ = &handle->inside_[(stack * 0x9E3779B97F4A7C15u >> 32) % Handle::kStripes].calls;
  inside_->fetch_add(1, std::memory_order_seq_cst);
  Session* found = handle->session_.load(std::memory_order_seq_cst);
  if (found != nullptr && found->alive()) session_ = found;
}

Call::~Call() {
  if (inside_ != nullptr) inside_->fetch_sub(1, std::memory_order_release);
}

}  // namespace dumphook
