// SPDX-License-Identifier: Apache-2.0
// Reports of one line per row: CSV and the vendors' tools.
#include <fmt/format.h>

#include "decode/dtype.h"
#include "report/report.h"
#include "report/words.h"

namespace dumphook {
namespace {

std::string quoted(const std::string& untrusted_field) {
  const std::string field = printable(untrusted_field);
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string result = "\"";
  for (char c : field) result.append(c == '"' ? 2 : 1, c);
  return result + '"';
}

std::string csv_line(const LayerScore& score, bool is_input) {
  std::string line = fmt::format("{},{},{},{},{},{},{},{}", score.index, is_input ? "input" : "layer", quoted(score.op),
                                 quoted(score.name), quoted(score.golden_name),
                                 score.target_dtype ? dtype_name(*score.target_dtype) : "",
                                 score.golden_dtype ? dtype_name(*score.golden_dtype) : "", shape_text(score.shape));
  for (const MetricInfo& metric : kMetrics)
    line += score.metrics ? fmt::format(",{}", (*score.metrics).*metric.value) : ",";
  for (const CountInfo& count : kMetricCounts)
    line += score.metrics ? fmt::format(",{}", (*score.metrics).*count.value) : ",";
  return line + fmt::format(",{},{},{}\n", name_of(score.verdict),
                            score.vendor_verdict ? name_of(*score.vendor_verdict) : "", quoted(score.reason));
}

}  // namespace

std::string csv_report(const Comparison& comparison) {
  std::string text = "index,kind,op,name,golden_name,target_dtype,golden_dtype,shape";
  for (const MetricInfo& metric : kMetrics) text += fmt::format(",{}", metric.key);
  for (const CountInfo& count : kMetricCounts) text += fmt::format(",{}", count.key);
  text += ",verdict,vendor_verdict,reason\n";
  for (const LayerScore& score : comparison.inputs) text += csv_line(score, true);
  for (const LayerScore& score : comparison.layers) text += csv_line(score, false);
  return text;
}

std::string sigmastar_report(const Comparison& comparison) {
  std::string text;
  size_t number = 0;
  for (const auto* scores : {&comparison.inputs, &comparison.layers})
    for (const LayerScore& score : *scores)
      if (score.metrics)
        text += fmt::format("{}) {} MSE: {:.6f} COS: {:.6f} RMSE: {:.6f}\n", number++, printable(score.name),
                            score.metrics->mse, sigmastar_cosine(*score.metrics), score.metrics->rel_l1);
  return text;
}

}  // namespace dumphook
