// SPDX-License-Identifier: Apache-2.0
// How to pack values, from a look at some of them.
#pragma once

#include "base/bytes.h"
#include "wire/pack_kernels.h"

namespace dumphook {

constexpr unsigned kMaxPackLevels = 3;

struct PackPlan {
  bool masked = false;  // zeros are left out, and a mask says where they were
  unsigned level_count = 0;
  PackLevel levels[kMaxPackLevels] = {};
};

// What a value is to the codec: 2^width_log2 bytes, rotated left by `turn` before its top byte becomes its symbol.
struct PackShape {
  unsigned width_log2;
  unsigned turn;
  size_t width() const { return size_t{1} << width_log2; }
};

// Types of less than a byte, and those that are not known, are bytes.
PackShape pack_shape(uint32_t dtype);

constexpr size_t kPlanSampleValues = 2048;
constexpr size_t kPlanSampleBytes = 8192;

// What plan_packing works in. Its content does not matter and may change.
struct PlanScratch {
  uint8_t values[kPlanSampleBytes + kPackSlack];
  uint8_t other[kPlanSampleBytes + kPackSlack];
  uint8_t symbols[kPlanSampleValues];
  uint8_t mask[kPlanSampleValues / 8];
};

// Looks at a few runs of `raw`, evenly spread, and picks what should make all of it shortest.
PackPlan plan_packing(ConstBytes raw, PackShape shape, const PackKernels& kernels, PlanScratch* scratch);

}  // namespace dumphook
