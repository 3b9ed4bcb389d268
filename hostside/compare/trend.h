// SPDX-License-Identifier: Apache-2.0
// Trend: how the error develops over the layers, which decides where to look first.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace dumphook {

// One judged layer in execution order.
struct TrendPoint {
  double error;  // rel_euclidean; +inf where the target has NaN or Inf of its own
  bool failed;
};

struct Trend {
  enum class Kind { none, sudden, gradual, oscillating } kind = Kind::none;
  std::optional<size_t> at;  // index of the point to look at first
};
const char* name_of(Trend::Kind kind);

// none         no layer fails
// sudden       the first failing layer has at least 5 times the error of the worst of the three before it, or nothing
//              before it: something is wrong in that layer
// oscillating  not sudden, and the layers recover at least twice after failing: noise around the limit
// gradual      else: the error grew into the limit; `at` is the first layer past it
// Errors below 1e-6 count as 1e-6.
Trend find_trend(const std::vector<TrendPoint>& points);

}  // namespace dumphook
