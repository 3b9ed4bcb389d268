// SPDX-License-Identifier: Apache-2.0
#include "wire/pack_plan.h"

#include "base/dtype.h"

namespace dumphook {
namespace {

constexpr size_t kRunValues = 32;
// What a level must save of the bits that are left to be worth its time.
constexpr unsigned kWorthALevel = 32;

// How often each symbol was seen, two turns of the circle of symbols one after the other: what goes around the corner
// from 255 to 0 is in one piece.
struct Histogram {
  int16_t seen[512];
  unsigned total;
};

// Symbols below `seen[i]`'s: differences are the contents of windows.
struct RunningSums {
  int16_t below[512];
};

void sum_up(const Histogram& histogram, RunningSums* sums) {
  int sum = 0;
  for (unsigned i = 0; i < 256; ++i) {
    sums->below[i] = static_cast<int16_t>(sum);
    sum += histogram.seen[i];
  }
  for (unsigned i = 0; i < 256; ++i) sums->below[i + 256] = static_cast<int16_t>(sums->below[i] + sum);
}

// The 2^bits - 1 neighbours that were seen most often.
PackLevel best_window(const RunningSums& sums, unsigned bits, unsigned* seen) {
  const unsigned size = (1u << bits) - 1;
  int16_t in_window[256];
  int16_t most = 0;
  for (unsigned low = 0; low < 256; ++low) {
    const auto count = static_cast<int16_t>(sums.below[low + size] - sums.below[low]);
    in_window[low] = count;
    most = count > most ? count : most;
  }
  unsigned low = 0;
  while (in_window[low] != most) ++low;
  *seen = static_cast<unsigned>(most);
  return {static_cast<uint8_t>(low), static_cast<uint8_t>(bits)};
}

// What is left to the next level. The symbols up to half a turn above the window close up to it.
void escapes_of(const Histogram& from, PackLevel level, unsigned seen, Histogram* to) {
  const unsigned window = (1u << level.bits) - 1;
  memcpy(to->seen, from.seen + level.low + window, (128 - window) * sizeof *to->seen);
  memset(to->seen + 128 - window, 0, window * sizeof *to->seen);
  memcpy(to->seen + 128, from.seen + ((level.low + 128u) & 255), 128 * sizeof *to->seen);
  memcpy(to->seen + 256, to->seen, 256 * sizeof *to->seen);
  to->total = from.total - seen;
}

// Levels for symbols that are seen as in `histogram`, into plan->levels from `first` on. Returns the bits they take.
unsigned plan_one(const Histogram& histogram, unsigned first, PackPlan* plan) {
  RunningSums sums;
  sum_up(histogram, &sums);
  unsigned best = 8 * histogram.total - 8 * histogram.total / kWorthALevel;
  for (unsigned bits = 1; bits <= 7; ++bits) {
    if (bits * histogram.total >= best) break;
    unsigned seen = 0;
    const PackLevel level = best_window(sums, bits, &seen);
    const unsigned cost = bits * histogram.total + 8 * (histogram.total - seen);
    if (cost >= best) continue;
    best = cost;
    plan->levels[first] = level;
    plan->level_count = first + 1;
  }
  return best;
}

// The best two, and then a third.
void plan_levels(const Histogram& histogram, PackPlan* plan) {
  const unsigned total = histogram.total;
  unsigned best = plan_one(histogram, 0, plan);
  RunningSums sums;
  sum_up(histogram, &sums);
  Histogram left, left_of_best;
  for (unsigned bits = 1; bits <= 6; ++bits) {
    if (bits * total >= best) break;
    unsigned seen = 0;
    PackPlan two;
    two.levels[0] = best_window(sums, bits, &seen);
    if (seen == total) continue;
    escapes_of(histogram, two.levels[0], seen, &left);
    const unsigned cost = bits * total + plan_one(left, 1, &two);
    if (two.level_count < 2 || cost >= best - best / kWorthALevel) continue;
    best = cost;
    two.masked = plan->masked;
    *plan = two;
    left_of_best = left;
  }
  if (plan->level_count < 2) return;
  sum_up(left_of_best, &sums);
  unsigned seen = 0;
  (void)best_window(sums, plan->levels[1].bits, &seen);
  escapes_of(left_of_best, plan->levels[1], seen, &left);
  PackPlan three = *plan;
  const unsigned cost = plan_one(left, 2, &three);
  if (three.level_count == 3 && 8 * left.total - cost >= best / kWorthALevel) *plan = three;
}

}  // namespace

PackShape pack_shape(uint32_t dtype) {
  const uint32_t bits = dtype_bits(dtype);
  const bool is_float = dtype >= DH_F64 && dtype <= DH_F8E5M2;
  return {bits == 64 ? 3u : bits == 32 ? 2u : bits == 16 ? 1u : 0u, is_float ? 1u : 0u};
}

PackPlan plan_packing(ConstBytes raw, PackShape shape, const PackKernels& kernels, PlanScratch* scratch) {
  const size_t width = shape.width(), count = raw.size / width;
  const size_t max_values = kPlanSampleBytes / width < kPlanSampleValues ? kPlanSampleBytes / width : kPlanSampleValues;
  size_t taken = count;
  if (count <= max_values) {
    memcpy(scratch->values, raw.data, count * width);
  } else {
    const size_t runs = max_values / kRunValues, stride = (count - kRunValues) / (runs - 1);
    for (size_t run = 0; run < runs; ++run) {
      memcpy(scratch->values + run * kRunValues * width, raw.data + run * stride * width, kRunValues * width);
    }
    taken = runs * kRunValues;
  }

  PackPlan plan;
  uint8_t *values = scratch->values, *other = scratch->other;
  if (shape.width_log2 != 0) {
    const size_t nonzero = kernels.keep_nonzero[shape.width_log2](values, taken, scratch->mask, other);
    // A zero saves its bytes but for a bit or two of its symbol's code; the mask is a bit of each value, and some time.
    plan.masked = (taken - nonzero) * (8 * (width - 1) + 2) > taken + taken / 4;
    if (plan.masked) {
      taken = nonzero;
      values = scratch->other;
      other = scratch->values;
    }
  }
  kernels.split[shape.width_log2](values, taken, shape.turn, scratch->symbols, other);
  Histogram histogram;
  memset(histogram.seen, 0, sizeof histogram.seen);
  histogram.total = static_cast<unsigned>(taken);
  for (size_t i = 0; i < taken; ++i) ++histogram.seen[scratch->symbols[i]];
  memcpy(histogram.seen + 256, histogram.seen, 256 * sizeof *histogram.seen);
  plan_levels(histogram, &plan);
  return plan;
}

}  // namespace dumphook
