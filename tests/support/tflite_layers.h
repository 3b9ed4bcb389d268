// SPDX-License-Identifier: Apache-2.0
// Compares captured layers with what TFLite gives without the hook. Knows nothing of how the capture got here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dumphook/dumphook.h"
#include "tflite_runner.h"

namespace dumphook::test {

struct LayerValue {
  std::string name;
  dh_dtype dtype = DH_RAW;
  std::vector<int64_t> shape;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  Bytes bytes;
};

// All node outputs of subgraph 0 in execution order, read from a copy of the model in which they are outputs.
std::vector<LayerValue> exposed_layers(const Bytes& model, const Bytes& input);

// Names, types, shapes, quantization and every element. Prints how much was compared.
void expect_equal(const std::vector<LayerValue>& captured, const std::vector<LayerValue>& exposed);

}  // namespace dumphook::test
