// SPDX-License-Identifier: Apache-2.0
// Statistics of a tensor's stored values, as in table Statistics of schemas/tensor.fbs: range, moments, counts of
// special elements, and a histogram of magnitudes. Nothing is dequantised; one zero point may be given for the count of
// zeros.
//
//     meter.begin(dtype, count, zero_point);
//     meter.update(data, bytes);               as often as there are pieces
//     meter.finish(&statistics);
//
// Precision. Counts are exact. min and max are exact but for 64-bit integers, which are rounded to double (53 bits)
// first, as NumPy's astype(float64) does. mean and variance are those of NumPy in float64 to 1e-12 relative, the mean
// relative to the larger of itself and the standard deviation; for f64 and 64-bit integers as far as double carries.
// f64 that overflows when squared gives an infinite variance.
#pragma once

#include "dumphook/dumphook.h"
#include "measure/block_sums.h"

namespace dumphook {

constexpr uint32_t kHistogramBuckets = 64;

// Of the elements looked at, over the finite ones where not said otherwise. With no finite element, and for DH_RAW, of
// which only `count` is known, all numbers are 0.
struct TensorStatistics {
  uint64_t count = 0;    // all elements, as begin() was told
  uint64_t sampled = 0;  // elements looked at
  double min = 0, max = 0, mean = 0, variance = 0;
  uint64_t nan = 0, pos_inf = 0, neg_inf = 0;
  uint64_t zeros = 0;  // 0 and -0; for integers with a zero point, equal to that
  // At a limit of the type: the least or greatest integer, the greatest finite magnitude of either sign of a
  // floating-point type (f8e4m3 448, f8e5m2 57344, f16 65504). Never for bool.
  uint64_t saturated = 0;
  // Integers whose zero is itself a limit, as a quantised ReLU's: then `zeros` of the saturated ones mean nothing.
  bool zero_is_limit = false;
  // histogram[i] counts finite elements with 2^(first + i) <= |x| < 2^(first + i + 1), from the first bucket that has
  // any to the last. Floating-point exponents go from -32 to 31: what is smaller, and not zero, counts under -32, what
  // is greater under 31 (f32, bf16, f64 only). Integers have 0 to 63.
  int32_t histogram_first_exponent = 0;
  uint32_t histogram_size = 0;
  uint64_t histogram[kHistogramBuckets] = {};
};

// ---- What triggers ask

inline bool any_not_finite(const TensorStatistics& s) { return (s.nan | s.pos_inf | s.neg_inf) != 0; }

// All elements are the same, none is NaN. A single element is constant, an empty tensor is not.
bool is_constant(const TensorStatistics& statistics);

// Saturated elements of those looked at, 0 ... 1; without those that are at a limit only because they are zero.
double saturated_share(const TensorStatistics& statistics);

// Any element is below `low` or above `high`, infinities included. NaN is in no range and outside none.
bool exceeds(const TensorStatistics& statistics, double low, double high);

// ---- Sampling

// A sample_limit for begin() with which a tensor takes no longer than copying it does: one element in 128 bytes, but
// 256 if there are so many. A tensor has a cost of its own, under a microsecond or two, that small ones do not earn
// back.
uint64_t affordable_sample(uint32_t dtype, uint64_t count);

// Makes the statistics of one tensor after another. 9 KiB itself and 3 KiB of stack; no thread may share it.
class StatisticsMeter {
 public:
  // A tensor of `count` elements (DH_RAW: bytes; an unknown dtype is treated as that). `zero_point` may be NULL and is
  // of use for integers only. With a sample_limit other than 0 every k-th element is looked at, beginning with the
  // first, k being the least odd number that keeps to the limit: odd, since channels are even. Of four-bit types it is
  // every k-th byte.
  void begin(uint32_t dtype, uint64_t count, const int32_t* zero_point = nullptr, uint64_t sample_limit = 0);

  // The next dense little-endian bytes: whole elements, at any address; whole bytes for four-bit types, where the last
  // byte may be half used. What exceeds `count` is ignored. Any cut gives the same statistics, bit for bit.
  void update(const void* data, size_t bytes);

  // Of all elements so far; when some did not come, sampled is smaller than it would have been. Then begin() again.
  void finish(TensorStatistics* out);

 private:
  // How elements become numbers: by a table of bytes, by blocks of floats, or by blocks of their own type.
  enum class Family : uint8_t { kRaw, kBytes, kNibbles, kHalves, kF32, kF64, kInts, kLongs, kUnsignedLongs };
  struct Type;
  // A sum of doubles that keeps what rounding cuts off (Neumaier).
  struct LongSum {
    void add(double value);
    double value() const { return high + low; }
    double high = 0, low = 0;
  };

  void set_integer_patterns(uint32_t bits, bool is_signed, int64_t zero_point);
  void add_dense(const uint8_t* data, size_t units);
  void add_every_kth(const uint8_t* data, size_t units);
  template <size_t unit_bytes>
  void gather(const uint8_t* data, size_t units);
  void add_block(const uint8_t* data, size_t count);
  void merge(const BlockSums& block);
  void count_bytes(const uint8_t* data, size_t bytes);
  void spill_codes();
  float value_of_code(uint32_t code) const;
  void finish_codes(TensorStatistics* out) const;
  void finish_blocks(TensorStatistics* out) const;

  uint32_t dtype_ = DH_RAW;
  Family family_ = Family::kRaw;
  bool is_integer_ = false;
  uint8_t unit_bytes_ = 1;       // of an element, or of two four-bit ones
  int16_t padding_nibble_ = -1;  // that was counted with its byte and is no element
  uint64_t units_left_ = 0;
  uint64_t step_ = 1;  // from one unit that is looked at to the next
  uint64_t skip_ = 0;  // units before the next one
  BitPatterns patterns_;

  double origin_ = 0;        // the first block's shift: `sum_` is of x - origin_
  LongSum sum_, squares_;    // squares of x - mean
  TensorStatistics so_far_;  // all that can be counted at once
  uint64_t finite_ = 0;
  uint32_t pending_units_ = 0;
  uint32_t unspilled_ = 0;  // at least what any of codes_ holds
  uint32_t codes_[4][256];  // of bytes, or as CodeLanes says
  uint64_t spilled_[256];
  alignas(8) uint8_t pending_[kBlockElements * 8];
};

}  // namespace dumphook
