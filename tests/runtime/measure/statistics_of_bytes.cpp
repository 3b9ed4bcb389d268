// SPDX-License-Identifier: Apache-2.0
// statistics_of_bytes: reads lines `file<TAB>dtype<TAB>count<TAB>zero point or -<TAB>sample limit<TAB>piece units` from
// standard input, and prints one JSON object of the statistics of the file's bytes per line. They are fed in pieces of
// so many elements (bytes for four-bit types); 0 = at once. test_statistics.py drives it.
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "measure/statistics.h"

namespace {

using namespace dumphook;

std::string number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char text[32];
  snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void print(const TensorStatistics& s) {
  std::string histogram;
  for (uint32_t i = 0; i < s.histogram_size; ++i) {
    histogram += (i == 0 ? "" : ", ") + std::to_string(s.histogram[i]);
  }
  printf("{\"count\": %" PRIu64 ", \"sampled\": %" PRIu64
         ", \"min\": %s, \"max\": %s, \"mean\": %s, \"variance\": %s, ",
         s.count, s.sampled, number(s.min).c_str(), number(s.max).c_str(), number(s.mean).c_str(),
         number(s.variance).c_str());
  printf("\"nan\": %" PRIu64 ", \"pos_inf\": %" PRIu64 ", \"neg_inf\": %" PRIu64 ", \"zeros\": %" PRIu64
         ", \"saturated\": %" PRIu64 ", \"first_exponent\": %d, \"histogram\": [%s], ",
         s.nan, s.pos_inf, s.neg_inf, s.zeros, s.saturated, s.histogram_first_exponent, histogram.c_str());
  printf("\"constant\": %s, \"saturated_share\": %s}\n", is_constant(s) ? "true" : "false",
         number(saturated_share(s)).c_str());
}

}  // namespace

int main() {
  static StatisticsMeter meter;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    std::string path, dtype_text, count, zero_point_text, sample_limit, piece_units;
    std::getline(fields, path, '\t');
    fields >> dtype_text >> count >> zero_point_text >> sample_limit >> piece_units;
    uint32_t dtype = 0;
    std::ifstream file(path, std::ios::binary);
    if (!parse_dtype(dtype_text.c_str(), &dtype) || piece_units.empty() || !file) {
      fprintf(stderr, "statistics_of_bytes: cannot do: %s\n", line.c_str());
      return 1;
    }
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const int32_t zero_point = static_cast<int32_t>(atol(zero_point_text.c_str()));
    const size_t unit_bytes = dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8;
    const size_t piece_bytes = strtoul(piece_units.c_str(), nullptr, 10) * unit_bytes;
    meter.begin(dtype, strtoull(count.c_str(), nullptr, 10), zero_point_text == "-" ? nullptr : &zero_point,
                strtoull(sample_limit.c_str(), nullptr, 10));
    for (size_t at = 0; at < bytes.size();) {
      const size_t left = bytes.size() - at;
      const size_t step = piece_bytes == 0 || piece_bytes > left ? left : piece_bytes;
      meter.update(bytes.data() + at, step);
      at += step;
    }
    TensorStatistics statistics;
    meter.finish(&statistics);
    print(statistics);
  }
}
