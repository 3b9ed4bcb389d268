// SPDX-License-Identifier: Apache-2.0
// For npy_check.py. `write FOLDER`: a .npy of every element type and some shapes, and two .npz. `read FILE...`: the
// type, the shape and all values of each array, as text.
#include <cstdio>
#include <cstring>
#include <string>

#include "decode/dtype.h"
#include "decode/npy.h"
#include "decode/npz.h"
#include "decode/real_values.h"
#include "decode/stem.h"

namespace {

using namespace dumphook;

constexpr uint8_t kTypes = 18;

Tensor sample(DType dtype, const Shape& shape) {
  Tensor tensor;
  tensor.descriptor.dtype = dtype;
  tensor.descriptor.shape = shape;
  tensor.descriptor.name = dtype_name(dtype);
  tensor.bytes.resize(static_cast<size_t>(*dense_bytes(dtype, shape)));
  for (size_t i = 0; i < tensor.bytes.size(); ++i) {
    const size_t value = dtype == DType::boolean ? i % 2 : i * 37 + 11;
    tensor.bytes[i] = static_cast<std::byte>(value & 0xFF);
  }
  return tensor;
}

bool write_npy(const std::string& path, const Tensor& tensor) {
  const NpyFile npy = npy_of_stored(tensor);
  const ConstBytes data = npy_data(npy, tensor);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool good = std::fwrite(npy.header.data(), 1, npy.header.size(), file) == npy.header.size() &&
                    (data.empty() || std::fwrite(data.data, 1, data.size, file) == data.size);
  return std::fclose(file) == 0 && good;
}

bool write_npz(const std::string& path, bool deflate) {
  std::FILE* file = std::fopen(path.c_str(), "w+b");
  if (file == nullptr) return false;
  NpzWriter archive(file, deflate);
  bool good = true;
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0, 5}, Shape{600, 700}}) {
    const Tensor tensor = sample(DType::i16, shape);
    const NpyFile npy = npy_of_stored(tensor);
    const ConstBytes header(reinterpret_cast<const uint8_t*>(npy.header.data()), npy.header.size());
    good = good && archive.add(stem_of_name("a/" + shape_text(shape)), header, npy_data(npy, tensor)).ok();
  }
  good = archive.close().ok() && good;
  return std::fclose(file) == 0 && good;
}

int write_all(const std::string& folder) {
  bool good = true;
  for (uint8_t type = 0; type < kTypes; ++type) {
    const auto dtype = static_cast<DType>(type);
    good = write_npy(folder + "/" + dtype_name(dtype) + ".npy", sample(dtype, {2, 3, 5})) && good;
  }
  good = write_npy(folder + "/scalar.npy", sample(DType::f64, {})) && good;
  good = write_npy(folder + "/row.npy", sample(DType::i32, {7})) && good;
  good = write_npy(folder + "/empty.npy", sample(DType::f32, {4, 0, 3})) && good;
  good = write_npy(folder + "/long.npy", sample(DType::u8, {1, 1, 1, 1, 1, 1, 1, 123456})) && good;
  good = write_npz(folder + "/stored.npz", false) && write_npz(folder + "/deflated.npz", true) && good;
  return good ? 0 : 1;
}

void print(const Tensor& tensor) {
  std::printf("%s|%s|%s|", tensor.descriptor.name.c_str(), dtype_name(tensor.descriptor.dtype),
              shape_text(tensor.descriptor.shape).c_str());
  for (const double value : stored_values(tensor)) std::printf("%.17g ", value);
  std::printf("\n");
}

int read_all(int count, char** paths) {
  for (int i = 0; i < count; ++i) {
    const std::string path = paths[i];
    if (path.size() > 4 && path.substr(path.size() - 4) == ".npz") {
      const Expected<std::vector<Tensor>> tensors = read_npz(path);
      if (!tensors) return std::fprintf(stderr, "%s\n", tensors.error().what.c_str()), 1;
      for (const Tensor& tensor : *tensors) print(tensor);
    } else {
      const Expected<Tensor> tensor = read_npy(path);
      if (!tensor) return std::fprintf(stderr, "%s\n", tensor.error().what.c_str()), 1;
      print(*tensor);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "write") == 0) return write_all(argv[2]);
  if (argc > 2 && strcmp(argv[1], "read") == 0) return read_all(argc - 2, argv + 2);
  return 2;
}
