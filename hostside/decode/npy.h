// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, versions 1 to 3. Format: numpy.lib.format in NumPy's documentation.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "decode/tensor.h"
#include "source/problem.h"

namespace dumphook {

// Big-endian and Fortran-order arrays become little-endian C order. Types: f8 f4 f2, i1 to i8, u1 to u8, b1. The
// tensor's name is left empty. An error names what is wrong and where.
Expected<Tensor> parse_npy(ConstBytes file);
// The file's stem, unescaped (see stem.h), becomes the tensor's name.
Expected<Tensor> read_npy(const std::string& path);

// The file's bytes before the values, and the values, dense.
struct NpyFile {
  std::string header;
  std::vector<std::byte> data;  // empty: the tensor's own bytes are the values
  std::string note;             // how the type was changed, where NumPy has none like it
};
// The stored values. bf16, f8e4m3 and f8e5m2 become float32, i4 and u4 become int8 and uint8, raw becomes uint8.
NpyFile npy_of_stored(const Tensor& tensor);
// The real values as float32; a tensor that is not quantized as npy_of_stored.
NpyFile npy_of_real(const Tensor& tensor);

inline ConstBytes npy_data(const NpyFile& file, const Tensor& tensor) {
  const std::vector<std::byte>& bytes = file.data.empty() ? tensor.bytes : file.data;
  return ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace dumphook
