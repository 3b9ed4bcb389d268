// SPDX-License-Identifier: Apache-2.0
#include "measure/float_block.h"

#include "dumphook/dumphook.h"
#include "measure/float_format.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#define DH_LANES 1
#elif defined(__x86_64__)
#include <emmintrin.h>
#define DH_LANES 1
#endif

namespace dumphook {
namespace {

constexpr uint32_t kMagnitude = 0x7FFFFFFF;
constexpr uint32_t kInfinity = 0x7F800000;

float widen(uint32_t dtype, uint16_t bits) {
  switch (dtype) {
    case DH_F16: return f16_to_float(bits);
    case DH_BF16: return bf16_to_float(bits);
    case DH_I16: return static_cast<float>(static_cast<int16_t>(bits));
    default: return static_cast<float>(bits);
  }
}

#if defined(DH_LANES)

// GCC's vectors bring the arithmetic; what they lack, or compile badly, has a name below.
using F32x4 = float __attribute__((vector_size(16)));
using F64x2 = double __attribute__((vector_size(16)));
using I32x4 = int32_t __attribute__((vector_size(16)));
using U32x4 = uint32_t __attribute__((vector_size(16)));
using U64x2 = uint64_t __attribute__((vector_size(16)));

template <class Vector>
Vector load(const void* from) {
  Vector vector;
  memcpy(&vector, from, sizeof vector);
  return vector;
}

U32x4 all(uint32_t bits) { return U32x4{bits, bits, bits, bits}; }
uint32_t total(I32x4 v) { return static_cast<uint32_t>(v[0] + v[1] + v[2] + v[3]); }

#if defined(__aarch64__)
F32x4 lesser(F32x4 a, F32x4 b) { return (F32x4)vminq_f32((float32x4_t)a, (float32x4_t)b); }
F32x4 greater(F32x4 a, F32x4 b) { return (F32x4)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
F64x2 lower_doubles(F32x4 v) { return (F64x2)vcvt_f64_f32(vget_low_f32((float32x4_t)v)); }
F64x2 upper_doubles(F32x4 v) { return (F64x2)vcvt_high_f64_f32((float32x4_t)v); }
F32x4 floats_of(I32x4 v) { return (F32x4)vcvtq_f32_s32((int32x4_t)v); }
#else
F32x4 lesser(F32x4 a, F32x4 b) { return (F32x4)_mm_min_ps((__m128)a, (__m128)b); }
F32x4 greater(F32x4 a, F32x4 b) { return (F32x4)_mm_max_ps((__m128)a, (__m128)b); }
F64x2 lower_doubles(F32x4 v) { return (F64x2)_mm_cvtps_pd((__m128)v); }
F64x2 upper_doubles(F32x4 v) { return (F64x2)_mm_cvtps_pd(_mm_movehl_ps((__m128)v, (__m128)v)); }
F32x4 floats_of(I32x4 v) { return (F32x4)_mm_cvtepi32_ps((__m128i)v); }
#endif

#if defined(__aarch64__)
void widen_halves(const uint8_t* from, F32x4* first, F32x4* second) {
  const uint16x8_t halves = vreinterpretq_u16_u8(vld1q_u8(from));
  *first = (F32x4)vcvt_f32_f16(vreinterpret_f16_u16(vget_low_u16(halves)));
  *second = (F32x4)vcvt_high_f32_f16(vreinterpretq_f16_u16(halves));
}
#else
// One binary16 in the low half of each lane; as f16_to_float, without branches.
[[gnu::always_inline]] inline F32x4 widen_half(U32x4 half) {
  constexpr uint32_t kRebias = (127 - 15) << 23, kTwoToMinus14 = kRebias + (1 << 23);
  const U32x4 sign = (half & 0x8000u) << 16, magnitude = (half & 0x7FFFu) << 13;
  const U32x4 is_special = (U32x4)((I32x4)magnitude > 0x0F7FFFFF), is_tiny = (U32x4)((I32x4)magnitude < 0x00800000);
  const U32x4 tiny = (U32x4)((F32x4)(magnitude + kTwoToMinus14) - (F32x4)all(kTwoToMinus14));
  const U32x4 ordinary = magnitude + kRebias + (is_special & kRebias);
  return (F32x4)(sign | (is_tiny & tiny) | (~is_tiny & ordinary));
}

void widen_halves(const uint8_t* from, F32x4* first, F32x4* second) {
  const U32x4 pairs = load<U32x4>(from);
  *first = widen_half(pairs & 0xFFFFu), *second = widen_half(pairs >> 16);
}
#endif

// Eight elements at a time. Without an order to keep, the two in each lane come one after the other.
template <uint32_t dtype>
size_t widen_eights(const uint8_t* from, size_t count, float* out) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const U32x4 pairs = load<U32x4>(from + i * 2);
    F32x4 first, second;
    if (dtype == DH_F16) {
      widen_halves(from + i * 2, &first, &second);
    } else if (dtype == DH_BF16) {
      first = (F32x4)(pairs << 16), second = (F32x4)(pairs & 0xFFFF0000u);
    } else if (dtype == DH_I16) {
      first = floats_of((I32x4)(pairs << 16) >> 16), second = floats_of((I32x4)pairs >> 16);
    } else {
      first = floats_of((I32x4)(pairs & 0xFFFFu)), second = floats_of((I32x4)(pairs >> 16));
    }
    memcpy(out + i, &first, sizeof first);
    memcpy(out + i + 4, &second, sizeof second);
  }
  return i;
}

size_t widen_lanes(uint32_t dtype, const uint8_t* from, size_t count, float* out) {
  switch (dtype) {
    case DH_F16: return widen_eights<DH_F16>(from, count, out);
    case DH_BF16: return widen_eights<DH_BF16>(from, count, out);
    case DH_I16: return widen_eights<DH_I16>(from, count, out);
    default: return widen_eights<DH_U16>(from, count, out);
  }
}

[[gnu::always_inline]] inline void count_pair(uint64_t pair, uint32_t* even_lane, uint32_t* odd_lane) {
  ++even_lane[static_cast<uint32_t>(pair)];
  ++odd_lane[pair >> 32];
}

bool is_limit(uint32_t bits, const BitPatterns& patterns) {
  return (bits & patterns.limit_mask) == patterns.low || (bits & patterns.limit_mask) == patterns.high;
}

void count_saturated(const uint8_t* floats, size_t count, const BitPatterns& patterns, BlockSums* sums) {
  for (size_t i = 0; i < count; ++i) sums->saturated += is_limit(load_le<uint32_t>(floats + i * 4), patterns);
}

void count_not_finite(const uint8_t* floats, size_t count, BlockSums* sums) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = load_le<uint32_t>(floats + i * 4);
    if (F32Element::finite(bits)) continue;
    ++(F32Element::nan(bits) ? sums->nan : bits > kMagnitude ? sums->neg_inf : sums->pos_inf);
  }
}

// Adds the first elements, a multiple of four, to `sums`, whose shift is a float; returns how many.
size_t add_lanes(const uint8_t* floats, size_t count, const BitPatterns& patterns, CodeLanes codes, BlockSums* sums) {
  if (count < 4) return 0;
  const U32x4 zero_mask = all(static_cast<uint32_t>(patterns.zero_mask));
  const U32x4 zero = all(static_cast<uint32_t>(patterns.zero));
  const U32x4 filler = all(bits_of(static_cast<float>(sums->shift)));
  const F64x2 shift = {sums->shift, sums->shift};
  I32x4 not_finite = {}, zeros = {};
  F32x4 min = (F32x4)all(kInfinity), max = -min;
  F64x2 sum_01 = {}, sum_23 = {}, squares_01 = {}, squares_23 = {};

  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const U32x4 bits = load<U32x4>(floats + i * 4);
    const U64x2 exponents = (U64x2)((bits & kMagnitude) >> 23);
    count_pair(exponents[0], codes[0], codes[1]);
    count_pair(exponents[1], codes[2], codes[3]);
    zeros -= (I32x4)((bits & zero_mask) == zero);
    // What is not finite takes the shift's place: it lies between min and max and adds nothing to the sums.
    const I32x4 is_out = (I32x4)(bits & kMagnitude) > static_cast<int32_t>(kInfinity - 1);
    not_finite -= is_out;
    const F32x4 value = (F32x4)((~(U32x4)is_out & bits) | ((U32x4)is_out & filler));
    min = lesser(min, value);
    max = greater(max, value);
    const F64x2 d_01 = lower_doubles(value) - shift, d_23 = upper_doubles(value) - shift;
    sum_01 += d_01;
    sum_23 += d_23;
    squares_01 += d_01 * d_01;
    squares_23 += d_23 * d_23;
  }

  sums->zeros = total(zeros);
  sums->finite = static_cast<uint32_t>(i) - total(not_finite);
  float least = min[0], most = max[0];
  for (int lane = 1; lane < 4; ++lane) {
    if (min[lane] < least) least = min[lane];
    if (max[lane] > most) most = max[lane];
  }
  // Most blocks have neither.
  if (sums->finite != i) count_not_finite(floats, i, sums);
  if (is_limit(bits_of(least), patterns) || is_limit(bits_of(most), patterns))
    count_saturated(floats, i, patterns, sums);
  sums->min = static_cast<double>(least);
  sums->max = static_cast<double>(most);
  const F64x2 sum = sum_01 + sum_23, squares = squares_01 + squares_23;
  sums->sum = sum[0] + sum[1];
  sums->squares = squares[0] + squares[1];
  return i;
}

#else

size_t widen_lanes(uint32_t, const uint8_t*, size_t, float*) { return 0; }
size_t add_lanes(const uint8_t*, size_t, const BitPatterns&, CodeLanes, BlockSums*) { return 0; }

#endif

// A float, because it stands in for elements.
double float_shift(const uint8_t* floats, size_t count) {
  return static_cast<double>(static_cast<float>(pick_shift<F32Element>(floats, count)));
}

}  // namespace

BlockSums sum_floats(const uint8_t* floats, size_t count, const BitPatterns& patterns, CodeLanes codes) {
  BlockSums sums;
  sums.shift = float_shift(floats, count);
  const size_t done = add_lanes(floats, count, patterns, codes, &sums);
  add_one_by_one<F32Element>(floats, done, count, patterns, codes, &sums);
  return sums;
}

BlockSums sum_floats_portable(const uint8_t* floats, size_t count, const BitPatterns& patterns, CodeLanes codes) {
  BlockSums sums;
  sums.shift = float_shift(floats, count);
  add_one_by_one<F32Element>(floats, 0, count, patterns, codes, &sums);
  return sums;
}

void widen_to_floats(uint32_t dtype, const uint8_t* from, size_t count, float* out) {
  const size_t done = widen_lanes(dtype, from, count, out);
  widen_to_floats_portable(dtype, from + done * 2, count - done, out + done);
}

void widen_to_floats_portable(uint32_t dtype, const uint8_t* from, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = widen(dtype, load_le<uint16_t>(from + i * 2));
}

}  // namespace dumphook
