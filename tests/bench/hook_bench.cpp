// SPDX-License-Identifier: Apache-2.0
// hook_bench [--quick]: what dh_capture costs the calling thread, beside a memcpy of the same bytes to memory that was
// touched before but is in no near cache, by turns. The sources have just been written, as layers' outputs have. The
// worker's share is done by dh_pump, outside the times. Counters are medians over the turns of one run:
//   memcpy_ns, capture_ns   of one tensor
//   ratio, extra_ns         capture / memcpy, capture - memcpy
#include <benchmark/benchmark.h>
#include <dumphook/dumphook.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

namespace bench {
namespace {

constexpr size_t kRingBytes = 64u << 20;
constexpr size_t kDrainBytes = 40u << 20;  // of the pool, so that its blocks have left the near caches, too
constexpr size_t kBlockBytes = 16u << 10;
constexpr size_t kTaps = 32;

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

dh_session* open_session() {
  dh_options options = dh_options_default();
  options.sink = "callback:";
  options.include = "*";
  options.exclude = "off";
  options.flags = DH_FLAG_NO_WORKER | DH_FLAG_NO_COMPRESSION;
  options.raw_pool_bytes = kRingBytes;
  options.spool_bytes = 32u << 20;
  options.block_bytes = kBlockBytes;
  options.on_bytes = [](void*, const void*, size_t bytes) { return static_cast<int64_t>(bytes); };
  dh_session* session = nullptr;
  dh_open(&options, &session);
  return session;
}

dh_tensor describe(const char* name, const std::vector<unsigned char>& bytes) {
  dh_tensor tensor = dh_tensor_default();
  tensor.name = name;
  tensor.dtype = DH_U8;
  tensor.rank = 4;
  for (uint32_t i = 0; i < 3; ++i) tensor.shape[i] = 1;
  tensor.shape[3] = static_cast<int64_t>(bytes.size());
  tensor.data = bytes.data();
  return tensor;
}

// Layers of one size, captured one after the other, then copied one after the other.
class Layers {
 public:
  Layers(dh_session* session, size_t bytes, bool by_name) : session_(session), by_name_(by_name), ring_(kRingBytes, 1) {
    sources_.resize(bytes <= 16384 ? kTaps : 1, std::vector<unsigned char>(bytes));
    for (size_t i = 0; i < sources_.size(); ++i) names_.push_back("backbone/layer_" + std::to_string(i));
    for (size_t i = 0; i < sources_.size(); ++i) tensors_.push_back(describe(names_[i].c_str(), sources_[i]));
    taps_.resize(sources_.size());
    frame_ = dh_frame_begin(session_, nullptr);
  }
  ~Layers() { drain(); }

  double copy() {
    touch();
    const double begin = now_ns();
    for (const auto& source : sources_) {
      if (ring_at_ + source.size() > ring_.size()) ring_at_ = 0;
      std::memcpy(ring_.data() + ring_at_, source.data(), source.size());
      ring_at_ += std::max(source.size(), kBlockBytes);
    }
    benchmark::ClobberMemory();
    return (now_ns() - begin) / static_cast<double>(sources_.size());
  }

  // Below zero when something was not captured.
  double capture() {
    touch();
    bool ok = true;
    const double begin = now_ns();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const dh_status status = by_name_ ? dh_capture_by_name(session_, frame_, &tensors_[i])
                                        : dh_capture(session_, &taps_[i], frame_, &tensors_[i]);
      ok = ok && status == DH_OK;
    }
    const double spent = (now_ns() - begin) / static_cast<double>(tensors_.size());
    pool_bytes_ += tensors_.size() * std::max(sources_.front().size(), kBlockBytes);
    if (pool_bytes_ > kDrainBytes) {
      drain();
      frame_ = dh_frame_begin(session_, nullptr);
    }
    return ok ? spent : -1;
  }

 private:
  void touch() {
    ++round_;
    for (auto& source : sources_) {
      for (size_t i = 0; i < source.size(); i += 8) {
        const uint64_t value = (i + round_) * 0x9E3779B97F4A7C15u;
        std::memcpy(source.data() + i, &value, sizeof value);
      }
    }
  }
  void drain() {
    dh_frame_end(session_, frame_);
    while (dh_pump(session_, 1000000) == DH_OK) {
    }
    pool_bytes_ = 0;
  }

  dh_session* session_;
  bool by_name_;
  dh_frame frame_ = 0;
  std::vector<std::vector<unsigned char>> sources_;
  std::vector<std::string> names_;
  std::vector<dh_tensor> tensors_;
  std::vector<dh_tap> taps_;
  std::vector<unsigned char> ring_;
  size_t ring_at_ = 0, pool_bytes_ = 0;
  uint64_t round_ = 0;
};

void capture(benchmark::State& state, size_t bytes, bool by_name) {
  dh_session* session = open_session();
  {
    Layers layers(session, bytes, by_name);
    std::vector<double> copies, captures, ratios, extras;
    layers.capture();  // the names are new
    for (auto _ : state) {
      copies.push_back(layers.copy());
      captures.push_back(layers.capture());
      if (captures.back() < 0) {
        state.SkipWithError("a tensor was not captured");
        break;
      }
      state.SetIterationTime(captures.back() * 1e-9);
      ratios.push_back(captures.back() / copies.back());
      extras.push_back(captures.back() - copies.back());
    }
    state.counters["bytes"] = static_cast<double>(bytes);
    state.counters["memcpy_ns"] = median(copies);
    state.counters["capture_ns"] = median(captures);
    state.counters["ratio"] = median(ratios);
    state.counters["extra_ns"] = median(extras);
  }
  if (dh_close(session) != DH_OK) state.SkipWithError("dh_close");
}

// A hook that is off: what it adds to a loop that is empty but for it.
template <bool kByName, bool kHooked>
void off(benchmark::State& state) {
  dh_session* session = open_session();
  static dh_tap tap = DH_TAP_INIT;
  const std::vector<unsigned char> byte(1);
  const dh_tensor tensor = describe("off", byte);
  dh_capture(session, &tap, 0, &tensor);
  for (auto _ : state) {
    if (kHooked && kByName) dh_capture_by_name(session, 0, &tensor);
    if (kHooked && !kByName && dh_tap_on(&tap)) dh_capture(session, &tap, 0, &tensor);
    benchmark::ClobberMemory();
  }
  if (dh_close(session) != DH_OK) state.SkipWithError("dh_close");
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const auto add = [quick](const std::string& name, size_t bytes, bool by_name) {
    const int64_t turns =
        quick ? 2 : std::max<int64_t>(24, std::min<int64_t>(1500, int64_t{96 << 20} / static_cast<int64_t>(bytes)));
    benchmark::RegisterBenchmark((name + "/" + std::to_string(bytes)).c_str(),
                                 [bytes, by_name](auto& state) { capture(state, bytes, by_name); })
        ->UseManualTime()
        ->Iterations(turns);
  };
  for (const size_t bytes : {64u, 4u << 10, 16u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20, 8u << 20})
    add("capture", bytes, false);
  add("capture_by_name", 64, true);
  benchmark::RegisterBenchmark("off/nothing", off<false, false>);
  benchmark::RegisterBenchmark("off/tap", off<false, true>);
  benchmark::RegisterBenchmark("off/by_name", off<true, true>);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv); }
