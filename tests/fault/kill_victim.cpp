// SPDX-License-Identifier: Apache-2.0
// A pipeline that is about to be killed: kill_victim SINK LOG_FD FRAMES TENSORS [exit]. Says on LOG_FD, apart from the
// library, what it captured. FRAMES 0 = until killed; exit = ends without dh_close.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "dumphook/dumphook.h"
#include "known_tensors.h"

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  const int log_fd = std::atoi(argv[2]);
  const uint64_t frames = std::strtoull(argv[3], nullptr, 10);
  const auto tensors = static_cast<uint32_t>(std::atoi(argv[4]));
  dh_options options = dh_options_default();
  options.sink = argv[1];
  options.include = "*";
  dh_session* session = nullptr;
  if (dh_open(&options, &session) != DH_OK) return 3;
  dh_tap taps[kKnownTensors] = {};
  for (uint64_t f = 0; frames == 0 || f < frames; ++f) {
    const dh_frame frame = dh_frame_begin(session, nullptr);
    for (uint32_t t = 0; t < tensors && t < kKnownTensors; ++t) {
      const std::string bytes = known_content(t, f);
      const std::string name = "known" + std::to_string(t);
      dh_tensor tensor = dh_tensor_default();
      tensor.name = name.c_str();
      tensor.dtype = DH_U8;
      tensor.rank = 1;
      tensor.shape[0] = static_cast<int64_t>(bytes.size());
      tensor.data = bytes.data();
      if (dh_capture(session, &taps[t], frame, &tensor) != DH_OK) continue;
      timespec now = {};
      clock_gettime(CLOCK_MONOTONIC, &now);
      const Accepted accepted = {static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec),
                                 f, t, 0};
      if (write(log_fd, &accepted, sizeof accepted) != sizeof accepted) return 4;
    }
    dh_frame_end(session, frame);
    usleep(2000);
  }
  if (argc == 6) return 0;
  return dh_close(session) == DH_OK ? 0 : 5;
}
