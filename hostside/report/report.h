// SPDX-License-Identifier: Apache-2.0
// Reports: one Comparison as a terminal table, JSON, CSV, or the lines of a vendor's tool. Each returns the whole text.
#pragma once

#include <string>

#include "compare/comparison.h"

namespace dumphook {

struct TableStyle {
  int width = 0;  // columns of the terminal; 0: as wide as the content
  bool colour = false;
  bool unmatched_allowed = false;  // tensors that only one side has are no hole
};

// Coverage, inputs, then one row per layer, a legend, first bad, worst, trend, counts, and the verdict over all.
// Control characters in names are shown as '?'.
std::string table_report(const Comparison& comparison, const TableStyle& style);

// The stable JSON, "format": 1, see JSON.md. Numbers that JSON does not have are the strings "inf", "-inf" and "nan"
// (undefined). first_bad, worst and trend.at are layer names or null.
std::string json_report(const Comparison& comparison, bool unmatched_allowed = false);

// A header line, then one line per row, quoted as RFC 4180 asks. Control characters are shown as '?'.
std::string csv_report(const Comparison& comparison);

// As SigmaStar's DumpDebug prints: `0) data MSE: 0.028521 COS: 0.990174 RMSE: 0.191048`, RMSE being the relative L1
// error. Numbered from 0 over the compared tensors, inputs first.
std::string sigmastar_report(const Comparison& comparison);

// What the table says around its rows, for the reports that are rows only: coverage, notes, counts, verdict.
// `only_measured`: the report leaves out rows without metrics, and this counts them.
std::string summary_report(const Comparison& comparison, bool unmatched_allowed, bool only_measured);

}  // namespace dumphook
