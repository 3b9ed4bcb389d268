// SPDX-License-Identifier: Apache-2.0
// A session on a "callback:" sink whose bytes the test keeps, and tensors whose content follows from their key.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dumphook/dumphook.h"
#include "read_stream.h"

// What the sink takes: all, nothing, or a little at a time.
class Collector {
 public:
  static int64_t on_bytes(void* self, const void* data, size_t bytes) {
    return static_cast<Collector*>(self)->take(static_cast<const char*>(data), bytes);
  }
  static void on_log(void* self, dh_log_level, const char* text) {
    auto* collector = static_cast<Collector*>(self);
    const std::lock_guard<std::mutex> lock(collector->mutex_);
    collector->log_ += std::string(text) + "\n";
  }

  std::string bytes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bytes_;
  }
  std::string log() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return log_;
  }

  std::atomic<bool> stalled{false};
  std::atomic<bool> broken{false};
  std::atomic<size_t> most_at_once{SIZE_MAX};
  std::atomic<uint32_t> sleep_us{0};

 private:
  int64_t take(const char* data, size_t bytes) {
    if (broken) return -1;
    if (stalled) return 0;
    if (sleep_us != 0) std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
    const size_t most = most_at_once;
    if (bytes > most) bytes = most;
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_.append(data, bytes);
    return static_cast<int64_t>(bytes);
  }

  std::mutex mutex_;
  std::string bytes_, log_;
};

inline dh_options callback_options(Collector* collector) {
  dh_options options = dh_options_default();
  options.sink = "callback:";
  options.include = "*";
  options.on_bytes = Collector::on_bytes;
  options.on_bytes_user = collector;
  options.on_log = Collector::on_log;
  options.on_log_user = collector;
  options.raw_pool_bytes = 1 << 20;
  options.spool_bytes = 1 << 20;
  options.block_bytes = 4096;
  options.part_bytes = 64 << 10;
  options.max_tensors = 64;
  return options;
}

// Bytes of tensor `name` in `frame`: half compresses, half does not.
inline std::string content(const std::string& name, uint64_t frame, size_t bytes) {
  std::string out(bytes, '\0');
  uint64_t state = std::hash<std::string>()(name) * 31 + frame + 1;
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) state = state * 6364136223846793005u + 1442695040888963407u;
    out[i] = (i / 512) % 2 == 0 ? static_cast<char>(frame + i / 64) : static_cast<char>(state >> (i % 8 * 8));
  }
  return out;
}

inline dh_tensor u8_tensor(const char* name, const std::string& bytes) {
  dh_tensor tensor = dh_tensor_default();
  tensor.name = name;
  tensor.dtype = DH_U8;
  tensor.rank = 1;
  tensor.shape[0] = static_cast<int64_t>(bytes.size());
  tensor.data = bytes.data();
  return tensor;
}

inline dh_frame begin_frame(dh_session* session, uint64_t number) {
  dh_frame_info info = dh_frame_info_default();
  info.number = number;
  info.number_given = 1;
  return dh_frame_begin(session, &info);
}

inline dh_counter_values counters_of(dh_session* session) {
  dh_counter_values values = {};
  values.struct_size = sizeof values;
  dh_counters(session, &values);
  return values;
}

inline uint64_t lost_sum(const dh_counter_values& values) {
  uint64_t sum = 0;
  for (const uint64_t lost : values.lost) sum += lost;
  return sum;
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

inline uint64_t now_ms() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

// Whether `condition` comes true within `ms`.
inline bool soon(const std::function<bool()>& condition, uint64_t ms = 5000) {
  for (const uint64_t until = now_ms() + ms; now_ms() < until;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}
