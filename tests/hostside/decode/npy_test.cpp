// SPDX-License-Identifier: Apache-2.0
#include "decode/npy.h"

#include <gtest/gtest.h>

#include "decode/dtype.h"
#include "decode/real_values.h"

namespace dumphook {
namespace {

std::string npy(const std::string& dictionary, const std::string& data, char major = 1) {
  std::string file("\x93NUMPY", 6);
  file += major;
  file += '\0';
  const std::string header = dictionary + "\n";
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  if (major > 1) file += std::string(2, '\0');
  return file + header + data;
}

Expected<Tensor> parse(const std::string& file) {
  // A copy of its own size, so that a sanitizer sees reads beyond it.
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  return parse_npy(ConstBytes(bytes.data(), bytes.size()));
}

const std::string kTwoByTwo = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }";
const std::string kData("\x01\0\x02\0\x03\0\x04\0", 8);

TEST(Npy, LiteralFile_Version1And2And3) {
  for (const char major : {'\1', '\2', '\3'}) {
    const auto tensor = parse(npy(kTwoByTwo, kData, major));
    ASSERT_TRUE(tensor.ok()) << tensor.error().what;
    EXPECT_EQ(tensor->descriptor.dtype, DType::i16);
    EXPECT_EQ(tensor->descriptor.shape, (Shape{2, 2}));
    EXPECT_EQ(stored_values(*tensor), (std::vector<double>{1, 2, 3, 4}));
  }
}

TEST(Npy, FortranOrderAndBigEndian_BecomeOurs) {
  const auto tensor = parse(
      npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", std::string("\0\x01\0\x02\0\x03\0\x04", 8)));
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(stored_values(*tensor), (std::vector<double>{1, 3, 2, 4}));
}

TEST(Npy, OtherSpellings_AreRead) {
  EXPECT_TRUE(parse(npy("{\"shape\":(4,),\"descr\":\"i2\",\"fortran_order\":False}", kData)).ok());
  EXPECT_TRUE(parse(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 2L), }", kData)).ok());
  EXPECT_TRUE(parse(npy("{'descr': '=f8', 'fortran_order': False, 'shape': (), }", kData)).ok());
}

TEST(Npy, CutAnywhere_IsAnError) {
  const std::string file = npy(kTwoByTwo, kData);
  for (size_t size = 0; size < file.size(); ++size) EXPECT_FALSE(parse(file.substr(0, size)).ok()) << size;
}

TEST(Npy, FlippedBits_NeverCrash) {
  const std::string file = npy(kTwoByTwo, kData);
  for (size_t i = 0; i < file.size() * 8; ++i) {
    std::string damaged = file;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    const auto tensor = parse(damaged);
    EXPECT_TRUE(!tensor.ok() || tensor->bytes.size() <= file.size());
  }
}

TEST(Npy, WhatIsNotSupported_IsSaid) {
  for (const char* header :
       {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '|V2', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "{'descr': '<f4', 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999), }", "no dictionary"}) {
    const auto tensor = parse(npy(header, kData));
    ASSERT_FALSE(tensor.ok()) << header;
    EXPECT_NE(tensor.error().what.find(".npy"), std::string::npos);
  }
}

TEST(Npy, WhatWeWrite_ComesBack) {
  for (uint8_t type = 0; type <= static_cast<uint8_t>(DType::u4); ++type) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 3}}) {
      Tensor tensor;
      tensor.descriptor.dtype = static_cast<DType>(type);
      tensor.descriptor.shape = shape;
      tensor.bytes.resize(static_cast<size_t>(*dense_bytes(tensor.descriptor.dtype, shape)), std::byte{0x01});
      const NpyFile file = npy_of_stored(tensor);
      EXPECT_EQ(file.header.size() % 64, 0u);
      const ConstBytes data = npy_data(file, tensor);
      const auto back = parse(file.header + std::string(reinterpret_cast<const char*>(data.data), data.size));
      ASSERT_TRUE(back.ok()) << back.error().what;
      EXPECT_EQ(back->descriptor.shape, shape);
      EXPECT_EQ(stored_values(*back), stored_values(tensor)) << dtype_name(tensor.descriptor.dtype);
    }
  }
}

TEST(Npy, QuantizedTensor_AsRealValues) {
  Tensor tensor;
  tensor.descriptor.dtype = DType::i8;
  tensor.descriptor.shape = {2};
  tensor.descriptor.quantization = {{0.25f}, {1}, -1};
  tensor.bytes = {std::byte{5}, std::byte{0xFF}};
  const NpyFile file = npy_of_real(tensor);
  EXPECT_NE(file.header.find("<f4"), std::string::npos);
  EXPECT_FALSE(file.note.empty());
  const ConstBytes data = npy_data(file, tensor);
  ASSERT_EQ(data.size, 8u);
  EXPECT_EQ(load_le<float>(data.data), 1.0f);
  EXPECT_EQ(load_le<float>(data.data + 4), -0.5f);
}

}  // namespace
}  // namespace dumphook
