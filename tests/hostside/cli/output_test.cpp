// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "cli/value_text.h"

namespace dumphook {
namespace {

TEST(Output, TextFromTheBoard_CannotSteerTheTerminal) {
  EXPECT_EQ(shown("conv1/größe"), "conv1/größe");
  EXPECT_EQ(shown("a\x1b[31m\n\x7f"), "a\\x1b[31m\\x0a\\x7f");
  EXPECT_EQ(shown("\xC2\x9B"
                  "31m"),
            "\\xc2\\x9b31m");  // the one-character form of ESC [
  EXPECT_EQ(shown("\xFF\xC3("), "\\xff\\xc3(");
  EXPECT_EQ(shown("\xC0\xAF \xED\xA0\x80"), "\\xc0\\xaf \\xed\\xa0\\x80");  // overlong, surrogate
}

TEST(Output, Sizes_AreReadable) {
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(uint64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(bytes_text(~uint64_t{0}), "16.0 EiB");
  EXPECT_EQ(duration_text(1500000000), "1.500 s");
  EXPECT_EQ(duration_text(200000000000), "3 min 20 s");
  EXPECT_EQ(time_text(0), "1970-01-01 00:00:00 UTC");
}

TEST(Output, Tables_AlignByCodePoints) {
  Table table({{"#", true}, {"name"}, {"bytes", true}});
  table.add({"0", "größe", "12"});
  table.add({"10", "b", "3"});
  EXPECT_EQ(table.text(Output{}), " #  name   bytes\n 0  größe     12\n10  b          3\n");
}

template <class T>
Tensor tensor_of(DType dtype, const std::vector<T>& values) {
  Tensor tensor;
  tensor.descriptor.dtype = dtype;
  tensor.descriptor.shape = {static_cast<int64_t>(values.size())};
  tensor.bytes.resize(values.size() * sizeof(T));
  memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

std::string text_of(const Tensor& tensor, bool one_per_row) {
  ValueText text(tensor, Values::real, one_per_row);
  for (uint64_t i = 0; i < text.count(); ++i) text.add(i);
  text.finish();
  return text.take();
}

TEST(ValueText, SixteenARow_AsVendorsDo) {
  std::vector<float> values(17);
  std::iota(values.begin(), values.end(), 0.0f);
  const std::string rows = text_of(tensor_of(DType::f32, values), false);
  EXPECT_EQ(rows.substr(0, 20), "0.000000, 1.000000, ");
  EXPECT_EQ(rows.substr(rows.find('\n') + 1), "16.000000, \n");
}

TEST(ValueText, OneARowAndIntegers) {
  EXPECT_EQ(text_of(tensor_of<int32_t>(DType::i32, {-3, 40000}), true), "-3\n40000\n");
  Tensor quantized = tensor_of<int32_t>(DType::i32, {-3, 4});
  quantized.descriptor.quantization.scale = {0.5f};
  EXPECT_EQ(text_of(quantized, true), "-1.500000\n2.000000\n");
}

}  // namespace
}  // namespace dumphook
