// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)

#include <immintrin.h>

#include "wire/pack_scalar.h"
#include "wire/pack_tables.h"
#include "wire/pack_vector.h"

#define DUMPHOOK_AVX2 __attribute__((target("avx2,popcnt")))
#define DUMPHOOK_AVX2_INLINE __attribute__((target("avx2,popcnt"), always_inline)) inline

namespace dumphook {
namespace {

namespace scalar = pack_scalar;

constexpr SqueezeTable kSqueeze = make_squeeze_table();
constexpr SpreadTable kSpread = make_spread_table();

// ---- Loads and stores of any alignment

DUMPHOOK_AVX2_INLINE __m256i load32(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
DUMPHOOK_AVX2_INLINE __m128i load16(const uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
DUMPHOOK_AVX2_INLINE __m128i load8(const uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}
DUMPHOOK_AVX2_INLINE __m256i pair(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
DUMPHOOK_AVX2_INLINE void store32(uint8_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
DUMPHOOK_AVX2_INLINE void store16(uint8_t* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}
DUMPHOOK_AVX2_INLINE void store8(uint8_t* to, __m128i value) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), value);
}

// ---- Four bytes

DUMPHOOK_AVX2 void split4(const uint8_t* values, size_t count, unsigned turn, uint8_t* symbols, uint8_t* rest) {
  const __m256i order = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15,  //
                                         0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
  const __m128i left = _mm_cvtsi32_si128(static_cast<int>(turn));
  const __m128i right = _mm_cvtsi32_si128(static_cast<int>(32 - turn));  // by 32: to nothing
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i value = load32(values + i * 4);
    value = _mm256_or_si256(_mm256_sll_epi32(value, left), _mm256_srl_epi32(value, right));
    value = _mm256_shuffle_epi8(value, order);
    const __m128i low = _mm256_castsi256_si128(value), high = _mm256_extracti128_si256(value, 1);
    store16(rest + i * 3, low);
    store16(rest + i * 3 + 12, high);
    store8(symbols + i, _mm_srli_si128(_mm_unpackhi_epi32(low, high), 8));
  }
  scalar::split<uint32_t>(values + i * 4, count - i, turn, symbols + i, rest + i * 3);
}

DUMPHOOK_AVX2 void join4(const uint8_t* symbols, const uint8_t* rest, size_t count, unsigned turn, uint8_t* values) {
  const __m256i order = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,  //
                                         0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
  const __m128i right = _mm_cvtsi32_si128(static_cast<int>(turn));
  const __m128i left = _mm_cvtsi32_si128(static_cast<int>(32 - turn));
  size_t i = 0;
  for (; i + 10 <= count; i += 8) {  // the second load takes four bytes more than it needs
    const __m256i low = _mm256_shuffle_epi8(pair(load16(rest + i * 3), load16(rest + i * 3 + 12)), order);
    const __m256i top = _mm256_slli_epi32(_mm256_cvtepu8_epi32(load8(symbols + i)), 24);
    const __m256i value = _mm256_or_si256(low, top);
    store32(values + i * 4, _mm256_or_si256(_mm256_srl_epi32(value, right), _mm256_sll_epi32(value, left)));
  }
  scalar::join<uint32_t>(symbols + i, rest + i * 3, count - i, turn, values + i * 4);
}

DUMPHOOK_AVX2 size_t keep_nonzero4(const uint8_t* values, size_t count, uint8_t* mask, uint8_t* kept) {
  uint8_t* const first = kept;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i value = load32(values + i * 4);
    const __m256i is_zero = _mm256_cmpeq_epi32(value, _mm256_setzero_si256());
    const unsigned bits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_zero))) ^ 0xFF;
    store32(kept, _mm256_permutevar8x32_epi32(value, _mm256_cvtepu8_epi32(load8(kSqueeze.order[bits]))));
    kept += 4 * static_cast<unsigned>(_mm_popcnt_u32(bits));
    *mask++ = static_cast<uint8_t>(bits);
  }
  const size_t done = static_cast<size_t>(kept - first) / 4;
  return done + scalar::keep_nonzero<uint32_t>(values + i * 4, count - i, mask, kept);
}

DUMPHOOK_AVX2 void spread4(const uint8_t* mask, size_t count, const uint8_t* kept, uint8_t* values) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const unsigned bits = *mask++;
    const __m256i from = _mm256_cvtepi8_epi32(load8(kSpread.order[bits]));  // below zero: a zero
    const __m256i value = _mm256_permutevar8x32_epi32(load32(kept), from);
    store32(values + i * 4, _mm256_andnot_si256(_mm256_srai_epi32(from, 31), value));
    kept += 4 * static_cast<unsigned>(_mm_popcnt_u32(bits));
  }
  scalar::spread<uint32_t>(mask, count - i, kept, values + i * 4);
}

// ---- Two bytes

DUMPHOOK_AVX2 void split2(const uint8_t* values, size_t count, unsigned turn, uint8_t* symbols, uint8_t* rest) {
  const __m256i low_byte = _mm256_set1_epi16(0xFF);
  const __m128i left = _mm_cvtsi32_si128(static_cast<int>(turn));
  const __m128i right = _mm_cvtsi32_si128(static_cast<int>(16 - turn));
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    __m256i a = load32(values + i * 2), b = load32(values + i * 2 + 32);
    a = _mm256_or_si256(_mm256_sll_epi16(a, left), _mm256_srl_epi16(a, right));
    b = _mm256_or_si256(_mm256_sll_epi16(b, left), _mm256_srl_epi16(b, right));
    const __m256i top = _mm256_packus_epi16(_mm256_srli_epi16(a, 8), _mm256_srli_epi16(b, 8));
    const __m256i low = _mm256_packus_epi16(_mm256_and_si256(a, low_byte), _mm256_and_si256(b, low_byte));
    store32(symbols + i, _mm256_permute4x64_epi64(top, 0xD8));
    store32(rest + i, _mm256_permute4x64_epi64(low, 0xD8));
  }
  scalar::split<uint16_t>(values + i * 2, count - i, turn, symbols + i, rest + i);
}

DUMPHOOK_AVX2 void join2(const uint8_t* symbols, const uint8_t* rest, size_t count, unsigned turn, uint8_t* values) {
  const __m128i right = _mm_cvtsi32_si128(static_cast<int>(turn));
  const __m128i left = _mm_cvtsi32_si128(static_cast<int>(16 - turn));
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i top = _mm256_permute4x64_epi64(load32(symbols + i), 0xD8);
    const __m256i low = _mm256_permute4x64_epi64(load32(rest + i), 0xD8);
    const __m256i a = _mm256_unpacklo_epi8(low, top), b = _mm256_unpackhi_epi8(low, top);
    store32(values + i * 2, _mm256_or_si256(_mm256_srl_epi16(a, right), _mm256_sll_epi16(a, left)));
    store32(values + i * 2 + 32, _mm256_or_si256(_mm256_srl_epi16(b, right), _mm256_sll_epi16(b, left)));
  }
  scalar::join<uint16_t>(symbols + i, rest + i, count - i, turn, values + i * 2);
}

// A shuffle of bytes as one of pairs of bytes; what is not to be taken (0x80) stays so.
DUMPHOOK_AVX2_INLINE __m128i pairs_of(const uint8_t* order) {
  const __m128i one = load8(order);
  const __m128i twice = _mm_unpacklo_epi8(one, one);
  return _mm_or_si128(_mm_adds_epi8(twice, twice), _mm_set1_epi16(0x0100));
}

DUMPHOOK_AVX2 size_t keep_nonzero2(const uint8_t* values, size_t count, uint8_t* mask, uint8_t* kept) {
  uint8_t* const first = kept;
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i a = load16(values + i * 2), b = load16(values + i * 2 + 16);
    const __m128i zero = _mm_setzero_si128();
    const __m128i is_zero = _mm_packs_epi16(_mm_cmpeq_epi16(a, zero), _mm_cmpeq_epi16(b, zero));
    const unsigned bits = static_cast<unsigned>(_mm_movemask_epi8(is_zero)) ^ 0xFFFF;
    store16(kept, _mm_shuffle_epi8(a, pairs_of(kSqueeze.order[bits & 0xFF])));
    kept += 2 * static_cast<unsigned>(_mm_popcnt_u32(bits & 0xFF));
    store16(kept, _mm_shuffle_epi8(b, pairs_of(kSqueeze.order[bits >> 8])));
    kept += 2 * static_cast<unsigned>(_mm_popcnt_u32(bits >> 8));
    store_le(mask, static_cast<uint16_t>(bits));
    mask += 2;
  }
  const size_t done = static_cast<size_t>(kept - first) / 2;
  return done + scalar::keep_nonzero<uint16_t>(values + i * 2, count - i, mask, kept);
}

DUMPHOOK_AVX2 void spread2(const uint8_t* mask, size_t count, const uint8_t* kept, uint8_t* values) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const unsigned bits = *mask++;
    store16(values + i * 2, _mm_shuffle_epi8(load16(kept), pairs_of(kSpread.order[bits])));
    kept += 2 * static_cast<unsigned>(_mm_popcnt_u32(bits));
  }
  scalar::spread<uint16_t>(mask, count - i, kept, values + i * 2);
}

// ---- Levels

DUMPHOOK_AVX2_INLINE uint8_t* squeeze16(__m128i value, unsigned bits, uint8_t* to) {
  store8(to, _mm_shuffle_epi8(value, load8(kSqueeze.order[bits & 0xFF])));
  to += static_cast<unsigned>(_mm_popcnt_u32(bits & 0xFF));
  store8(to, _mm_shuffle_epi8(_mm_srli_si128(value, 8), load8(kSqueeze.order[bits >> 8])));
  return to + static_cast<unsigned>(_mm_popcnt_u32(bits >> 8));
}

DUMPHOOK_AVX2 size_t put_level(const uint8_t* symbols, size_t count, PackLevel level, uint8_t* fields,
                               uint8_t* escapes) {
  const unsigned k = level.bits;
  const __m256i low = _mm256_set1_epi8(static_cast<char>(level.low));
  const __m256i window = _mm256_set1_epi8(static_cast<char>((1u << k) - 1));
  // Neighbours join twice by multiplication and once by a shift: to 2, 4 and 8 fields.
  const __m256i to_2 = _mm256_set1_epi16(static_cast<short>(1u | (1u << (8 + k))));
  const __m256i to_4 = _mm256_set1_epi32(static_cast<int>(1u | (1u << (16 + 2 * k))));
  const __m256i lower = _mm256_set1_epi64x(0xFFFFFFFF);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(32 - 4 * k));
  uint8_t* const first = escapes;
  size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m256i distance = _mm256_sub_epi8(load32(symbols + i), low);
    const __m256i field = _mm256_min_epu8(distance, window);
    const auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(field, window)));
    if (bits != 0) {
      const __m256i below = _mm256_cmpgt_epi8(_mm256_setzero_si256(), distance);
      const __m256i escape = _mm256_sub_epi8(distance, _mm256_andnot_si256(below, window));
      escapes = squeeze16(_mm256_castsi256_si128(escape), bits & 0xFFFF, escapes);
      escapes = squeeze16(_mm256_extracti128_si256(escape, 1), bits >> 16, escapes);
    }
    __m256i group = _mm256_madd_epi16(_mm256_maddubs_epi16(to_2, field), to_4);
    group = _mm256_or_si256(_mm256_and_si256(group, lower), _mm256_srl_epi64(_mm256_andnot_si256(lower, group), shift));
    const __m128i a = _mm256_castsi256_si128(group), b = _mm256_extracti128_si256(group, 1);
    store8(fields, a);
    store8(fields + k, _mm_unpackhi_epi64(a, a));
    store8(fields + 2 * k, b);
    store8(fields + 3 * k, _mm_unpackhi_epi64(b, b));
    fields += 4 * k;
  }
  const auto done = static_cast<size_t>(escapes - first);
  return done + scalar::put_level(symbols + i, count - i, level, fields, escapes);
}

DUMPHOOK_AVX2_INLINE __m128i spread16(const uint8_t** from, unsigned bits) {
  const __m128i a = _mm_shuffle_epi8(load8(*from), load8(kSpread.order[bits & 0xFF]));
  *from += static_cast<unsigned>(_mm_popcnt_u32(bits & 0xFF));
  const __m128i b = _mm_shuffle_epi8(load8(*from), load8(kSpread.order[bits >> 8]));
  *from += static_cast<unsigned>(_mm_popcnt_u32(bits >> 8));
  return _mm_unpacklo_epi64(a, b);
}

DUMPHOOK_AVX2 size_t take_level(const uint8_t* fields, size_t count, PackLevel level, const uint8_t* escapes,
                                uint8_t* symbols) {
  const unsigned k = level.bits;
  const __m256i low = _mm256_set1_epi8(static_cast<char>(level.low));
  const __m256i window = _mm256_set1_epi8(static_cast<char>((1u << k) - 1));
  // A field and what is above it fits 16 bits: bring those two bytes in place, move the field to their top, then down.
  alignas(16) uint8_t place[16];
  alignas(16) uint16_t up[8];
  for (unsigned j = 0; j < 8; ++j) {
    place[2 * j] = static_cast<uint8_t>(j * k / 8);
    place[2 * j + 1] = static_cast<uint8_t>(j * k / 8 + 1);
    up[j] = static_cast<uint16_t>(1u << (16 - k - j * k % 8));
  }
  const __m256i first_8 = _mm256_broadcastsi128_si256(load16(place));
  const __m256i second_8 = _mm256_add_epi8(first_8, _mm256_set1_epi8(static_cast<char>(k)));
  const __m256i factor = _mm256_broadcastsi128_si256(load16(reinterpret_cast<const uint8_t*>(up)));
  const __m128i down = _mm_cvtsi32_si128(static_cast<int>(16 - k));
  const uint8_t* const first = escapes;
  const uint8_t* const end = fields + field_bytes(count, k);
  size_t i = 0;
  for (; i + 32 <= count && static_cast<size_t>(end - fields) >= 2 * k + 16; i += 32, fields += 4 * k) {
    const __m256i packed = pair(load16(fields), load16(fields + 2 * k));
    const __m256i a = _mm256_srl_epi16(_mm256_mullo_epi16(_mm256_shuffle_epi8(packed, first_8), factor), down);
    const __m256i b = _mm256_srl_epi16(_mm256_mullo_epi16(_mm256_shuffle_epi8(packed, second_8), factor), down);
    __m256i distance = _mm256_packus_epi16(a, b);
    const __m256i is_escape = _mm256_cmpeq_epi8(distance, window);
    const auto bits = static_cast<uint32_t>(_mm256_movemask_epi8(is_escape));
    if (bits != 0) {
      const __m128i one = spread16(&escapes, bits & 0xFFFF);
      const __m256i escape = pair(one, spread16(&escapes, bits >> 16));
      const __m256i below = _mm256_cmpgt_epi8(_mm256_setzero_si256(), escape);
      distance = _mm256_blendv_epi8(distance, _mm256_add_epi8(escape, _mm256_andnot_si256(below, window)), is_escape);
    }
    store32(symbols + i, _mm256_add_epi8(distance, low));
  }
  const auto done = static_cast<size_t>(escapes - first);
  return done + scalar::take_level(fields, count - i, level, escapes, symbols + i);
}

}  // namespace

extern const PackKernels kAvx2Kernels = {
    {scalar::split<uint8_t>, split2, split4, scalar::split<uint64_t>},
    {scalar::keep_nonzero<uint8_t>, keep_nonzero2, keep_nonzero4, scalar::keep_nonzero<uint64_t>},
    put_level,
};

extern const UnpackKernels kAvx2UnpackKernels = {
    {scalar::join<uint8_t>, join2, join4, scalar::join<uint64_t>},
    {scalar::spread<uint8_t>, spread2, spread4, scalar::spread<uint64_t>},
    take_level,
};

}  // namespace dumphook

#endif
