// SPDX-License-Identifier: Apache-2.0
// metrics_of_npy: reads lines `target.npy<TAB>golden.npy` from standard input and prints one JSON object of metrics per
// line. The oracle beside it drives it. Not finite numbers are the strings "inf", "-inf" and "nan".
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "compare/metrics.h"
#include "decode/npy.h"
#include "decode/real_values.h"

namespace {

using namespace dumphook;

std::vector<double> values_of(const std::string& path) {
  const Expected<Tensor> tensor = read_npy(path);
  if (!tensor) throw std::runtime_error(path + ": " + tensor.error().what);
  return real_values(*tensor);
}

nlohmann::json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const size_t tab = line.find('\t');
    const auto target = values_of(line.substr(0, tab)), golden = values_of(line.substr(tab + 1));
    if (target.size() != golden.size()) throw std::runtime_error(line + ": sizes differ");
    const Metrics metrics = measure(target.data(), golden.data(), golden.size());
    nlohmann::json object;
    for (const MetricInfo& metric : kMetrics) object[std::string(metric.key)] = number(metrics.*metric.value);
    for (const CountInfo& count : kMetricCounts) object[std::string(count.key)] = metrics.*count.value;
    std::cout << object.dump() << "\n";
  }
}
