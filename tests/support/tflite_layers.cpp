// SPDX-License-Identifier: Apache-2.0
#include "tflite_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "dumphook/adapters/tflite.hpp"
#include "tflite_expose_outputs.h"

namespace dumphook::test {

std::vector<LayerValue> exposed_layers(const Bytes& model, const Bytes& input) {
  Interpreter interpreter(with_outputs(model, node_outputs(model)));
  EXPECT_TRUE(interpreter.create());
  interpreter.set_input(input);
  EXPECT_EQ(interpreter.invoke(), kTfLiteOk);
  std::vector<LayerValue> layers;
  for (const TfLiteTensor* tensor : interpreter.outputs()) {
    LayerValue layer;
    layer.name = TfLiteTensorName(tensor);
    layer.dtype = tflite::dtype_of(TfLiteTensorType(tensor));
    for (int i = 0; i < TfLiteTensorNumDims(tensor); ++i) layer.shape.push_back(TfLiteTensorDim(tensor, i));
    const auto* data = static_cast<const uint8_t*>(TfLiteTensorData(tensor));
    layer.bytes.assign(data, data + TfLiteTensorByteSize(tensor));
    if (tensor->quantization.type == kTfLiteAffineQuantization) {
      const auto* affine = static_cast<const TfLiteAffineQuantization*>(tensor->quantization.params);
      layer.scales.assign(affine->scale->data, affine->scale->data + affine->scale->size);
      layer.zero_points.assign(affine->zero_point->data, affine->zero_point->data + affine->zero_point->size);
    }
    layers.push_back(layer);
  }
  return layers;
}

void expect_equal(const std::vector<LayerValue>& captured, const std::vector<LayerValue>& exposed) {
  ASSERT_EQ(captured.size(), exposed.size());
  size_t elements = 0, quantized = 0;
  for (size_t i = 0; i < captured.size(); ++i) {
    const LayerValue &got = captured[i], &want = exposed[i];
    SCOPED_TRACE(want.name);
    // The adapter tells tensors of the same name apart by "#<tensor index>".
    EXPECT_TRUE(got.name == want.name || got.name.rfind(want.name + "#", 0) == 0) << got.name;
    EXPECT_EQ(got.dtype, want.dtype);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.scales, want.scales);
    EXPECT_EQ(got.zero_points, want.zero_points);
    ASSERT_EQ(got.bytes.size(), want.bytes.size());
    size_t count = 1;
    for (int64_t size : want.shape) count *= static_cast<size_t>(size);
    const size_t element_bytes = count ? want.bytes.size() / count : 1;
    for (size_t at = 0; at < want.bytes.size(); at += element_bytes) {
      ASSERT_EQ(std::memcmp(&got.bytes[at], &want.bytes[at], element_bytes), 0) << "element " << at / element_bytes;
    }
    elements += count;
    quantized += !want.scales.empty();
  }
  std::cout << "  " << captured.size() << " tensors, " << elements << " elements equal; " << quantized
            << " quantized\n";
}

}  // namespace dumphook::test
