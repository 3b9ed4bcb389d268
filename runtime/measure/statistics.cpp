// SPDX-License-Identifier: Apache-2.0
#include "measure/statistics.h"

#include "base/dtype.h"
#include "measure/float_block.h"
#include "measure/float_format.h"

namespace dumphook {
namespace {

constexpr int kLeastExponent = -32;  // of floating-point histograms

// The code (see CodeLanes) of the first bucket.
constexpr uint32_t first_code(bool is_integer) {
  return static_cast<uint32_t>(kCodeBias + (is_integer ? 0 : kLeastExponent));
}

// Leaves out the empty buckets at both ends.
void trim_histogram(bool is_integer, TensorStatistics* out) {
  uint32_t begin = 0, end = kHistogramBuckets;
  while (end != 0 && out->histogram[end - 1] == 0) --end;
  if (end == 0) return;
  while (out->histogram[begin] == 0) ++begin;
  out->histogram_first_exponent = static_cast<int32_t>(begin) + (is_integer ? 0 : kLeastExponent);
  out->histogram_size = end - begin;
  for (uint32_t i = 0; i < kHistogramBuckets; ++i) {
    out->histogram[i] = begin + i < end ? out->histogram[begin + i] : 0;
  }
}

uint64_t least_step(uint64_t units, uint64_t limit) {
  if (limit == 0 || units <= limit) return 1;
  return (units / limit + (units % limit != 0)) | 1;
}

}  // namespace

bool is_constant(const TensorStatistics& s) {
  if (s.sampled == 0 || s.nan != 0) return false;
  if (s.pos_inf == s.sampled || s.neg_inf == s.sampled) return true;
  return s.pos_inf == 0 && s.neg_inf == 0 && s.min == s.max;
}

double saturated_share(const TensorStatistics& s) {
  if (s.sampled == 0) return 0;
  return static_cast<double>(s.saturated - (s.zero_is_limit ? s.zeros : 0)) / static_cast<double>(s.sampled);
}

bool exceeds(const TensorStatistics& s, double low, double high) {
  constexpr double kInfinity = __builtin_inf();
  if ((s.pos_inf != 0 && high < kInfinity) || (s.neg_inf != 0 && low > -kInfinity)) return true;
  const bool any_finite = s.sampled != s.nan + s.pos_inf + s.neg_inf;
  return any_finite && (s.min < low || s.max > high);
}

uint64_t affordable_sample(uint32_t dtype, uint64_t count) {
  constexpr uint64_t kLeast = 256, kCopiedBytes = 128;  // tests/bench/statistics
  const uint32_t bits = dtype_bits(dtype);
  if (bits == 0) return 0;
  const uint64_t sample = count / (kCopiedBytes * 8 / bits);
  if (sample > kLeast) return sample;
  return count < kLeast ? count : kLeast;
}

void StatisticsMeter::LongSum::add(double value) {
  const double sum = high + value;
  low += __builtin_fabs(high) >= __builtin_fabs(value) ? (high - sum) + value : (value - sum) + high;
  high = sum;
}

struct StatisticsMeter::Type {
  Family family;
  uint8_t integer_bits;
  bool is_signed;
  uint64_t greatest;  // magnitude of a floating-point type, as a float unless it is f64
};

void StatisticsMeter::begin(uint32_t dtype, uint64_t count, const int32_t* zero_point, uint64_t sample_limit) {
  dtype_ = dtype_bits(dtype) == 0 ? uint32_t{DH_RAW} : dtype;
  padding_nibble_ = -1;
  skip_ = 0;
  patterns_ = BitPatterns();
  origin_ = 0;
  sum_ = squares_ = LongSum();
  so_far_ = TensorStatistics();
  so_far_.count = count;
  finite_ = 0;
  pending_units_ = unspilled_ = 0;
  memset(codes_, 0, sizeof codes_);
  memset(spilled_, 0, sizeof spilled_);

  static constexpr Type kTypes[] = {
      {Family::kRaw, 0, false, 0},                   // DH_RAW
      {Family::kF64, 0, false, 0x7FEFFFFFFFFFFFFF},  // DH_F64
      {Family::kF32, 0, false, 0x7F7FFFFF},          // DH_F32
      {Family::kHalves, 0, false, 0x477FE000},       // DH_F16: 65504
      {Family::kHalves, 0, false, 0x7F7F0000},       // DH_BF16
      {Family::kBytes, 0, false, 0x43E00000},        // DH_F8E4M3: 448
      {Family::kBytes, 0, false, 0x47600000},        // DH_F8E5M2: 57344
      {Family::kLongs, 64, true, 0},                 // DH_I64
      {Family::kUnsignedLongs, 64, false, 0},        // DH_U64
      {Family::kInts, 32, true, 0},                  // DH_I32
      {Family::kInts, 32, false, 0},                 // DH_U32
      {Family::kHalves, 16, true, 0},                // DH_I16
      {Family::kHalves, 16, false, 0},               // DH_U16
      {Family::kBytes, 8, true, 0},                  // DH_I8
      {Family::kBytes, 8, false, 0},                 // DH_U8
      {Family::kBytes, 1, false, 0},                 // DH_BOOL
      {Family::kNibbles, 4, true, 0},                // DH_I4
      {Family::kNibbles, 4, false, 0},               // DH_U4
  };
  static_assert(sizeof kTypes / sizeof *kTypes == DH_U4 + 1, "one entry per dh_dtype");
  const Type& type = kTypes[dtype_];
  family_ = type.family;
  is_integer_ = type.integer_bits != 0;
  if (is_integer_) {
    set_integer_patterns(type.integer_bits, type.is_signed, zero_point == nullptr ? 0 : *zero_point);
  } else {
    const uint64_t magnitude = family_ == Family::kF64 ? ~0ull >> 1 : 0x7FFFFFFF;
    patterns_.zero_mask = patterns_.limit_mask = magnitude;
    patterns_.zero = 0;
    patterns_.low = patterns_.high = type.greatest;
  }
  const bool is_nibbles = family_ == Family::kNibbles;
  unit_bytes_ = is_nibbles ? 1 : static_cast<uint8_t>(dtype_bits(dtype_) / 8);
  units_left_ = is_nibbles ? count / 2 + count % 2 : count;
  if (is_nibbles && sample_limit != 0) sample_limit = sample_limit < 2 ? 1 : sample_limit / 2;
  step_ = least_step(units_left_, sample_limit);
}

// Integers of up to 16 bits are compared as floats, the others in 64 bits.
void StatisticsMeter::set_integer_patterns(uint32_t bits, bool is_signed, int64_t zero_point) {
  const uint64_t sign = is_signed ? 1ull << (bits - 1) : 0;
  patterns_.low = 0 - sign;
  patterns_.high = (~0ull >> (64 - bits)) ^ sign;
  patterns_.zero = static_cast<uint64_t>(zero_point);
  patterns_.zero_mask = patterns_.limit_mask = ~0ull;
  if (!is_signed && zero_point < 0) patterns_.zero_mask = 0, patterns_.zero = 1;  // no element is
  if (bits <= 16) {
    const auto as_float = [](uint64_t value) { return bits_of(static_cast<float>(static_cast<int64_t>(value))); };
    patterns_.low = as_float(patterns_.low);
    patterns_.high = as_float(patterns_.high);
    patterns_.zero = as_float(patterns_.zero);
  }
  so_far_.zero_is_limit = patterns_.zero == patterns_.low || patterns_.zero == patterns_.high;
  if (dtype_ == DH_BOOL) {  // has no limits, and no zero point
    patterns_ = BitPatterns();
    patterns_.zero_mask = ~0ull, patterns_.zero = 0;
    so_far_.zero_is_limit = false;
  }
}

void StatisticsMeter::update(const void* data, size_t bytes) {
  if (family_ == Family::kRaw) return;
  const uint8_t* p = static_cast<const uint8_t*>(data);
  size_t units = bytes / unit_bytes_;
  if (units > units_left_) units = static_cast<size_t>(units_left_);
  while (units != 0) {
    constexpr size_t kMostUnits = 1u << 30;
    const size_t step = units < kMostUnits ? units : kMostUnits;
    if (unspilled_ > kMostUnits) spill_codes();
    unspilled_ += static_cast<uint32_t>(step);
    units_left_ -= step;
    if (family_ == Family::kNibbles && so_far_.count % 2 != 0 && units_left_ == 0) {
      const bool is_looked_at = skip_ < step && (step - 1 - skip_) % step_ == 0;
      if (is_looked_at) padding_nibble_ = p[step - 1] >> 4;
    }
    if (step_ == 1) {
      add_dense(p, step);
    } else {
      add_every_kth(p, step);
    }
    p += step * unit_bytes_;
    units -= step;
  }
}

void StatisticsMeter::add_dense(const uint8_t* data, size_t units) {
  so_far_.sampled += units;
  if (family_ == Family::kBytes || family_ == Family::kNibbles) return count_bytes(data, units);
  const size_t block_bytes = kBlockElements * unit_bytes_;
  if (pending_units_ != 0) {
    const size_t room = kBlockElements - pending_units_;
    const size_t taken = units < room ? units : room;
    memcpy(pending_ + pending_units_ * unit_bytes_, data, taken * unit_bytes_);
    pending_units_ += static_cast<uint32_t>(taken);
    if (pending_units_ < kBlockElements) return;
    add_block(pending_, kBlockElements);
    data += taken * unit_bytes_;
    units -= taken;
  }
  for (; units >= kBlockElements; units -= kBlockElements, data += block_bytes) add_block(data, kBlockElements);
  memcpy(pending_, data, units * unit_bytes_);
  pending_units_ = static_cast<uint32_t>(units);
}

void StatisticsMeter::add_every_kth(const uint8_t* data, size_t units) {
  switch (unit_bytes_) {
    case 1: return gather<1>(data, units);
    case 2: return gather<2>(data, units);
    case 4: return gather<4>(data, units);
    default: return gather<8>(data, units);
  }
}

template <size_t unit_bytes>
void StatisticsMeter::gather(const uint8_t* data, size_t units) {
  uint64_t at = skip_;
  for (; at < units; at += step_) {
    const uint8_t* unit = data + at * unit_bytes;
    ++so_far_.sampled;
    if (unit_bytes == 1) {
      ++codes_[so_far_.sampled % 4][*unit];
      continue;
    }
    memcpy(pending_ + pending_units_ * unit_bytes, unit, unit_bytes);
    if (++pending_units_ < kBlockElements) continue;
    add_block(pending_, kBlockElements);
    pending_units_ = 0;
  }
  skip_ = at - units;
}

void StatisticsMeter::add_block(const uint8_t* data, size_t count) {
  switch (family_) {
    case Family::kHalves: {
      float floats[kBlockElements];
      widen_to_floats(dtype_, data, count, floats);
      return merge(sum_floats(reinterpret_cast<const uint8_t*>(floats), count, patterns_, codes_));
    }
    case Family::kF32: return merge(sum_floats(data, count, patterns_, codes_));
    case Family::kF64: return merge(sum_one_by_one<F64Element>(data, count, patterns_, codes_));
    case Family::kInts: {
      int64_t longs[kBlockElements];
      const int64_t sign = dtype_ == DH_I32 ? int64_t{1} << 31 : 0;
      for (size_t i = 0; i < count; ++i) longs[i] = (load_le<uint32_t>(data + i * 4) ^ sign) - sign;
      return merge(
          sum_one_by_one<IntegerElement<int64_t>>(reinterpret_cast<const uint8_t*>(longs), count, patterns_, codes_));
    }
    case Family::kLongs: return merge(sum_one_by_one<IntegerElement<int64_t>>(data, count, patterns_, codes_));
    case Family::kUnsignedLongs: return merge(sum_one_by_one<IntegerElement<uint64_t>>(data, count, patterns_, codes_));
    case Family::kRaw:
    case Family::kBytes:
    case Family::kNibbles: return;
  }
}

// The squares of two sets of elements about their common mean: Chan, Golub and LeVeque, "Updating formulae and a
// pairwise algorithm for computing sample variances" (1979).
void StatisticsMeter::merge(const BlockSums& block) {
  so_far_.nan += block.nan;
  so_far_.pos_inf += block.pos_inf;
  so_far_.neg_inf += block.neg_inf;
  so_far_.zeros += block.zeros;
  so_far_.saturated += block.saturated;
  if (block.finite == 0) return;
  if (finite_ == 0) {
    origin_ = block.shift;
    so_far_.min = block.min;
    so_far_.max = block.max;
  }
  if (block.min < so_far_.min) so_far_.min = block.min;
  if (block.max > so_far_.max) so_far_.max = block.max;

  const double count = block.finite, before = static_cast<double>(finite_);
  const double about_mean = block.squares - block.sum * block.sum / count;
  if (!(about_mean <= 0)) squares_.add(about_mean);
  const double from_origin = (block.shift - origin_) * count + block.sum;
  if (finite_ != 0) {
    const double apart = from_origin / count - sum_.value() / before;
    squares_.add(apart * apart * (before * count / (before + count)));
  }
  sum_.add(from_origin);
  finite_ += block.finite;
}

void StatisticsMeter::count_bytes(const uint8_t* data, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, data += 8) {
    const uint32_t first = load_le<uint32_t>(data), second = load_le<uint32_t>(data + 4);
    ++codes_[0][first & 0xFF];
    ++codes_[1][first >> 8 & 0xFF];
    ++codes_[2][first >> 16 & 0xFF];
    ++codes_[3][first >> 24];
    ++codes_[0][second & 0xFF];
    ++codes_[1][second >> 8 & 0xFF];
    ++codes_[2][second >> 16 & 0xFF];
    ++codes_[3][second >> 24];
  }
  for (; bytes != 0; --bytes, ++data) ++codes_[0][*data];
}

void StatisticsMeter::spill_codes() {
  for (uint32_t(&lane)[256] : codes_) {
    for (size_t code = 0; code < 256; ++code) spilled_[code] += lane[code];
  }
  memset(codes_, 0, sizeof codes_);
  unspilled_ = 0;
}

float StatisticsMeter::value_of_code(uint32_t code) const {
  const uint8_t byte = static_cast<uint8_t>(code);
  switch (dtype_) {
    case DH_F8E4M3: return f8e4m3_to_float(byte);
    case DH_F8E5M2: return f8e5m2_to_float(byte);
    case DH_I8: return static_cast<float>(static_cast<int8_t>(byte));
    case DH_I4: return static_cast<float>((byte ^ 8) - 8);
    case DH_BOOL: return byte != 0 ? 1 : 0;
    default: return static_cast<float>(byte);
  }
}

void StatisticsMeter::finish(TensorStatistics* out) {
  if (pending_units_ != 0) add_block(pending_, pending_units_);
  pending_units_ = 0;
  spill_codes();
  *out = so_far_;
  if (family_ == Family::kBytes || family_ == Family::kNibbles) {
    finish_codes(out);
  } else {
    finish_blocks(out);
  }
  trim_histogram(is_integer_, out);
}

// Each of the 256 (or 16) values so many times.
void StatisticsMeter::finish_codes(TensorStatistics* out) const {
  uint64_t nibbles[16] = {};
  Span<const uint64_t> counts = spilled_;
  if (family_ == Family::kNibbles) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      nibbles[byte & 15] += spilled_[byte];
      nibbles[byte >> 4] += spilled_[byte];
    }
    out->sampled *= 2;
    if (padding_nibble_ >= 0) {
      --nibbles[padding_nibble_];
      --out->sampled;
    }
    counts = nibbles;
  }

  uint64_t finite = 0;
  LongSum sum;
  for (uint32_t code = 0; code < counts.size; ++code) {
    const uint64_t count = counts[code];
    if (count == 0) continue;
    const float value = value_of_code(code);
    const uint32_t bits = bits_of(value);
    if ((bits & patterns_.zero_mask) == patterns_.zero) out->zeros += count;
    if ((bits & patterns_.limit_mask) == patterns_.low || (bits & patterns_.limit_mask) == patterns_.high) {
      out->saturated += count;
    }
    if (!F32Element::finite(bits)) {
      (F32Element::nan(bits) ? out->nan : value < 0 ? out->neg_inf : out->pos_inf) += count;
      continue;
    }
    const double wide = static_cast<double>(value);
    if (finite == 0) out->min = out->max = wide;
    finite += count;
    if (wide < out->min) out->min = wide;
    if (wide > out->max) out->max = wide;
    sum.add(wide * static_cast<double>(count));
    if (F32Element::code(bits) != 0) out->histogram[F32Element::code(bits) - first_code(is_integer_)] += count;
  }
  if (finite == 0) return;
  out->mean = sum.value() / static_cast<double>(finite);
  LongSum squares;
  for (uint32_t code = 0; code < counts.size; ++code) {
    const float value = value_of_code(code);
    if (counts[code] == 0 || !F32Element::finite(bits_of(value))) continue;
    const double apart = static_cast<double>(value) - out->mean;
    squares.add(apart * apart * static_cast<double>(counts[code]));
  }
  out->variance = squares.value() / static_cast<double>(finite);
}

void StatisticsMeter::finish_blocks(TensorStatistics* out) const {
  if (finite_ == 0) return;
  const double finite = static_cast<double>(finite_);
  out->mean = origin_ + sum_.value() / finite;
  out->variance = squares_.value() / finite;
  if (!(out->variance < __builtin_inf())) out->variance = __builtin_inf();  // a square overflowed, in f64
  if (!is_integer_) {
    uint64_t tiny = spilled_[0] - out->zeros, huge = 0;  // the former with what is subnormal
    for (uint32_t code = 1; code < first_code(false); ++code) tiny += spilled_[code];
    for (uint32_t code = first_code(false) + kHistogramBuckets; code < 255; ++code) huge += spilled_[code];
    out->histogram[0] = tiny;
    out->histogram[kHistogramBuckets - 1] = huge;
  }
  const uint64_t* inside = spilled_ + first_code(is_integer_);
  for (uint32_t i = 0; i < kHistogramBuckets; ++i) out->histogram[i] += inside[i];
}

}  // namespace dumphook
