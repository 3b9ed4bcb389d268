// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "decode/dtype.h"
#include "report/report.h"

namespace dumphook {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json dtype_or_null(std::optional<DType> dtype) { return dtype ? Json(dtype_name(*dtype)) : Json(nullptr); }

Json metrics_object(const Metrics& metrics) {
  Json object = Json::object();
  for (const MetricInfo& metric : kMetrics) object[std::string(metric.key)] = number(metrics.*metric.value);
  for (const CountInfo& count : kMetricCounts) object[std::string(count.key)] = metrics.*count.value;
  return object;
}

Json row(const LayerScore& score) {
  Json object{{"index", score.index},
              {"name", score.name},
              {"golden_name", or_null(score.golden_name)},
              {"op", score.op},
              {"dtype", {dtype_or_null(score.target_dtype), dtype_or_null(score.golden_dtype)}},
              {"shape", score.shape},
              {"metrics", score.metrics ? metrics_object(*score.metrics) : Json(nullptr)},
              {"verdict", name_of(score.verdict)},
              {"vendor_verdict", score.vendor_verdict ? Json(name_of(*score.vendor_verdict)) : Json(nullptr)},
              {"reason", score.reason}};
  if (score.text) object["text"] = {{"target", score.text->target}, {"golden", score.text->golden}};
  return object;
}

Json rows(const std::vector<LayerScore>& scores) {
  Json list = Json::array();
  for (const LayerScore& score : scores) list.push_back(row(score));
  return list;
}

Json side_object(const SideCoverage& side) {
  return {{"frame", or_null(side.frame)},     {"frame_state", side.frame_state},
          {"complete", side.complete()},      {"seen", side.seen},
          {"captured", side.captured},        {"declared", or_null(side.declared)},
          {"visible", or_null(side.visible)}, {"unconfirmed", side.unconfirmed},
          {"lost", Json(side.lost)}};
}

Json coverage_object(const Comparison& comparison, bool unmatched_allowed) {
  Json counts = Json::object(), only_target = Json::array(), only_golden = Json::array();
  for (const auto& [state, number_of] : comparison.counts) counts[name_of(state)] = number_of;
  for (const auto* list : {&comparison.inputs, &comparison.layers})
    for (const LayerScore& score : *list)
      if (score.verdict == State::unmatched)
        (score.golden_name.empty() ? only_target : only_golden).push_back(score.name);
  return {{"complete", !comparison.has_holes(unmatched_allowed)},
          {"rows", comparison.inputs.size() + comparison.layers.size()},
          {"judged", comparison.judged()},
          {"counts", counts},
          {"target", side_object(comparison.target_coverage)},
          {"golden", side_object(comparison.golden_coverage)},
          {"only_in_target", only_target},
          {"only_in_golden", only_golden}};
}

Json limits_list(const Limits& limits) {
  Json list = Json::array();
  for (const Limit& limit : limits.list)
    list.push_back({{"metric", std::string(limit.metric->key)},
                    {"outside", name_of(limit.outside)},
                    {"low", number(limit.low)},
                    {"high", number(limit.high)}});
  return list;
}

}  // namespace

std::string json_report(const Comparison& comparison, bool unmatched_allowed) {
  const auto layer_name = [&](std::optional<size_t> position) {
    return position ? Json(comparison.layers[*position].name) : Json(nullptr);
  };
  const Json report{{"format", 1},
                    {"target", comparison.target},
                    {"golden", comparison.golden},
                    {"preset", std::string(kPresetNames[static_cast<size_t>(comparison.limits.preset)])},
                    {"limits", limits_list(comparison.limits)},
                    {"coverage", coverage_object(comparison, unmatched_allowed)},
                    {"notes", comparison.notes},
                    {"inputs", rows(comparison.inputs)},
                    {"layers", rows(comparison.layers)},
                    {"first_bad", layer_name(comparison.first_bad)},
                    {"worst", layer_name(comparison.worst)},
                    {"trend", {{"kind", name_of(comparison.trend.kind)}, {"at", layer_name(comparison.trend.at)}}},
                    {"findings", Json::array()}};
  return report.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dumphook
