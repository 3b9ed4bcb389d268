// SPDX-License-Identifier: Apache-2.0
// The app's process around a session: forks, signals that writing sends, the niceness of threads.
#pragma once

#include <signal.h>

#include <cstdint>

namespace dumphook {

// From now on fork_count() tells a forked child, which inherits sessions whose worker and connection are the parent's,
// from its parent. False when there is no memory for that.
bool watch_forks();
uint32_t fork_count();

// Writing to a pipe that nobody reads, or beyond the file size limit, sends a signal that kills the app. The worker has
// all signals blocked; on a thread of the app these two are held back, and forgotten if they came.
class WriteSignalsHeldBack {
 public:
  WriteSignalsHeldBack();
  ~WriteSignalsHeldBack();
  WriteSignalsHeldBack(const WriteSignalsHeldBack&) = delete;

 private:
  sigset_t ours_;
  sigset_t before_;
};

// To the calling thread's own. False when the system refuses.
bool add_niceness(int added);

}  // namespace dumphook
