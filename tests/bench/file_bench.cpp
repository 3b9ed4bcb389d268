// SPDX-License-Identifier: Apache-2.0
// file_bench --quick | FOLDER: from tensors in memory to a closed file, by our runtime and by what it is measured
// against, in $BENCH_FOLDER (default /dev/shm, where no disk adds its noise). Times are those of the whole process;
// ours begin after dh_open, which takes all memory, and end after dh_close. `dumphook` has its worker on another core,
// `dumphook-one-thread` does all work on the thread that captures.
#include <benchmark/benchmark.h>
#include <dumphook/dumphook.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "corpus.h"
#include "file_writers.h"

namespace bench {
namespace {

constexpr size_t kModelBytes = 32 << 20;

// A folder of its own, empty.
class Folder {
 public:
  Folder() {
    const char* place = std::getenv("BENCH_FOLDER");
    std::string name = std::string(place != nullptr ? place : "/dev/shm") + "/dumphook_bench.XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  const std::string& path() const { return path_; }
  void clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove(entry.path());
  }
  double bytes() const {
    double all = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) all += static_cast<double>(entry.file_size());
    return all;
  }

 private:
  std::string path_;
};

dh_session* open_session(const std::string& file, uint32_t flags) {
  const std::string sink = "file:" + file;
  dh_options options = dh_options_default();
  options.sink = sink.c_str();
  options.include = "*";
  options.flags = flags;
  options.policy = DH_POLICY_BLOCK;
  options.block_timeout_ms = 10000;
  options.close_ms = 10000;
  options.sync = DH_SYNC_NEVER;  // as the others
  options.on_log = [](void*, dh_log_level, const char* text) { std::fprintf(stderr, "%s\n", text); };
  dh_session* session = nullptr;
  dh_open(&options, &session);
  return session;
}

bool capture_all(dh_session* session, const Tensors& tensors) {
  const dh_frame frame = dh_frame_begin(session, nullptr);
  bool ok = true;
  for (const Tensor& from : tensors) {
    dh_tensor tensor = dh_tensor_default();
    tensor.name = from.name.c_str();
    tensor.model = from.model.c_str();
    tensor.dtype = from.dtype;
    tensor.rank = 1;
    tensor.shape[0] = static_cast<int64_t>(from.bytes.size() / element_bytes(from.dtype));
    tensor.data = from.bytes.data();
    ok = dh_capture_by_name(session, frame, &tensor) == DH_OK && ok;
  }
  return dh_frame_end(session, frame) == DH_OK && ok;
}

void report(benchmark::State& state, const Tensors& tensors, const Folder& folder) {
  const auto raw = static_cast<double>(total_bytes(tensors));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(raw));
  state.counters["raw_bytes"] = raw;
  state.counters["file_bytes"] = folder.bytes();
}

void ours(benchmark::State& state, const Tensors& tensors, uint32_t flags) {
  const Folder folder;
  for (auto _ : state) {
    state.PauseTiming();
    folder.clear();
    dh_session* session = open_session(folder.path() + "/run.mcap", flags);
    state.ResumeTiming();
    const bool ok = session != nullptr && capture_all(session, tensors);
    if (dh_close(session) != DH_OK || !ok) state.SkipWithError("not all was captured");
  }
  report(state, tensors, folder);
}

void others(benchmark::State& state, const Tensors& tensors, const FileWriter& writer) {
  const Folder folder;
  for (auto _ : state) {
    state.PauseTiming();
    folder.clear();
    state.ResumeTiming();
    if (!writer.write(tensors, folder.path())) state.SkipWithError("not all was written");
  }
  report(state, tensors, folder);
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const Tensors corpus = corpus_of(argc, argv, kModelBytes);
  const struct {
    const char* name;
    Tensors tensors;
  } types[] = {{"f32", of_type(corpus, DH_F32)}, {"i8", of_type(corpus, DH_I8)}};
  const struct {
    const char* name;
    uint32_t flags;
  } kinds[] = {{"dumphook-raw", DH_FLAG_NO_COMPRESSION},
               {"dumphook-raw-one-thread", DH_FLAG_NO_COMPRESSION | DH_FLAG_NO_WORKER},
               {"dumphook", 0},
               {"dumphook-one-thread", DH_FLAG_NO_WORKER}};
  const auto add = [](const std::string& name, auto measure) {
    benchmark::RegisterBenchmark(name.c_str(), measure)->MeasureProcessCPUTime()->UseRealTime();
  };
  for (const auto& type : types) {
    const Tensors* tensors = &type.tensors;
    if (tensors->empty()) continue;
    const std::string prefix = std::string("file/") + type.name + "/";
    for (const auto& kind : kinds) {
      add(prefix + kind.name, [tensors, flags = kind.flags](auto& state) { ours(state, *tensors, flags); });
    }
    for (const FileWriter& writer : other_writers()) {
      if (writer.write == nullptr) continue;  // its plugin is not installed
      add(prefix + writer.name, [tensors, &writer](auto& state) { others(state, *tensors, writer); });
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv); }
