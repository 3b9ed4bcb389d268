// SPDX-License-Identifier: Apache-2.0
// Pairs: which target tensor stands against which golden tensor, in execution order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "align/name_map.h"
#include "align/side.h"

namespace dumphook {

struct Pair {
  const SideTensor* target = nullptr;  // null: only the golden has it
  const SideTensor* golden = nullptr;  // null: only the target has it
  std::string note;                    // how the two were matched, where not by equal names
};

struct Alignment {
  std::shared_ptr<const Side> target, golden;  // own what the pairs point to
  std::vector<Pair> inputs;                    // roles input and preprocessed, on either side
  std::vector<Pair> layers;
  std::vector<std::string> notes;
};

// A target tensor is matched, in this order, by the map, by equal model and name, by the file that export makes of it
// (MODEL!NAME, or NAME), by equal name alone, by its origin names (the last one first: it is what a fused layer puts
// out); always with the same instance and occurrence. What the map sends to a golden that is not there stays unmatched.
// Equal names on a side are matched in order of appearance.
//
// Rows are in the target's order, or in the golden's where only that one knows the order of execution. What only the
// other side has follows the layer that it follows there. What neither has makes no row, unless the target should have
// it.
Alignment align(Side target, Side golden, const NameMap& map);

}  // namespace dumphook
