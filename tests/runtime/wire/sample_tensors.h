// SPDX-License-Identifier: Apache-2.0
// Bytes of tensors that codecs meet, made from a seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "dumphook/dumphook.h"

namespace dumphook_test {

enum class Kind { zeros, constant, gauss, relu, sparse, special, quantized, repeated, ramp, noise, mixed, count };

inline const char* kind_name(Kind kind) {
  constexpr const char* kNames[] = {"zeros",     "constant", "gauss", "relu",  "sparse", "special",
                                    "quantized", "repeated", "ramp",  "noise", "mixed"};
  return kNames[static_cast<int>(kind)];
}

constexpr unsigned kWidths[] = {1, 8, 4, 2, 2, 1, 1, 8, 8, 4, 4, 2, 2, 1, 1, 1, 1, 1};  // by dtype

// The bits of `value`, cut to the type. Integers: 16 steps to the unit.
inline uint64_t bits_of(double value, uint32_t dtype) {
  struct {
    unsigned exponent, mantissa;
  } constexpr kFloats[] = {{}, {11, 52}, {8, 23}, {5, 10}, {8, 7}, {4, 3}, {5, 2}};
  if (dtype < DH_F64 || dtype > DH_F8E5M2) return static_cast<uint64_t>(static_cast<int64_t>(value * 16));
  const auto [exponent_bits, mantissa_bits] = kFloats[dtype];
  const uint64_t sign = std::signbit(value) ? 1 : 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 ... 1
  const int biased = exponent - 1 + (1 << (exponent_bits - 1)) - 1;
  uint64_t magnitude = 0;
  if (value != 0 && biased > 0 && biased < (1 << exponent_bits) - 1) {
    const auto mantissa = static_cast<uint64_t>((fraction * 2 - 1) * std::ldexp(1.0, static_cast<int>(mantissa_bits)));
    magnitude = (static_cast<uint64_t>(biased) << mantissa_bits) | mantissa;
  }
  return (sign << (exponent_bits + mantissa_bits)) | magnitude;
}

inline std::vector<uint8_t> sample_tensor(uint32_t dtype, Kind kind, size_t bytes, uint32_t seed) {
  const unsigned width = dtype < sizeof kWidths / sizeof *kWidths ? kWidths[dtype] : 1;
  std::mt19937 random(seed * 131 + dtype * 7 + static_cast<uint32_t>(kind));
  std::normal_distribution<double> gauss(0, 2);
  std::vector<uint8_t> out(bytes);
  const auto all = [&](auto&& bits) {
    for (size_t i = 0; i < bytes; i += width) {
      const uint64_t value = bits(i / width);
      memcpy(out.data() + i, &value, bytes - i < width ? bytes - i : width);
    }
  };
  // The largest bits of the type: NaNs with all payloads and infinities are just below and, with the sign, above.
  const uint64_t top = width == 8 ? ~0ull : (1ull << (8 * width)) - 1;
  switch (kind) {
    case Kind::zeros: break;
    case Kind::constant: all([&](size_t) { return bits_of(-3.75, dtype); }); break;
    case Kind::gauss: all([&](size_t) { return bits_of(gauss(random), dtype); }); break;
    case Kind::relu: all([&](size_t) { return bits_of(std::fmax(0.0, gauss(random)), dtype); }); break;
    case Kind::sparse: all([&](size_t) { return random() % 50 != 0 ? 0 : bits_of(gauss(random), dtype); }); break;
    case Kind::special:
      all([&](size_t) -> uint64_t {
        const uint64_t sign = (top >> 1) + 1;
        switch (random() % 8) {
          case 0: return 0;
          case 1: return sign;              // -0
          case 2: return 1 + random() % 5;  // denormals
          case 3: return sign | (1 + random() % 5);
          case 4: return (top >> 1) - random() % 4;  // NaNs
          case 5: return top - random() % 4;
          case 6: return bits_of(1.0, dtype);
          default: return random() & top;
        }
      });
      break;
    case Kind::quantized:
      all([&](size_t) {
        const double value = gauss(random);
        return static_cast<uint64_t>(static_cast<int64_t>(value > 0 ? value * 12 : 0)) - 13;
      });
      break;
    case Kind::repeated: {
      std::vector<uint64_t> row(48);
      for (uint64_t& value : row) value = bits_of(gauss(random), dtype);
      all([&](size_t i) { return i % 1000 == 999 ? bits_of(gauss(random), dtype) : row[i % row.size()]; });
      break;
    }
    case Kind::ramp: all([&](size_t i) { return bits_of(static_cast<double>(i) / 64, dtype); }); break;
    case Kind::noise:
      for (uint8_t& byte : out) byte = static_cast<uint8_t>(random());
      break;
    default:  // a bit of each
      for (size_t at = 0, n = 0; at < bytes; ++n) {
        const auto some = static_cast<Kind>(n % static_cast<size_t>(Kind::mixed));
        const size_t length = bytes - at < 24000 ? bytes - at : 24000;
        const std::vector<uint8_t> piece = sample_tensor(dtype, some, length, seed + static_cast<uint32_t>(n));
        memcpy(out.data() + at, piece.data(), length);
        at += length;
      }
  }
  return out;
}

inline std::string sample_name(uint32_t dtype, Kind kind, size_t bytes) {
  return "dtype " + std::to_string(dtype) + ", " + kind_name(kind) + ", " + std::to_string(bytes) + " bytes";
}

}  // namespace dumphook_test
