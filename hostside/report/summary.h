// SPDX-License-Identifier: Apache-2.0
// What stands around the rows of a report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace dumphook {

// Both sides, what was judged, notes.
std::vector<std::string> coverage_lines(const Comparison& comparison, bool unmatched_allowed);

// "12 pass · 1 fail"; `word` may colour the state's name.
std::string counts_text(const Comparison& comparison, const std::function<std::string(State)>& word);

// pass, warn or fail, and the words for it.
Judgement verdict_over_all(const Comparison& comparison, bool unmatched_allowed);

}  // namespace dumphook
