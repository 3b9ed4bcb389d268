// SPDX-License-Identifier: Apache-2.0
#include "wire/pack_kernels.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sample_tensors.h"
#include "wire/packed_part.h"

namespace dumphook {
namespace {

using dumphook_test::Kind;
using dumphook_test::sample_name;
using dumphook_test::sample_tensor;

constexpr uint32_t kTypeOf[] = {DH_F8E4M3, DH_F16, DH_F32, DH_F64};

PackedScratch scratch;

// On a machine without vectors that we use, these compare a set with itself.
TEST(PackKernels, VectorsMakeTheBytesOfThePortableOnes) {
  const PackKernels& vectors = pack_kernels();
  for (uint32_t dtype = DH_RAW; dtype <= DH_U4; ++dtype) {
    const unsigned width = dumphook_test::kWidths[dtype];
    const PackShape shape{width == 8 ? 3u : width / 2, dtype >= DH_F64 && dtype <= DH_F8E5M2 ? 1u : 0u};
    for (int kind = 0; kind < static_cast<int>(Kind::count); ++kind) {
      for (size_t bytes : {1u, 31u, 64u, 77u, 130u, 257u, 1000u, 5003u, 32768u, 70001u}) {
        SCOPED_TRACE(sample_name(dtype, static_cast<Kind>(kind), bytes));
        const std::vector<uint8_t> raw = sample_tensor(dtype, static_cast<Kind>(kind), bytes, 4);
        std::vector<uint8_t> one(bytes), other(bytes), decoded(bytes);
        const ConstBytes from(raw.data(), bytes);
        const size_t packed = packed_encode(from, shape, kPortableKernels, Bytes(one.data(), bytes), &scratch);
        ASSERT_EQ(packed, packed_encode(from, shape, vectors, Bytes(other.data(), bytes), &scratch));
        if (packed == 0) continue;
        one.resize(packed);
        other.resize(packed);
        ASSERT_EQ(one, other);
        one.shrink_to_fit();
        for (const UnpackKernels* kernels : {&kPortableUnpackKernels, &unpack_kernels()}) {
          std::fill(decoded.begin(), decoded.end(), uint8_t{0xA5});
          ASSERT_TRUE(
              packed_decode(ConstBytes(one.data(), packed), shape, *kernels, Bytes(decoded.data(), bytes), &scratch));
          ASSERT_EQ(raw, decoded);
        }
      }
    }
  }
}

TEST(PackKernels, EveryLevel_ComesBackAndAgrees) {
  std::mt19937 random(3);
  for (unsigned bits = 1; bits <= 7; ++bits) {
    for (size_t count = 0; count <= 130; ++count) {
      const PackLevel level{static_cast<uint8_t>(random()), static_cast<uint8_t>(bits)};
      const unsigned spread = 1 + random() % 256;
      std::vector<uint8_t> symbols(count), back(count);
      for (uint8_t& symbol : symbols) symbol = static_cast<uint8_t>(level.low + random() % spread);
      std::vector<uint8_t> fields[2], escapes[2];
      size_t escaped[2];
      for (int set = 0; set < 2; ++set) {
        const PackKernels& kernels = set == 0 ? kPortableKernels : pack_kernels();
        const UnpackKernels& back_kernels = set == 0 ? kPortableUnpackKernels : unpack_kernels();
        fields[set].resize(field_bytes(count, bits) + kPackSlack);
        escapes[set].resize(count + kPackSlack);
        escaped[set] = kernels.put_level(symbols.data(), count, level, fields[set].data(), escapes[set].data());
        fields[set].resize(field_bytes(count, bits));
        fields[set].shrink_to_fit();
        ASSERT_EQ(escaped[set],
                  back_kernels.take_level(fields[set].data(), count, level, escapes[set].data(), back.data()));
        ASSERT_EQ(symbols, back) << bits << " bits, " << count;
        escapes[set].resize(escaped[set]);
      }
      ASSERT_EQ(fields[0], fields[1]) << bits << " bits, " << count;
      ASSERT_EQ(escapes[0], escapes[1]) << bits << " bits, " << count;
    }
  }
}

TEST(PackKernels, EveryWidth_ComesBackAndAgrees) {
  for (unsigned log2 = 0; log2 < kPackWidths; ++log2) {
    const size_t width = size_t{1} << log2;
    for (size_t count = 0; count <= 70; ++count) {
      for (unsigned turn = 0; turn < 2; ++turn) {
        SCOPED_TRACE(testing::Message() << width << " bytes, " << count << " values, turn " << turn);
        const std::vector<uint8_t> values = sample_tensor(kTypeOf[log2], Kind::special, count * width, 9);
        std::vector<uint8_t> symbols[2], rest[2], masks[2], kept[2], back(count * width);
        for (int set = 0; set < 2; ++set) {
          const PackKernels& kernels = set == 0 ? kPortableKernels : pack_kernels();
          const UnpackKernels& back_kernels = set == 0 ? kPortableUnpackKernels : unpack_kernels();
          symbols[set].resize(count);
          rest[set].resize(count * (width - 1) + kPackSlack);
          kernels.split[log2](values.data(), count, turn, symbols[set].data(), rest[set].data());
          rest[set].resize(count * (width - 1));
          rest[set].shrink_to_fit();
          back_kernels.join[log2](symbols[set].data(), rest[set].data(), count, turn, back.data());
          ASSERT_EQ(values, back);

          masks[set].resize(field_bytes(count, 1));
          kept[set].resize(count * width + kPackSlack);
          const size_t nonzero = kernels.keep_nonzero[log2](values.data(), count, masks[set].data(), kept[set].data());
          back_kernels.spread[log2](masks[set].data(), count, kept[set].data(), back.data());
          ASSERT_EQ(values, back);
          kept[set].resize(nonzero * width);
        }
        ASSERT_EQ(symbols[0], symbols[1]);
        ASSERT_EQ(rest[0], rest[1]);
        ASSERT_EQ(masks[0], masks[1]);
        ASSERT_EQ(kept[0], kept[1]);
      }
    }
  }
}

}  // namespace
}  // namespace dumphook
