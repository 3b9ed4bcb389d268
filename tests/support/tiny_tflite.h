// SPDX-License-Identifier: Apache-2.0
// Builds small .tflite files, for what real models rarely have. Written with the field numbers of TFLite's schema.fbs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dumphook::test {

struct TinyTensor {
  std::string name{};
  std::vector<int32_t> shape{};
  int type = 0;                 // TensorType of the schema: 0 float32, 2 int32, 5 string, 6 bool, 8 complex64, 9 int8
  std::vector<uint8_t> data{};  // a constant's bytes
  std::vector<float> scale{};
  std::vector<int64_t> zero_point{};
  int axis = 0;
};

struct TinyOp {
  int code = 32;         // BuiltinOperator; 32 is CUSTOM
  std::string custom{};  // its name
  std::vector<int32_t> inputs{}, outputs{};
  int options_type = 0;  // BuiltinOptions
  std::vector<int32_t> options{};
};

struct TinySubgraph {
  std::vector<TinyTensor> tensors{};
  std::vector<int32_t> inputs{}, outputs{};
  std::vector<TinyOp> ops{};
};

std::vector<uint8_t> tiny_tflite(const std::vector<TinySubgraph>& subgraphs);

}  // namespace dumphook::test
