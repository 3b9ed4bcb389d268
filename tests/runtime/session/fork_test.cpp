// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "open_session.h"

namespace {

TEST(Fork, TheChildIsOff_TheParentUnharmed) {
  const std::string path = ::testing::TempDir() + "fork_test_" + std::to_string(getpid()) + ".mcap";
  dh_options options = dh_options_default();
  options.sink = path.c_str();
  options.include = "*";
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  dh_tap tap = DH_TAP_INIT;
  const std::string bytes = content("t", 1, 10000);
  const dh_tensor tensor = u8_tensor("t", bytes);
  const dh_frame open_frame = begin_frame(session, 0);
  ASSERT_EQ(dh_capture(session, &tap, open_frame, &tensor), DH_OK);

  for (int child = 0; child < 5; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      dh_counter_values values = {};
      values.struct_size = sizeof values;
      const bool off = dh_capture(session, &tap, open_frame, &tensor) == DH_SKIPPED && !dh_tap_on(&tap) &&
                       dh_frame_begin(session, nullptr) == 0 && dh_frame_end(session, open_frame) == DH_SKIPPED &&
                       dh_flush(session, 1000) == DH_ERR_CLOSED && dh_counters(session, &values) == DH_SKIPPED &&
                       dh_attr(session, nullptr, "k", "v") == DH_SKIPPED &&
                       dh_configure(session, "x") == DH_ERR_CLOSED && dh_close(session) == DH_ERR_CLOSED;
      // A child may have a session of its own.
      dh_options own = dh_options_default();
      const std::string own_path = path + std::to_string(child);
      own.sink = own_path.c_str();
      own.include = "*";
      own.flags = DH_FLAG_NO_WORKER;  // a sanitizer allows no threads here
      dh_session* mine = nullptr;
      const bool opened = dh_open(&own, &mine) == DH_OK && dh_close(mine) == DH_OK;
      _exit(off ? (opened ? 0 : 2) : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    unlink((path + std::to_string(child)).c_str());
  }

  EXPECT_EQ(dh_capture(session, &tap, open_frame, &tensor), DH_OK);
  EXPECT_EQ(dh_frame_end(session, open_frame), DH_OK);
  EXPECT_EQ(dh_close(session), DH_OK);
  const auto stream = test_reader::read_stream(test_reader::read_file(path));
  EXPECT_EQ(joined(stream.wrong), "");
  EXPECT_EQ(stream.tensors.size(), 2u);
  EXPECT_TRUE(stream.sealed);
  unlink(path.c_str());
}

}  // namespace
