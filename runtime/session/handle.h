// SPDX-License-Identifier: Apache-2.0
// Handle: what a dh_session* points to. Handles are never freed, so that a call on a session that is closed, or is
// being closed at this moment, finds that out instead of touching memory that is gone. A closed session's handle is
// used again only after all others.
//
// A call counts itself in, then looks at the session; closing takes the session away, then looks at the counts. All
// four steps are sequentially consistent, so either the call sees that the session is gone or closing sees the call.
#pragma once

#include <atomic>
#include <cstdint>

#include "dumphook/dumphook.h"

namespace dumphook {

class Session;

class Handle {
 public:
  static constexpr uint32_t kMaxSessions = 32;

  // One that is free, until give_back(). NULL when that many are open.
  static Handle* take();
  // NULL when `session` is not one.
  static Handle* of(dh_session* session);
  dh_session* as_session() { return reinterpret_cast<dh_session*>(this); }

  void open(Session* session) { session_.store(session, std::memory_order_seq_cst); }
  // No new call gets in. NULL when somebody else has closed it.
  Session* close() { return session_.exchange(nullptr, std::memory_order_seq_cst); }
  // After close(): nobody is inside any more.
  bool is_empty() const;
  void give_back() { taken_.store(false, std::memory_order_release); }

 private:
  friend class Call;
  // Threads that capture at the same time should not fight for one counter.
  static constexpr uint32_t kStripes = 4;
  struct alignas(64) Inside {
    std::atomic<uint32_t> calls;
  };
  Inside inside_[kStripes];
  std::atomic<Session*> session_;
  std::atomic<uint32_t> taken_;
  uint32_t forks_;  // when it was taken last
};

// One call of the API, as long as it lives.
class Call {
 public:
  explicit Call(dh_session* session);
  ~Call();
  Call(const Call&) = delete;
  // NULL: there is no session, it is closed, or it belongs to the parent process.
  Session* session() const { return session_; }

 private:
  std::atomic<uint32_t>* inside_ = nullptr;
  Session* session_ = nullptr;
};

}  // namespace dumphook
