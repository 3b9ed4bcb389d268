// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace {

void check(bool ok, const std::string& what) {
  if (!ok) throw std::runtime_error(what);
}

}  // namespace

Model::Model(const std::string& path, const std::vector<dumphook::tflite::HookDelegate*>& hooks)
    : model_(TfLiteModelCreateFromFile(path.c_str()), TfLiteModelDelete),
      interpreter_(nullptr, TfLiteInterpreterDelete) {
  check(model_ != nullptr, path + ": not a readable .tflite model");
  Owned<TfLiteInterpreterOptions> options(TfLiteInterpreterOptionsCreate(), TfLiteInterpreterOptionsDelete);
  TfLiteInterpreterOptionsSetNumThreads(options.get(), 1);
  for (auto* hook : hooks) hook->add_to(options.get());
  interpreter_.reset(TfLiteInterpreterCreate(model_.get(), options.get()));
  check(interpreter_ != nullptr, path + ": TFLite cannot run this model");
  check(TfLiteInterpreterAllocateTensors(interpreter_.get()) == kTfLiteOk, path + ": out of memory");
  for (auto* hook : hooks) hook->bind(interpreter_.get());
}

int Model::input_side() const { return TfLiteTensorDim(TfLiteInterpreterGetInputTensor(interpreter_.get(), 0), 1); }

void Model::set_input(const std::vector<float>& values) {
  TfLiteTensor* input = TfLiteInterpreterGetInputTensor(interpreter_.get(), 0);
  if (TfLiteTensorType(input) == kTfLiteFloat32) {
    const TfLiteStatus copied = TfLiteTensorCopyFromBuffer(input, values.data(), values.size() * sizeof(float));
    check(copied == kTfLiteOk, "the model's input has another shape");
    return;
  }
  check(TfLiteTensorType(input) == kTfLiteInt8, "the model's input is neither float nor int8");
  check(TfLiteTensorByteSize(input) == values.size(), "the model's input has another shape");
  const TfLiteQuantizationParams quant = TfLiteTensorQuantizationParams(input);
  auto* to = static_cast<int8_t*>(TfLiteTensorData(input));
  for (float value : values) {
    const long step = std::lround(value / quant.scale) + quant.zero_point;
    *to++ = static_cast<int8_t>(std::min(127l, std::max(-128l, step)));
  }
}

void Model::run() { check(TfLiteInterpreterInvoke(interpreter_.get()) == kTfLiteOk, "the model failed"); }

std::vector<float> Model::output(const std::string& name) const {
  for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter_.get()); ++i) {
    const TfLiteTensor* tensor = TfLiteInterpreterGetOutputTensor(interpreter_.get(), i);
    if (TfLiteTensorName(tensor) != name) continue;
    const size_t bytes = TfLiteTensorByteSize(tensor);
    if (TfLiteTensorType(tensor) == kTfLiteFloat32) {
      const auto* from = static_cast<const float*>(TfLiteTensorData(tensor));
      return std::vector<float>(from, from + bytes / sizeof(float));
    }
    check(TfLiteTensorType(tensor) == kTfLiteInt8, name + " is neither float nor int8");
    const TfLiteQuantizationParams quant = TfLiteTensorQuantizationParams(tensor);
    const auto* from = static_cast<const int8_t*>(TfLiteTensorData(tensor));
    std::vector<float> values;
    for (size_t at = 0; at < bytes; ++at)
      values.push_back(quant.scale * static_cast<float>(from[at] - quant.zero_point));
    return values;
  }
  throw std::runtime_error("the model has no output " + name);
}

std::string Model::raw_outputs() const {
  std::string all;
  for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter_.get()); ++i) {
    const TfLiteTensor* tensor = TfLiteInterpreterGetOutputTensor(interpreter_.get(), i);
    all.append(static_cast<const char*>(TfLiteTensorData(tensor)), TfLiteTensorByteSize(tensor));
  }
  return all;
}
