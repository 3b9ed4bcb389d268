// SPDX-License-Identifier: Apache-2.0
// Prints GB/s of the tensor's bytes: statistics of every type, the affordable sample, and memcpy beside them.
// With --quick: only checks that it runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "measure/statistics.h"

namespace dumphook {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

// Bytes of values as a layer has them: normal, about a quarter of them zero.
std::vector<uint8_t> activations(uint32_t dtype, size_t bytes) {
  std::vector<uint8_t> data(bytes);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  const size_t element_bytes = std::max<size_t>(1, dtype_bits(dtype) / 8);
  for (size_t at = 0; at + element_bytes <= bytes; at += element_bytes) {
    const float value = std::max(normal(random), -0.7f) + 0.7f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t element = static_cast<uint64_t>(value * 40);
    if (dtype == DH_F32) element = bits;
    if (dtype == DH_BF16) element = bits >> 16;
    if (dtype == DH_F16) element = bits < 0x38800000 ? 0 : (bits - 0x38000000) >> 13;
    if (dtype == DH_F64) {
      const double wide = static_cast<double>(value);
      memcpy(&element, &wide, sizeof element);
    }
    memcpy(data.data() + at, &element, element_bytes);
  }
  return data;
}

// Bytes a second, best of several rounds.
template <class Call>
double speed(size_t bytes, int rounds, Call call) {
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return static_cast<double>(bytes) / best;
}

void measure(StatisticsMeter& meter, uint32_t dtype, const std::vector<uint8_t>& data, uint64_t count, uint64_t limit) {
  meter.begin(dtype, count, nullptr, limit);
  for (size_t at = 0; at < data.size(); at += kPieceBytes) {
    meter.update(data.data() + at, std::min(kPieceBytes, data.size() - at));
  }
  TensorStatistics statistics;
  meter.finish(&statistics);
  volatile double sink = statistics.mean;
  (void)sink;
}

int run(bool quick) {
  static StatisticsMeter meter;
  const size_t sizes[] = {size_t{4} << 10, size_t{256} << 10, size_t{32} << 20};
  printf("%-8s %10s %12s %12s %12s %12s\n", "dtype", "bytes", "statistics", "all zero", "sample", "memcpy");
  for (const uint32_t dtype :
       {DH_F32, DH_F16, DH_BF16, DH_I8, DH_U8, DH_F8E4M3, DH_I4, DH_I16, DH_I32, DH_U32, DH_I64, DH_F64}) {
    for (const size_t bytes : sizes) {
      if (quick && bytes != sizes[0]) continue;
      const int rounds = quick ? 1 : bytes == sizes[2] ? 9 : 100;
      const std::vector<uint8_t> data = activations(dtype, bytes), zeros(bytes);
      std::vector<uint8_t> copied(bytes, 1);
      const uint64_t count = uint64_t{bytes} * 8 / dtype_bits(dtype);
      const uint64_t sample = affordable_sample(dtype, count);
      const double whole = speed(bytes, rounds, [&] { measure(meter, dtype, data, count, 0); });
      const double zero = speed(bytes, rounds, [&] { measure(meter, dtype, zeros, count, 0); });
      const double sampled = speed(bytes, rounds, [&] { measure(meter, dtype, data, count, sample); });
      const double copy = speed(bytes, rounds, [&] {
        memcpy(copied.data(), data.data(), bytes);
        __asm__ volatile("" : : "r"(copied.data()) : "memory");
      });
      printf("%-8s %10zu %12.2f %12.2f %12.2f %12.2f\n", dtype_name(dtype), bytes, whole / 1e9, zero / 1e9,
             sampled / 1e9, copy / 1e9);
    }
  }
  return 0;
}

}  // namespace
}  // namespace dumphook

int main(int argc, char** argv) { return dumphook::run(argc > 1 && strcmp(argv[1], "--quick") == 0); }
