// SPDX-License-Identifier: Apache-2.0
#if defined(__aarch64__)

#include <arm_neon.h>

#include "wire/pack_scalar.h"
#include "wire/pack_tables.h"
#include "wire/pack_vector.h"

namespace dumphook {
namespace {

namespace scalar = pack_scalar;

constexpr SqueezeTable kSqueeze = make_squeeze_table();
constexpr SpreadTable kSpread = make_spread_table();
constexpr BitCounts kCount = make_bit_counts();
constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};

// Eight bytes of ones or zeros, as bits.
inline unsigned mask_of(uint8x8_t set) { return vaddv_u8(vand_u8(set, vld1_u8(kBits))); }

// ---- Four bytes. The loads take values apart into planes, so rotating is shifting between neighbouring planes.

void split4(const uint8_t* values, size_t count, unsigned turn, uint8_t* symbols, uint8_t* rest) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x4_t value = vld4q_u8(values + i * 4);
    uint8x16x3_t low = {{value.val[0], value.val[1], value.val[2]}};
    uint8x16_t top = value.val[3];
    if (turn != 0) {
      top = vsriq_n_u8(vshlq_n_u8(value.val[3], 1), value.val[2], 7);
      low.val[2] = vsriq_n_u8(vshlq_n_u8(value.val[2], 1), value.val[1], 7);
      low.val[1] = vsriq_n_u8(vshlq_n_u8(value.val[1], 1), value.val[0], 7);
      low.val[0] = vsriq_n_u8(vshlq_n_u8(value.val[0], 1), value.val[3], 7);
    }
    vst1q_u8(symbols + i, top);
    vst3q_u8(rest + i * 3, low);
  }
  scalar::split<uint32_t>(values + i * 4, count - i, turn, symbols + i, rest + i * 3);
}

void join4(const uint8_t* symbols, const uint8_t* rest, size_t count, unsigned turn, uint8_t* values) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x3_t low = vld3q_u8(rest + i * 3);
    const uint8x16_t top = vld1q_u8(symbols + i);
    uint8x16x4_t value = {{low.val[0], low.val[1], low.val[2], top}};
    if (turn != 0) {
      value.val[0] = vsliq_n_u8(vshrq_n_u8(low.val[0], 1), low.val[1], 7);
      value.val[1] = vsliq_n_u8(vshrq_n_u8(low.val[1], 1), low.val[2], 7);
      value.val[2] = vsliq_n_u8(vshrq_n_u8(low.val[2], 1), top, 7);
      value.val[3] = vsliq_n_u8(vshrq_n_u8(top, 1), low.val[0], 7);
    }
    vst4q_u8(values + i * 4, value);
  }
  scalar::join<uint32_t>(symbols + i, rest + i * 3, count - i, turn, values + i * 4);
}

// A shuffle of 8 bytes as one of 8 values of four bytes; what is not to be taken (0x80) stays out of range.
inline uint8x16x2_t fours_of(uint8x8_t order) {
  constexpr uint8_t kRepeat[32] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
                                   4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7};
  constexpr uint8_t kStep[16] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  const uint8x16_t from = vcombine_u8(vqshl_n_u8(order, 2), vdup_n_u8(0)), step = vld1q_u8(kStep);
  return {
      {vorrq_u8(vqtbl1q_u8(from, vld1q_u8(kRepeat)), step), vorrq_u8(vqtbl1q_u8(from, vld1q_u8(kRepeat + 16)), step)}};
}

size_t keep_nonzero4(const uint8_t* values, size_t count, uint8_t* mask, uint8_t* kept) {
  uint8_t* const first = kept;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint8x16x2_t value = {{vld1q_u8(values + i * 4), vld1q_u8(values + i * 4 + 16)}};
    const uint32x4_t a = vreinterpretq_u32_u8(value.val[0]), b = vreinterpretq_u32_u8(value.val[1]);
    const uint16x8_t set = vcombine_u16(vmovn_u32(vtstq_u32(a, a)), vmovn_u32(vtstq_u32(b, b)));
    const unsigned bits = mask_of(vmovn_u16(set));
    const uint8x16x2_t order = fours_of(vld1_u8(kSqueeze.order[bits]));
    vst1q_u8(kept, vqtbl2q_u8(value, order.val[0]));
    vst1q_u8(kept + 16, vqtbl2q_u8(value, order.val[1]));
    kept += size_t{4} * kCount.of[bits];
    *mask++ = static_cast<uint8_t>(bits);
  }
  const size_t done = static_cast<size_t>(kept - first) / 4;
  return done + scalar::keep_nonzero<uint32_t>(values + i * 4, count - i, mask, kept);
}

void spread4(const uint8_t* mask, size_t count, const uint8_t* kept, uint8_t* values) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const unsigned bits = *mask++;
    const uint8x16x2_t value = {{vld1q_u8(kept), vld1q_u8(kept + 16)}};
    const uint8x16x2_t order = fours_of(vld1_u8(kSpread.order[bits]));
    vst1q_u8(values + i * 4, vqtbl2q_u8(value, order.val[0]));
    vst1q_u8(values + i * 4 + 16, vqtbl2q_u8(value, order.val[1]));
    kept += size_t{4} * kCount.of[bits];
  }
  scalar::spread<uint32_t>(mask, count - i, kept, values + i * 4);
}

// ---- Two bytes

void split2(const uint8_t* values, size_t count, unsigned turn, uint8_t* symbols, uint8_t* rest) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x2_t value = vld2q_u8(values + i * 2);
    uint8x16_t low = value.val[0], top = value.val[1];
    if (turn != 0) {
      top = vsriq_n_u8(vshlq_n_u8(value.val[1], 1), value.val[0], 7);
      low = vsriq_n_u8(vshlq_n_u8(value.val[0], 1), value.val[1], 7);
    }
    vst1q_u8(symbols + i, top);
    vst1q_u8(rest + i, low);
  }
  scalar::split<uint16_t>(values + i * 2, count - i, turn, symbols + i, rest + i);
}

void join2(const uint8_t* symbols, const uint8_t* rest, size_t count, unsigned turn, uint8_t* values) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16_t low = vld1q_u8(rest + i), top = vld1q_u8(symbols + i);
    uint8x16x2_t value = {{low, top}};
    if (turn != 0) {
      value.val[0] = vsliq_n_u8(vshrq_n_u8(low, 1), top, 7);
      value.val[1] = vsliq_n_u8(vshrq_n_u8(top, 1), low, 7);
    }
    vst2q_u8(values + i * 2, value);
  }
  scalar::join<uint16_t>(symbols + i, rest + i, count - i, turn, values + i * 2);
}

// As fours_of, for 8 values of two bytes.
inline uint8x16_t pairs_of(const uint8_t* order) {
  const uint8x8_t from = vqshl_n_u8(vld1_u8(order), 1);
  const uint8x8x2_t twice = vzip_u8(from, vorr_u8(from, vdup_n_u8(1)));
  return vcombine_u8(twice.val[0], twice.val[1]);
}

size_t keep_nonzero2(const uint8_t* values, size_t count, uint8_t* mask, uint8_t* kept) {
  uint8_t* const first = kept;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint8x16_t value = vld1q_u8(values + i * 2);
    const uint16x8_t a = vreinterpretq_u16_u8(value);
    const unsigned bits = mask_of(vmovn_u16(vtstq_u16(a, a)));
    vst1q_u8(kept, vqtbl1q_u8(value, pairs_of(kSqueeze.order[bits])));
    kept += size_t{2} * kCount.of[bits];
    *mask++ = static_cast<uint8_t>(bits);
  }
  const size_t done = static_cast<size_t>(kept - first) / 2;
  return done + scalar::keep_nonzero<uint16_t>(values + i * 2, count - i, mask, kept);
}

void spread2(const uint8_t* mask, size_t count, const uint8_t* kept, uint8_t* values) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const unsigned bits = *mask++;
    vst1q_u8(values + i * 2, vqtbl1q_u8(vld1q_u8(kept), pairs_of(kSpread.order[bits])));
    kept += size_t{2} * kCount.of[bits];
  }
  scalar::spread<uint16_t>(mask, count - i, kept, values + i * 2);
}

// ---- Levels

inline bool any(uint8x16_t set) {
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(set), 4)), 0) != 0;
}

inline uint8_t* squeeze8(uint8x8_t value, unsigned bits, uint8_t* to) {
  vst1_u8(to, vtbl1_u8(value, vld1_u8(kSqueeze.order[bits])));
  return to + kCount.of[bits];
}

size_t put_level(const uint8_t* symbols, size_t count, PackLevel level, uint8_t* fields, uint8_t* escapes) {
  const unsigned k = level.bits;
  const uint8x16_t low = vdupq_n_u8(level.low);
  const uint8x16_t window = vdupq_n_u8(static_cast<uint8_t>((1u << k) - 1));
  // What lies in the upper half of 16, 32 and 64 bits moves down to what lies in the lower half.
  const int16x8_t down_2 = vdupq_n_s16(static_cast<int16_t>(static_cast<int>(k) - 8));
  const int32x4_t down_4 = vdupq_n_s32(2 * static_cast<int>(k) - 16);
  const int64x2_t down_8 = vdupq_n_s64(4 * static_cast<int>(k) - 32);
  const uint16x8_t half_2 = vdupq_n_u16(0xFF);
  const uint32x4_t half_4 = vdupq_n_u32(0xFFFF);
  const uint64x2_t half_8 = vdupq_n_u64(0xFFFFFFFF);
  uint8_t* const first = escapes;
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16_t distance = vsubq_u8(vld1q_u8(symbols + i), low);
    const uint8x16_t field = vminq_u8(distance, window);
    const uint8x16_t is_escape = vceqq_u8(field, window);
    if (any(is_escape)) {
      const uint8x16_t below = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(distance), 7));
      const uint8x16_t escape = vsubq_u8(distance, vbicq_u8(window, below));
      escapes = squeeze8(vget_low_u8(escape), mask_of(vget_low_u8(is_escape)), escapes);
      escapes = squeeze8(vget_high_u8(escape), mask_of(vget_high_u8(is_escape)), escapes);
    }
    const uint16x8_t x2 = vreinterpretq_u16_u8(field);
    const uint32x4_t x4 =
        vreinterpretq_u32_u16(vorrq_u16(vandq_u16(x2, half_2), vshlq_u16(vbicq_u16(x2, half_2), down_2)));
    const uint64x2_t x8 =
        vreinterpretq_u64_u32(vorrq_u32(vandq_u32(x4, half_4), vshlq_u32(vbicq_u32(x4, half_4), down_4)));
    const uint8x16_t group =
        vreinterpretq_u8_u64(vorrq_u64(vandq_u64(x8, half_8), vshlq_u64(vbicq_u64(x8, half_8), down_8)));
    vst1_u8(fields, vget_low_u8(group));
    vst1_u8(fields + k, vget_high_u8(group));
    fields += 2 * k;
  }
  const auto done = static_cast<size_t>(escapes - first);
  return done + scalar::put_level(symbols + i, count - i, level, fields, escapes);
}

inline uint8x8_t spread8(const uint8_t** from, unsigned bits) {
  const uint8x8_t value = vtbl1_u8(vld1_u8(*from), vld1_u8(kSpread.order[bits]));
  *from += kCount.of[bits];
  return value;
}

size_t take_level(const uint8_t* fields, size_t count, PackLevel level, const uint8_t* escapes, uint8_t* symbols) {
  const unsigned k = level.bits;
  const uint8x16_t low = vdupq_n_u8(level.low);
  const uint8x16_t window = vdupq_n_u8(static_cast<uint8_t>((1u << k) - 1));
  // A field and what is above it fits 16 bits: bring those two bytes in place, and the field down.
  uint8_t place[16];
  int16_t down[8];
  for (unsigned j = 0; j < 8; ++j) {
    place[2 * j] = static_cast<uint8_t>(j * k / 8);
    place[2 * j + 1] = static_cast<uint8_t>(j * k / 8 + 1);
    down[j] = static_cast<int16_t>(-static_cast<int>(j * k % 8));
  }
  const uint8x16_t first_8 = vld1q_u8(place), second_8 = vaddq_u8(first_8, vdupq_n_u8(static_cast<uint8_t>(k)));
  const int16x8_t shift = vld1q_s16(down);
  const uint8_t* const first = escapes;
  const uint8_t* const end = fields + field_bytes(count, k);
  size_t i = 0;
  for (; i + 16 <= count && end - fields >= 16; i += 16, fields += 2 * k) {
    const uint8x16_t packed = vld1q_u8(fields);
    const uint16x8_t a = vshlq_u16(vreinterpretq_u16_u8(vqtbl1q_u8(packed, first_8)), shift);
    const uint16x8_t b = vshlq_u16(vreinterpretq_u16_u8(vqtbl1q_u8(packed, second_8)), shift);
    uint8x16_t distance = vandq_u8(vcombine_u8(vmovn_u16(a), vmovn_u16(b)), window);
    const uint8x16_t is_escape = vceqq_u8(distance, window);
    if (any(is_escape)) {
      const uint8x8_t one = spread8(&escapes, mask_of(vget_low_u8(is_escape)));
      const uint8x16_t escape = vcombine_u8(one, spread8(&escapes, mask_of(vget_high_u8(is_escape))));
      const uint8x16_t below = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(escape), 7));
      distance = vbslq_u8(is_escape, vaddq_u8(escape, vbicq_u8(window, below)), distance);
    }
    vst1q_u8(symbols + i, vaddq_u8(distance, low));
  }
  const auto done = static_cast<size_t>(escapes - first);
  return done + scalar::take_level(fields, count - i, level, escapes, symbols + i);
}

}  // namespace

extern const PackKernels kNeonKernels = {
    {scalar::split<uint8_t>, split2, split4, scalar::split<uint64_t>},
    {scalar::keep_nonzero<uint8_t>, keep_nonzero2, keep_nonzero4, scalar::keep_nonzero<uint64_t>},
    put_level,
};

extern const UnpackKernels kNeonUnpackKernels = {
    {scalar::join<uint8_t>, join2, join4, scalar::join<uint64_t>},
    {scalar::spread<uint8_t>, spread2, spread4, scalar::spread<uint64_t>},
    take_level,
};

}  // namespace dumphook

#endif
