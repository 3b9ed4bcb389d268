// SPDX-License-Identifier: Apache-2.0
#include "compare/trend.h"

#include <algorithm>

namespace dumphook {

const char* name_of(Trend::Kind kind) {
  switch (kind) {
    case Trend::Kind::none: return "none";
    case Trend::Kind::sudden: return "sudden";
    case Trend::Kind::gradual: return "gradual";
    case Trend::Kind::oscillating: return "oscillating";
  }
  return "?";
}

Trend find_trend(const std::vector<TrendPoint>& points) {
  constexpr double kJump = 5, kFloor = 1e-6;
  constexpr size_t kBefore = 3, kRecoveries = 2;

  const auto first = std::find_if(points.begin(), points.end(), [](const TrendPoint& p) { return p.failed; });
  if (first == points.end()) return {};
  const size_t at = static_cast<size_t>(first - points.begin());

  double before = kFloor;
  for (size_t i = at - std::min(at, kBefore); i < at; ++i) before = std::max(before, points[i].error);
  if (at == 0 || first->error >= kJump * before) return {Trend::Kind::sudden, at};

  size_t recoveries = 0;
  for (size_t i = at + 1; i < points.size(); ++i) recoveries += points[i - 1].failed && !points[i].failed;
  return {recoveries >= kRecoveries ? Trend::Kind::oscillating : Trend::Kind::gradual, at};
}

}  // namespace dumphook
