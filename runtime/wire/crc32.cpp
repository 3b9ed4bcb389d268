// SPDX-License-Identifier: Apache-2.0
#include "wire/crc32.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

#include <atomic>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include <atomic>
#endif

namespace dumphook {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320u;

// Eight tables are faster than one, and 7 KiB larger. Small builds have one, on 64-bit Arm only for processors that
// lack the instructions.
#if defined(__OPTIMIZE_SIZE__) || defined(__ARM_FEATURE_CRC32)
#define DUMPHOOK_CRC_TABLES 1
#else
#define DUMPHOOK_CRC_TABLES 8
#endif

// by[k][b]: the register after byte b and k zero bytes.
struct Tables {
  uint32_t by[DUMPHOOK_CRC_TABLES][256];
};

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables.by[0][b] = crc;
  }
  for (uint32_t b = 0; b < 256; ++b) {
    for (int k = 1; k < DUMPHOOK_CRC_TABLES; ++k) {
      const uint32_t crc = tables.by[k - 1][b];
      tables.by[k][b] = (crc >> 8) ^ tables.by[0][crc & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// These work on the register itself, which is the complement of the CRC.
uint32_t add_sliced(uint32_t reg, const uint8_t* p, size_t bytes) {
#if DUMPHOOK_CRC_TABLES == 8
  for (; bytes >= 8; bytes -= 8, p += 8) {
    const uint32_t low = load_le<uint32_t>(p) ^ reg;
    const uint32_t high = load_le<uint32_t>(p + 4);
    reg = kTables.by[7][low & 0xFF] ^ kTables.by[6][(low >> 8) & 0xFF] ^ kTables.by[5][(low >> 16) & 0xFF] ^
          kTables.by[4][low >> 24] ^ kTables.by[3][high & 0xFF] ^ kTables.by[2][(high >> 8) & 0xFF] ^
          kTables.by[1][(high >> 16) & 0xFF] ^ kTables.by[0][high >> 24];
  }
#endif
  for (; bytes != 0; --bytes, ++p) reg = (reg >> 8) ^ kTables.by[0][(reg ^ *p) & 0xFF];
  return reg;
}

#if defined(__aarch64__) || defined(__x86_64__)

// 0: not asked yet, 1: no, 2: yes. Every thread finds the same answer, so a race is harmless.
std::atomic<uint8_t> cpu_answer{0};

template <bool (*Ask)()>
bool cpu_can() {
  uint8_t answer = cpu_answer.load(std::memory_order_relaxed);
  if (answer == 0) {
    answer = Ask() ? 2 : 1;
    cpu_answer.store(answer, std::memory_order_relaxed);
  }
  return answer == 2;
}

#endif

#if defined(__aarch64__)

#if defined(__ARM_FEATURE_CRC32)
bool has_fast_path() { return true; }
#else
bool ask_cpu() {
  constexpr unsigned long kHwcapCrc32 = 1ul << 7;
  return (getauxval(AT_HWCAP) & kHwcapCrc32) != 0;
}
bool has_fast_path() { return cpu_can<ask_cpu>(); }
#endif

// Assembly, because compilers disagree on how a single function asks for the extension.
uint32_t step8(uint32_t reg, uint64_t value) {
  __asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %x1" : "+r"(reg) : "r"(value));
  return reg;
}

uint32_t step1(uint32_t reg, uint32_t value) {
  __asm__(".arch_extension crc\n\tcrc32b %w0, %w0, %w1" : "+r"(reg) : "r"(value));
  return reg;
}

uint32_t add_fast(uint32_t reg, const uint8_t* p, size_t bytes) {
  for (; bytes >= 32; bytes -= 32, p += 32) {
    reg = step8(reg, load_le<uint64_t>(p));
    reg = step8(reg, load_le<uint64_t>(p + 8));
    reg = step8(reg, load_le<uint64_t>(p + 16));
    reg = step8(reg, load_le<uint64_t>(p + 24));
  }
  for (; bytes >= 8; bytes -= 8, p += 8) reg = step8(reg, load_le<uint64_t>(p));
  for (; bytes != 0; --bytes, ++p) reg = step1(reg, *p);
  return reg;
}

#elif defined(__x86_64__)

bool ask_cpu() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_PCLMUL) != 0;
}
bool has_fast_path() { return cpu_can<ask_cpu>(); }

// The product of `value` and the power of x that `keys` stands for: moves 16 bytes on by a fixed distance.
__attribute__((target("pclmul"))) inline __m128i fold(__m128i value, __m128i keys) {
  return _mm_xor_si128(_mm_clmulepi64_si128(value, keys, 0x00), _mm_clmulepi64_si128(value, keys, 0x11));
}

// Folding as in "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Gopal et al., Intel, 2009).
// The constants are x^n mod P, bit-reflected and shifted left by one, for n = 64*8+32, 64*8-32 and 16*8+32, 16*8-32.
// The paper's last reduction is left to the tables: 16 bytes in place of all that came before.
__attribute__((target("pclmul"))) uint32_t add_fast(uint32_t reg, const uint8_t* p, size_t bytes) {
  if (bytes < 128) return add_sliced(reg, p, bytes);
  const auto load = [](const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  const __m128i by_64_bytes = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by_16_bytes = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(reg)));
  __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
  p += 64, bytes -= 64;
  for (; bytes >= 64; bytes -= 64, p += 64) {
    a = _mm_xor_si128(fold(a, by_64_bytes), load(p));
    b = _mm_xor_si128(fold(b, by_64_bytes), load(p + 16));
    c = _mm_xor_si128(fold(c, by_64_bytes), load(p + 32));
    d = _mm_xor_si128(fold(d, by_64_bytes), load(p + 48));
  }
  a = _mm_xor_si128(fold(a, by_16_bytes), b);
  a = _mm_xor_si128(fold(a, by_16_bytes), c);
  a = _mm_xor_si128(fold(a, by_16_bytes), d);
  for (; bytes >= 16; bytes -= 16, p += 16) a = _mm_xor_si128(fold(a, by_16_bytes), load(p));
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), a);
  return add_sliced(add_sliced(0, rest, sizeof rest), p, bytes);
}

#else

bool has_fast_path() { return false; }
uint32_t add_fast(uint32_t reg, const uint8_t* p, size_t bytes) { return add_sliced(reg, p, bytes); }

#endif

// a * b mod P, both reflected: bit 31 is x^0.
uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  return ~(has_fast_path() ? add_fast(~crc, p, bytes) : add_sliced(~crc, p, bytes));
}

uint32_t crc32_portable(uint32_t crc, const void* data, size_t bytes) {
  return ~add_sliced(~crc, static_cast<const uint8_t*>(data), bytes);
}

uint32_t crc32_combine(uint32_t crc_a, uint32_t crc_b, uint64_t b_bytes) {
  uint32_t square = 1u << 23;  // x^8, one byte; squared for each bit of the length
  for (; b_bytes != 0; b_bytes >>= 1) {
    if ((b_bytes & 1) != 0) crc_a = multiply(square, crc_a);
    square = multiply(square, square);
  }
  return crc_a ^ crc_b;
}

}  // namespace dumphook
