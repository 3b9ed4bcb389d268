// SPDX-License-Identifier: Apache-2.0
#include "decode/real_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "decode/dtype.h"

namespace dumphook {
namespace {

template <class T>
Tensor tensor_of(DType dtype, Shape shape, const std::vector<T>& elements) {
  Tensor tensor;
  tensor.descriptor.dtype = dtype;
  tensor.descriptor.shape = std::move(shape);
  tensor.bytes.resize(elements.size() * sizeof(T));
  if (!elements.empty()) memcpy(tensor.bytes.data(), elements.data(), tensor.bytes.size());
  return tensor;
}

using Values = std::vector<double>;

TEST(RealValues, EveryIntegerType_KeepsItsLimits) {
  EXPECT_EQ(stored_values(tensor_of<int8_t>(DType::i8, {2}, {-128, 127})), (Values{-128, 127}));
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::u8, {2}, {0, 255})), (Values{0, 255}));
  EXPECT_EQ(stored_values(tensor_of<int16_t>(DType::i16, {2}, {-32768, 32767})), (Values{-32768, 32767}));
  EXPECT_EQ(stored_values(tensor_of<uint16_t>(DType::u16, {1}, {65535})), (Values{65535}));
  EXPECT_EQ(stored_values(tensor_of<int32_t>(DType::i32, {1}, {INT32_MIN})), (Values{-2147483648.0}));
  EXPECT_EQ(stored_values(tensor_of<uint32_t>(DType::u32, {1}, {UINT32_MAX})), (Values{4294967295.0}));
  EXPECT_EQ(stored_values(tensor_of<int64_t>(DType::i64, {1}, {-(int64_t{1} << 53)})), (Values{-9007199254740992.0}));
  EXPECT_EQ(stored_values(tensor_of<uint64_t>(DType::u64, {1}, {uint64_t{1} << 63})), (Values{0x1p63}));
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::boolean, {3}, {0, 1, 2})), (Values{0, 1, 1}));
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::raw, {2}, {1, 200})), (Values{1, 200}));
}

TEST(RealValues, FourBitTypes_LowNibbleFirst) {
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::i4, {3}, {0x8F, 0x07})), (Values{-1, -8, 7}));
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::u4, {3}, {0x8F, 0x07})), (Values{15, 8, 7}));
}

TEST(RealValues, Float16_EveryPattern) {
  std::vector<uint16_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  const Values values = stored_values(tensor_of(DType::f16, {65536}, patterns));
  for (size_t i = 0; i < patterns.size(); ++i) {
    const float expected = f16_value(patterns[i]);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(values[i])) << i;
    else
      ASSERT_EQ(values[i], static_cast<double>(expected)) << i;
  }
  EXPECT_EQ(f16_value(0x3C00), 1.0f);
  EXPECT_EQ(f16_value(0xC000), -2.0f);
  EXPECT_EQ(f16_value(0x7BFF), 65504.0f);
  EXPECT_EQ(f16_value(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_value(0x03FF), 1023 * 0x1p-24f);
  EXPECT_TRUE(std::signbit(f16_value(0x8000)));
  EXPECT_EQ(f16_value(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f16_value(0x7E00)));
}

TEST(RealValues, EightBitFloats_KnownValues) {
  EXPECT_EQ(f8e4m3_value(0x38), 1.0f);
  EXPECT_EQ(f8e4m3_value(0x7E), 448.0f);
  EXPECT_EQ(f8e4m3_value(0x01), 0x1p-9f);
  EXPECT_EQ(f8e4m3_value(0x08), 0x1p-6f);
  EXPECT_TRUE(std::isnan(f8e4m3_value(0x7F)) && std::isnan(f8e4m3_value(0xFF)));
  EXPECT_EQ(f8e4m3_value(0xC0), -2.0f);
  EXPECT_EQ(f8e5m2_value(0x3C), 1.0f);
  EXPECT_EQ(f8e5m2_value(0x7B), 57344.0f);
  EXPECT_EQ(f8e5m2_value(0x01), 0x1p-16f);
  EXPECT_EQ(f8e5m2_value(0xFC), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(bf16_value(0x3F80), 1.0f);
  EXPECT_EQ(bf16_value(0xC2F7), -123.5f);
}

TEST(RealValues, PerTensorQuantization) {
  Tensor tensor = tensor_of<int8_t>(DType::i8, {3}, {-128, 3, 127});
  tensor.descriptor.quantization = {{0.5f}, {3}, -1};
  EXPECT_EQ(real_values(tensor), (Values{-65.5, 0, 62}));
  EXPECT_EQ(stored_values(tensor), (Values{-128, 3, 127}));
  EXPECT_EQ(real_values_f32(tensor), (std::vector<float>{-65.5f, 0, 62}));
  tensor.descriptor.quantization.zero_point.clear();
  EXPECT_EQ(real_values(tensor), (Values{-64, 1.5, 63.5}));
}

TEST(RealValues, PerAxisQuantization_OnEveryAxis) {
  Tensor tensor = tensor_of<uint8_t>(DType::u8, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  tensor.descriptor.quantization = {{1, 10}, {0, 1}, 0};
  EXPECT_EQ(real_values(tensor), (Values{1, 2, 3, 4, 5, 6, 60, 70, 80, 90, 100, 110}));
  tensor.descriptor.quantization = {{1, 10, 100}, {}, 1};
  EXPECT_EQ(real_values(tensor), (Values{1, 2, 30, 40, 500, 600, 7, 8, 90, 100, 1100, 1200}));
  tensor.descriptor.quantization = {{1, -1}, {0, 0}, 2};
  EXPECT_EQ(real_values(tensor), (Values{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12}));
  EXPECT_EQ(real_values_f32(tensor)[11], -12.0f);
}

TEST(RealValues, QuantizationThatDoesNotFit_IsIgnored) {
  Tensor tensor = tensor_of<uint8_t>(DType::u8, {2, 2}, {1, 2, 3, 4});
  for (const Quantization& quantization : {Quantization{{1, 2, 3}, {}, 0}, Quantization{{2, 2}, {}, 5},
                                           Quantization{{2, 2}, {}, -1}, Quantization{{2, 2}, {1}, 0}}) {
    tensor.descriptor.quantization = quantization;
    EXPECT_EQ(real_values(tensor), (Values{1, 2, 3, 4}));
  }
}

TEST(RealValues, EmptyAndScalarTensors) {
  EXPECT_TRUE(real_values(tensor_of<float>(DType::f32, {0, 3}, {})).empty());
  EXPECT_EQ(real_values(tensor_of<float>(DType::f32, {}, {2.5f})), (Values{2.5}));
  Tensor tensor = tensor_of<uint8_t>(DType::u8, {3, 0}, {});
  tensor.descriptor.quantization = {{1, 2, 3}, {}, 0};
  EXPECT_TRUE(real_values(tensor).empty());
}

// NV12: the shape says 4x4, the planes hold half as much again.
TEST(RealValues, BytesBeyondTheShape_AreAllThere) {
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::u8, {4, 4}, std::vector<uint8_t>(24, 9))).size(), 24u);
  EXPECT_EQ(stored_values(tensor_of<uint8_t>(DType::f32, {4, 4}, std::vector<uint8_t>(23, 0))).size(), 5u);
}

TEST(DType, SizesThatDoNotFit_AreNothing) {
  EXPECT_FALSE(dense_bytes(DType::f32, {int64_t{1} << 40, int64_t{1} << 40}));
  EXPECT_FALSE(dense_bytes(DType::f64, {int64_t{1} << 61}));
  EXPECT_FALSE(dense_bytes(DType::u8, {-1}));
  EXPECT_EQ(dense_bytes(DType::f64, {int64_t{1} << 61, 0}), 0u);
  EXPECT_EQ(dense_bytes(DType::i4, {5}), 3u);
  EXPECT_EQ(shape_text({1, 3, 224}), "1x3x224");
}

TEST(ValueReader, AnyPiece_IsAsTheWhole) {
  std::vector<uint8_t> bytes(60);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  Tensor tensor = tensor_of<uint8_t>(DType::i4, {3, 5, 8}, bytes);
  for (const int axis : {-1, 0, 1, 2}) {
    const size_t pairs = axis < 0 ? 1 : static_cast<size_t>(tensor.descriptor.shape[static_cast<size_t>(axis)]);
    tensor.descriptor.quantization = {std::vector<float>(pairs), std::vector<int32_t>(pairs), axis};
    for (size_t i = 0; i < pairs; ++i) {
      tensor.descriptor.quantization.scale[i] = static_cast<float>(i + 1);
      tensor.descriptor.quantization.zero_point[i] = static_cast<int32_t>(i);
    }
    const Values whole = real_values(tensor);
    const ValueReader reader(tensor, dumphook::Values::real);
    ASSERT_EQ(reader.size(), 120u);
    for (size_t first = 0; first < whole.size(); first += 7)
      for (size_t count = 0; count <= std::min<size_t>(20, whole.size() - first); ++count) {
        Values piece(count);
        reader.read(first, count, piece.data());
        const auto from = whole.begin() + static_cast<std::ptrdiff_t>(first);
        EXPECT_EQ(piece, Values(from, from + static_cast<std::ptrdiff_t>(count))) << axis << " " << first;
      }
    EXPECT_EQ(reader.at(119), whole[119]);
  }
}

}  // namespace
}  // namespace dumphook
