// SPDX-License-Identifier: Apache-2.0
// After dh_open nothing is allocated, on no thread: malloc and its kin, and mmap, are this program's own and count.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "dumphook/dumphook.h"

namespace {
std::atomic<bool> armed{false};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> fails_at{0};  // which of them fails, from 1 on; 0 = none

// False: this one fails.
bool count() {
  if (!armed.load(std::memory_order_relaxed)) return true;
  if (allocations.fetch_add(1, std::memory_order_relaxed) + 1 != fails_at.load(std::memory_order_relaxed)) return true;
  errno = ENOMEM;
  return false;
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t align, size_t bytes);

__attribute__((visibility("default"))) void* malloc(size_t bytes) noexcept {
  return count() ? __libc_malloc(bytes) : nullptr;
}
__attribute__((visibility("default"))) void* calloc(size_t number, size_t bytes) noexcept {
  return count() ? __libc_calloc(number, bytes) : nullptr;
}
__attribute__((visibility("default"))) void* realloc(void* block, size_t bytes) noexcept {
  return count() ? __libc_realloc(block, bytes) : nullptr;
}
__attribute__((visibility("default"))) void* memalign(size_t align, size_t bytes) noexcept {
  return count() ? __libc_memalign(align, bytes) : nullptr;
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t align, size_t bytes) noexcept {
  return count() ? __libc_memalign(align, bytes) : nullptr;
}
__attribute__((visibility("default"))) int posix_memalign(void** block, size_t align, size_t bytes) noexcept {
  *block = count() ? __libc_memalign(align, bytes) : nullptr;
  return *block == nullptr ? ENOMEM : 0;
}
__attribute__((visibility("default"))) void* mmap(void* at, size_t bytes, int protection, int flags, int fd,
                                                  off_t offset) noexcept {
  if (!count()) return MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, fd, offset));
}
}

namespace {

struct Prepared {
  std::string name;
  std::vector<char> bytes;
  dh_tensor tensor;
};

// Names, strides, scales, planes, tensors that come new, that are too big, and that are not selected.
std::vector<Prepared> prepare() {
  static const float scale[64] = {1.0f};
  std::vector<Prepared> all(40);
  for (size_t i = 0; i < all.size(); ++i) {
    Prepared& one = all[i];
    one.name = (i % 7 == 6 ? "off" : "tensor") + std::to_string(i);
    one.bytes.assign(i == 9 ? 3 << 20 : 64 * (1 + 97 * i), static_cast<char>(i));
    one.tensor = dh_tensor_default();
    one.tensor.name = one.name.c_str();
    one.tensor.dtype = DH_U8;
    one.tensor.rank = 2;
    one.tensor.shape[0] = static_cast<int64_t>(one.bytes.size() / 64);
    one.tensor.shape[1] = i % 3 == 0 ? 32 : 64;
    one.tensor.strides[0] = 64;
    one.tensor.strides[1] = 1;
    one.tensor.data = one.bytes.data();
    if (i % 5 == 0)
      one.tensor.quant = {DH_QUANT_PER_AXIS, 1, static_cast<uint32_t>(one.tensor.shape[1]), 0, scale, nullptr};
  }
  return all;
}

// All that an app does between open and close, on this thread and another; returns what was allocated meanwhile.
uint64_t run(const std::string& sink, dh_counter_values* values) {
  dh_options options = dh_options_default();
  options.sink = sink.c_str();
  options.include = "*";
  options.exclude = "off*";
  options.raw_pool_bytes = 2 << 20;
  options.spool_bytes = 4 << 20;
  options.hello_ms = 20;
  options.window_ms = 20;
  options.chunk_bytes = 128 << 10;
  options.segment_bytes = sink.compare(0, 3, "tcp") == 0 ? 0 : 8 << 20;
  dh_session* session = nullptr;
  EXPECT_EQ(dh_open(&options, &session), DH_OK);
  std::vector<Prepared> prepared = prepare();
  dh_node nodes[50] = {};
  dh_model model = dh_model_default();
  model.name = "m";
  model.nodes = nodes;
  model.node_count = 50;
  const auto capture_frames = [&](int frames) {
    dh_tap taps[40] = {};
    for (int f = 0; f < frames; ++f) {
      const dh_frame frame = dh_frame_begin(session, nullptr);
      for (size_t i = 0; i < prepared.size(); ++i) dh_capture(session, &taps[i], frame, &prepared[i].tensor);
      dh_capture_by_name(session, frame, &prepared[0].tensor);
      dh_frame_end(session, frame);
      if (f % 8 < 4) dh_flush(session, 1000);
    }
  };
  std::atomic<int> phase{0};
  std::thread other([&] {
    phase = 1;
    while (phase != 2) {
    }
    capture_frames(100);
    phase = 3;
    while (phase != 4) {
    }
  });
  while (phase != 1) {
  }
  allocations = 0;
  armed = true;
  dh_declare_model(session, &model);
  dh_attr(session, nullptr, "key", "value");
  phase = 2;
  capture_frames(100);
  dh_configure(session, "exclude = off*, tensor3\n");
  capture_frames(50);
  while (phase != 3) {
  }
  dh_flush(session, 5000);
  dh_counters(session, values);
  dh_close(session);
  armed = false;
  phase = 4;
  other.join();
  return allocations;
}

TEST(Allocation, TheCounterCounts) {
  allocations = 0;
  armed = true;
  void* volatile block = malloc(10);
  free(block);
  delete new int(1);
  void* volatile pages = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  armed = false;
  munmap(pages, 4096);
  EXPECT_GE(allocations, 2u);
}

TEST(Allocation, NoneAfterOpen_WithAFile) {
  const std::string path = ::testing::TempDir() + "allocation_test_" + std::to_string(getpid()) + ".mcap";
  dh_counter_values values = {};
  values.struct_size = sizeof values;
  EXPECT_EQ(run(path, &values), 0u);
  EXPECT_GT(values.shipped, 1000u);
  EXPECT_GT(values.lost[DH_LOSS_POOL_FULL] + values.lost[DH_LOSS_TOO_BIG], 0u);
  std::printf("file: %llu captures, %llu allocations\n", static_cast<unsigned long long>(values.seen),
              static_cast<unsigned long long>(allocations.load()));
  for (int i = 0; i < 100; ++i) {
    char name[512];
    std::snprintf(name, sizeof name, "%.*s-%04d.mcap", static_cast<int>(path.size() - 5), path.c_str(), i);
    unlink(i == 0 ? path.c_str() : name);
  }
}

TEST(Allocation, NoneAfterOpen_WithASocket) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  ASSERT_EQ(listen(listener, 1), 0);
  std::thread reader([listener] {
    static char buffer[1 << 16];
    const int connection = accept(listener, nullptr, nullptr);
    while (read(connection, buffer, sizeof buffer) > 0) {
    }
    close(connection);
  });
  dh_counter_values values = {};
  values.struct_size = sizeof values;
  EXPECT_EQ(run("tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)), &values), 0u);
  EXPECT_GT(values.shipped, 1000u);
  std::printf("tcp: %llu captures, %llu allocations\n", static_cast<unsigned long long>(values.seen),
              static_cast<unsigned long long>(allocations.load()));
  reader.join();
  close(listener);
}

// The ladder: each allocation of dh_open fails once. No host name: glibc 2.36 crashes when it looks one up then.
TEST(Allocation, WhereverOneFails_OpenSaysSo_OrDoesWithout) {
  const std::string path = ::testing::TempDir() + "allocation_ladder_" + std::to_string(getpid()) + ".mcap";
  for (const std::string& sink : {path, std::string("tcp://127.0.0.1:9"), std::string("callback:")}) {
    uint64_t step = 1, refused = 0;
    for (bool reached = true; reached && step < 10000; ++step) {
      unlink(path.c_str());
      dh_options options = dh_options_default();
      options.sink = sink.c_str();
      options.include = "*";
      options.raw_pool_bytes = 2 << 20;
      options.close_ms = 1;
      options.on_bytes = [](void*, const void*, size_t bytes) { return static_cast<int64_t>(bytes); };
      char log[512] = "";
      options.on_log_user = log;
      options.on_log = [](void* to, dh_log_level, const char* text) {
        std::snprintf(static_cast<char*>(to), 512, "%s", text);
      };
      dh_session* session = nullptr;
      allocations = 0;
      fails_at = step;
      armed = true;
      const dh_status status = dh_open(&options, &session);
      armed = false;
      fails_at = 0;
      reached = allocations >= step;
      EXPECT_EQ(session == nullptr, status != DH_OK);
      if (status != DH_OK) {
        ++refused;
        EXPECT_LT(status, 0);
        EXPECT_STRNE(log, "") << dh_status_text(status);
        continue;
      }
      const std::vector<Prepared> prepared = prepare();
      const dh_frame frame = dh_frame_begin(session, nullptr);
      for (const Prepared& one : prepared) dh_capture_by_name(session, frame, &one.tensor);
      dh_frame_end(session, frame);
      dh_close(session);
    }
    EXPECT_GT(step, 2u) << sink;
    std::printf("%s: %llu allocations in dh_open, %llu of them refuse it when they fail\n", sink.c_str(),
                static_cast<unsigned long long>(step - 2), static_cast<unsigned long long>(refused));
  }
  unlink(path.c_str());
}

}  // namespace
