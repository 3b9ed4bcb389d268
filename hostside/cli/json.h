// SPDX-License-Identifier: Apache-2.0
// What the verbs' JSON has in common. Times in nanoseconds, hashes and uuids are strings; counts are numbers.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/output.h"
#include "decode/capture.h"
#include "decode/dtype.h"

namespace dumphook {

using Json = nlohmann::ordered_json;

// JSON knows no NaN and no infinities: "nan", "inf", "-inf".
inline Json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

inline Json json_losses(const LossCounts& lost) {
  Json object = Json::object();
  for (const auto& [reason, count] : lost) object[loss_reason_name(reason)] = count;
  return object;
}

inline Json json_ranges(const std::vector<SeqRange>& ranges) {
  Json list = Json::array();
  for (const SeqRange& range : ranges) list.push_back({range.first, range.last});
  return list;
}

inline Json json_quantization(const Quantization& quantization) {
  if (quantization.scale.empty()) return nullptr;
  Json object;
  object["axis"] = quantization.axis < 0 ? Json(nullptr) : Json(quantization.axis);
  object["scale"] = Json::array();
  for (const float scale : quantization.scale) object["scale"].push_back(json_number(static_cast<double>(scale)));
  object["zero_point"] =
      quantization.zero_point.empty() ? std::vector<int32_t>(quantization.scale.size(), 0) : quantization.zero_point;
  return object;
}

inline Json json_problem(const Problem& problem, const std::string& file) {
  static constexpr const char* kWords[] = {"note", "warning", "error"};
  return {{"severity", kWords[static_cast<size_t>(problem.severity)]},
          {"file", file},
          {"offset", problem.offset},
          {"what", problem.what},
          {"todo", problem.todo}};
}

// One line, or indented for people at a terminal. Bytes that are not UTF-8 are replaced.
inline void print_json(Output& out, const Json& object) {
  out.line(object.dump(out.is_terminal() ? 2 : -1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace dumphook
