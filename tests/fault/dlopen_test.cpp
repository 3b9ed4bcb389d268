// SPDX-License-Identifier: Apache-2.0
// The shared library loaded and unloaded at run time, as a plugin does.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "dumphook/dumphook.h"

namespace {

size_t entries(const char* folder) {
  size_t count = 0;
  DIR* directory = opendir(folder);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

// Loads the library, captures some frames into a file, and unloads it.
void use(const std::string& path, bool close) {
  void* library = dlopen(DUMPHOOK_SHARED, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
#define LOAD(name) const auto name##_ = reinterpret_cast<decltype(&name)>(dlsym(library, #name))
  LOAD(dh_open);
  LOAD(dh_frame_begin);
  LOAD(dh_capture_by_name);
  LOAD(dh_frame_end);
  LOAD(dh_close);
#undef LOAD
  unlink(path.c_str());
  dh_options options = dh_options_default();
  options.sink = path.c_str();
  options.include = "*";
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open_(&options, &session), DH_OK);
  const std::string bytes(10000, 'x');
  dh_tensor tensor = dh_tensor_default();
  tensor.name = "t";
  tensor.dtype = DH_U8;
  tensor.rank = 1;
  tensor.shape[0] = 10000;
  tensor.data = bytes.data();
  for (int i = 0; i < 10; ++i) {
    const dh_frame frame = dh_frame_begin_(session, nullptr);
    EXPECT_EQ(dh_capture_by_name_(session, frame, &tensor), DH_OK);
    dh_frame_end_(session, frame);
  }
  if (close) {
    EXPECT_EQ(dh_close_(session), DH_OK);
  }
  EXPECT_EQ(dlclose(library), 0);
}

TEST(Dlopen, LoadedAndUnloadedManyTimes_LeavesNothingBehind) {
  const std::string path = ::testing::TempDir() + "dlopen_test_" + std::to_string(getpid()) + ".mcap";
  use(path, true);
  const size_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  for (int i = 0; i < 20; ++i) use(path, true);
  EXPECT_EQ(entries("/proc/self/fd"), files);
  EXPECT_EQ(entries("/proc/self/task"), threads);
  unlink(path.c_str());
}

TEST(Dlopen, UnloadedWhileItsWorkerRuns_TheProcessLives) {
  const std::string path = ::testing::TempDir() + "dlopen_open_" + std::to_string(getpid()) + ".mcap";
  use(path, false);
  usleep(400000);  // the worker writes its window meanwhile
  FILE* file = fopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  fseek(file, 0, SEEK_END);
  EXPECT_GT(ftell(file), 1000);
  fclose(file);
  unlink(path.c_str());
}

}  // namespace
