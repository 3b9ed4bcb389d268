// SPDX-License-Identifier: Apache-2.0
// codec_bench --quick | FOLDER: ratio and speed, encode and decode, of the codec of parts and of what it is measured
// against, on the corpus as float32, bfloat16, float16 (rounded from float32) and int8. First checks that every codec
// gives back what went in.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "codecs.h"
#include "corpus.h"
#include "dumphook/dumphook.h"

namespace bench {
namespace {

constexpr size_t kPartBytes = 1 << 20;
constexpr size_t kModelBytes = 8 << 20;

using dumphook::Bytes;
using dumphook::ConstBytes;

struct Part {
  ConstBytes raw;
  std::vector<uint8_t> encoded;
  uint8_t method;
};

// One type of element: its parts, as one codec has encoded them.
class Subject {
 public:
  Subject(const Tensors& tensors, const Codec& codec) : dtype_(tensors.front().dtype), codec_(codec) {
    for (const Tensor& tensor : tensors) {
      for (size_t at = 0; at < tensor.bytes.size(); at += kPartBytes) {
        const size_t bytes = std::min(kPartBytes, tensor.bytes.size() - at);
        parts_.push_back({tensor.span().from(at).first(bytes), {}, 0});
        raw_bytes_ += bytes;
      }
    }
    output_.resize(2 * kPartBytes);
  }

  // False when a part does not come back.
  bool prepare() {
    for (Part& part : parts_) {
      const size_t bytes = codec_.encode(dtype_, part.raw, {output_.data(), output_.size()}, &part.method);
      part.encoded.assign(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(bytes));
      encoded_bytes_ += bytes;
      std::fill_n(output_.begin(), part.raw.size, uint8_t{0xA5});
      const Bytes back(output_.data(), part.raw.size);
      if (!codec_.decode(dtype_, part.method, {part.encoded.data(), bytes}, back) ||
          memcmp(back.data, part.raw.data, part.raw.size) != 0) {
        return false;
      }
    }
    return true;
  }

  void encode(benchmark::State& state) {
    for (auto _ : state) {
      for (const Part& part : parts_) {
        uint8_t method = 0;
        codec_.encode(dtype_, part.raw, {output_.data(), output_.size()}, &method);
        benchmark::ClobberMemory();
      }
    }
    report(state);
  }
  void decode(benchmark::State& state) {
    for (auto _ : state) {
      for (const Part& part : parts_) {
        codec_.decode(dtype_, part.method, {part.encoded.data(), part.encoded.size()}, {output_.data(), part.raw.size});
        benchmark::ClobberMemory();
      }
    }
    report(state);
  }

 private:
  void report(benchmark::State& state) const {
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(raw_bytes_));
    state.counters["raw_bytes"] = static_cast<double>(raw_bytes_);
    state.counters["ratio"] = static_cast<double>(raw_bytes_) / static_cast<double>(encoded_bytes_);
  }

  uint32_t dtype_;
  const Codec& codec_;
  std::vector<Part> parts_;
  std::vector<uint8_t> output_;
  size_t raw_bytes_ = 0, encoded_bytes_ = 0;
};

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const Tensors corpus = corpus_of(argc, argv, kModelBytes);
  const struct {
    const char* name;
    Tensors tensors;
  } types[] = {{"f32", of_type(corpus, DH_F32)},
               {"bf16", rounded(corpus, DH_BF16)},
               {"f16", rounded(corpus, DH_F16)},
               {"i8", of_type(corpus, DH_I8)}};
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const auto& type : types) {
    if (type.tensors.empty()) continue;
    for (const Codec& codec : codecs()) {
      subjects.push_back(std::make_unique<Subject>(type.tensors, codec));
      Subject* subject = subjects.back().get();
      const std::string name = std::string(type.name) + "/" + codec.name;
      if (!subject->prepare()) {
        std::fprintf(stderr, "codec_bench: %s does not give back what went in\n", name.c_str());
        return 1;
      }
      benchmark::RegisterBenchmark(("encode/" + name).c_str(), [subject](auto& state) { subject->encode(state); });
      benchmark::RegisterBenchmark(("decode/" + name).c_str(), [subject](auto& state) { subject->decode(state); });
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::run(argc, argv); }
