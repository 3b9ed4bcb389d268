// SPDX-License-Identifier: Apache-2.0
#include "decode/npz.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "capture_builder.h"
#include "decode/npy.h"
#include "decode/real_values.h"

namespace dumphook {
namespace {

using dumphook_test::scratch_folder;
using dumphook_test::write_file;

Tensor ramp(size_t count) {
  Tensor tensor;
  tensor.descriptor.dtype = DType::u8;
  tensor.descriptor.shape = {static_cast<int64_t>(count)};
  for (size_t i = 0; i < count; ++i) tensor.bytes.push_back(static_cast<std::byte>(i & 0xFF));
  return tensor;
}

std::string archive_of(const std::vector<Tensor>& tensors, bool deflate) {
  const std::string path = scratch_folder() + "/made.npz";
  std::FILE* file = std::fopen(path.c_str(), "w+b");
  NpzWriter writer(file, deflate);
  int number = 0;
  for (const Tensor& tensor : tensors) {
    const NpyFile npy = npy_of_stored(tensor);
    EXPECT_TRUE(writer
                    .add("t" + std::to_string(number++),
                         ConstBytes(reinterpret_cast<const uint8_t*>(npy.header.data()), npy.header.size()),
                         npy_data(npy, tensor))
                    .ok());
  }
  EXPECT_TRUE(writer.close().ok());
  std::fclose(file);
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(Npz, StoredAndDeflated_ComeBack) {
  for (const bool deflate : {false, true}) {
    const std::string path = scratch_folder() + "/back.npz";
    const std::string bytes = archive_of({ramp(10), ramp(0), ramp(700000)}, deflate);
    write_file(path, bytes);
    EXPECT_EQ(bytes.size() < 100000, deflate);
    const auto tensors = read_npz(path);
    ASSERT_TRUE(tensors.ok()) << tensors.error().what;
    ASSERT_EQ(tensors->size(), 3u);
    EXPECT_EQ((*tensors)[2].descriptor.name, "t2");
    EXPECT_EQ((*tensors)[2].bytes, ramp(700000).bytes);
  }
}

TEST(Npz, SameTensors_GiveTheSameFile) { EXPECT_EQ(archive_of({ramp(100)}, true), archive_of({ramp(100)}, true)); }

TEST(Npz, DamagedFiles_AreErrorsOrRight) {
  const std::string path = scratch_folder() + "/damaged.npz";
  const std::string bytes = archive_of({ramp(10), ramp(20)}, true);
  for (size_t size = 0; size < bytes.size(); ++size) {
    write_file(path, bytes.substr(0, size));
    EXPECT_FALSE(read_npz(path).ok()) << size;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x21);
    write_file(path, damaged);
    const auto tensors = read_npz(path);
    if (!tensors.ok()) continue;
    for (const Tensor& tensor : *tensors) EXPECT_LE(tensor.bytes.size(), 20u);
  }
}

}  // namespace
}  // namespace dumphook
