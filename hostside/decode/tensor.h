// SPDX-License-Identifier: Apache-2.0
// Tensor: what decode gives and everything after it takes. Owned bytes plus all the capture says about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dumphook {

// Values as in schemas/types.fbs.
enum class DType : uint8_t {
  raw,
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  i64,
  u64,
  i32,
  u32,
  i16,
  u16,
  i8,
  u8,
  boolean,
  i4,
  u4
};
enum class Layout : uint8_t { any, nchw, nhwc, nc4hw4, nc1hwc2, nc1hwc0, nv12, nv21, rgb, bgr, text };
enum class Role : uint8_t { intermediate, input, preprocessed, output, postprocessed };

using Shape = std::vector<int64_t>;

// real = scale[i] * (q - zero_point[i]). One pair, or shape[axis] pairs when axis >= 0. Empty scale: not quantized.
struct Quantization {
  std::vector<float> scale;
  std::vector<int32_t> zero_point;  // empty, or as many as scale
  int axis = -1;
};

// A plane of an image as it lay in the board's memory. In `bytes` the planes follow each other without row padding.
struct Plane {
  uint64_t row_stride = 0, row_bytes = 0, rows = 0;
};

struct Descriptor {
  uint64_t hash = 0;
  uint32_t tensor_id = 0;
  std::string model, name, op, raw_type;
  std::vector<std::string> origin_names;
  Role role = Role::intermediate;
  DType dtype = DType::raw;
  Layout layout = Layout::any;
  Shape shape, logical_shape, strides;  // strides in bytes, on the board
  std::vector<Plane> planes;
  Quantization quantization;
  int node_index = -1;
  int output_slot = 0;
  std::map<std::string, std::string> attributes;
};

// A whole tensor in memory: dense, C order, little-endian; int4 two to a byte, low nibble first.
struct Tensor {
  Descriptor descriptor;  // shape and dtype here are those of the bytes
  std::vector<std::byte> bytes;
  uint64_t frame = 0;
  uint32_t instance = 0;
  uint32_t occurrence = 0;
};

}  // namespace dumphook
