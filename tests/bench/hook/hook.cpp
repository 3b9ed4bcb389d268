// SPDX-License-Identifier: Apache-2.0
// What dh_capture costs the calling thread, beside a memcpy of the same bytes to cold memory that was touched before,
// by turns in one run. The source has just been written, as a layer's output has. The worker's share is done by
// dh_pump, outside the times. hook_bench [--quick]
#include <dumphook/dumphook.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void touch(std::vector<unsigned char>& source, unsigned round) {
  for (size_t i = 0; i < source.size(); i += 8) {
    const uint64_t value = (i + round) * 0x9E3779B97F4A7C15u;
    std::memcpy(source.data() + i, &value, sizeof value);
  }
}

constexpr size_t kRingBytes = 64u << 20;

dh_session* open_session() {
  dh_options options = dh_options_default();
  options.sink = "callback:";
  options.include = "*";
  options.exclude = "off";
  options.flags = DH_FLAG_NO_WORKER | DH_FLAG_NO_COMPRESSION;
  options.raw_pool_bytes = kRingBytes;
  options.spool_bytes = 32u << 20;
  options.on_bytes = [](void*, const void*, size_t bytes) { return static_cast<int64_t>(bytes); };
  dh_session* session = nullptr;
  dh_open(&options, &session);
  return session;
}

void drain(dh_session* session) {
  while (dh_pump(session, 1000000) == DH_OK) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;  // does it run?
  dh_session* session = open_session();
  if (session == nullptr) return 1;
  std::vector<unsigned char> ring(kRingBytes, 1);
  size_t ring_at = 0;
  static dh_tap tap = DH_TAP_INIT;
  std::printf("%10s %12s %12s %8s %14s\n", "bytes", "memcpy ns", "capture ns", "ratio", "capture-memcpy");
  for (const size_t bytes : {size_t{64}, size_t{4096}, size_t{16384}, size_t{65536}, size_t{262144}, size_t{1048576},
                             size_t{4194304}, size_t{8388608}}) {
    std::vector<unsigned char> source(bytes);
    std::vector<double> copies, captures, ratios;
    const int repeats = quick ? 3 : bytes >= 1048576 ? 60 : 400;
    for (int i = 0; i < repeats; ++i) {
      touch(source, static_cast<unsigned>(i));
      if (ring_at + bytes > ring.size()) ring_at = 0;
      const uint64_t a = now_ns();
      std::memcpy(ring.data() + ring_at, source.data(), bytes);
      const uint64_t b = now_ns();
      ring_at += (bytes + 63) / 64 * 64;

      dh_tensor tensor = dh_tensor_default();
      tensor.name = "layer";
      tensor.dtype = DH_U8;
      tensor.rank = 1;
      tensor.shape[0] = static_cast<int64_t>(bytes);
      tensor.data = source.data();
      const dh_frame frame = dh_frame_begin(session, nullptr);
      touch(source, static_cast<unsigned>(i) + 1);
      const uint64_t c = now_ns();
      const dh_status status = dh_capture(session, &tap, frame, &tensor);
      const uint64_t d = now_ns();
      dh_frame_end(session, frame);
      if (status != DH_OK) return 1;
      copies.push_back(static_cast<double>(b - a));
      captures.push_back(static_cast<double>(d - c));
      ratios.push_back(captures.back() / copies.back());
      drain(session);
    }
    const double copy = median(copies), capture = median(captures);
    std::printf("%10zu %12.0f %12.0f %8.2f %14.0f\n", bytes, copy, capture, median(ratios), capture - copy);
  }

  // A hook that is off.
  static dh_tap off = DH_TAP_INIT;
  unsigned char byte = 0;
  dh_tensor tensor = dh_tensor_default();
  tensor.name = "off";
  tensor.dtype = DH_U8;
  tensor.rank = 1;
  tensor.shape[0] = 1;
  tensor.data = &byte;
  dh_capture(session, &off, 0, &tensor);
  const int kCalls = quick ? 1000 : 100000000;
  const uint64_t begin = now_ns();
  for (int i = 0; i < kCalls; ++i) {
    if (dh_tap_on(&off)) dh_capture(session, &off, 0, &tensor);
    __asm__ volatile("" ::: "memory");
  }
  const uint64_t empty_begin = now_ns();
  for (int i = 0; i < kCalls; ++i) __asm__ volatile("" ::: "memory");
  const uint64_t end = now_ns();
  std::printf("hook that is off: %.2f ns (with the loop's own %.2f)\n",
              static_cast<double>(empty_begin - begin) / kCalls, static_cast<double>(end - empty_begin) / kCalls);
  return dh_close(session) == DH_OK ? 0 : 1;
}
