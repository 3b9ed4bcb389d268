// SPDX-License-Identifier: Apache-2.0
#include "tflite_runner.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace dumphook::test {

Interpreter::Interpreter(const Bytes& model) : file_(model), options_(TfLiteInterpreterOptionsCreate()) {
  TfLiteInterpreterOptionsSetNumThreads(options_, 1);
}

Interpreter::~Interpreter() {
  if (interpreter_) TfLiteInterpreterDelete(interpreter_);
  TfLiteInterpreterOptionsDelete(options_);
  if (model_) TfLiteModelDelete(model_);
}

bool Interpreter::create() {
  model_ = TfLiteModelCreate(file_.data(), file_.size());
  if (model_) interpreter_ = TfLiteInterpreterCreate(model_, options_);
  return interpreter_ && TfLiteInterpreterAllocateTensors(interpreter_) == kTfLiteOk;
}

void Interpreter::set_input(const Bytes& bytes) {
  TfLiteTensor* input = TfLiteInterpreterGetInputTensor(interpreter_, 0);
  ASSERT_EQ(TfLiteTensorCopyFromBuffer(input, bytes.data(), bytes.size()), kTfLiteOk);
}

std::vector<const TfLiteTensor*> Interpreter::outputs() {
  std::vector<const TfLiteTensor*> all;
  for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter_); ++i) {
    all.push_back(TfLiteInterpreterGetOutputTensor(interpreter_, i));
  }
  return all;
}

std::vector<Bytes> Interpreter::output_bytes() {
  std::vector<Bytes> all;
  for (const TfLiteTensor* tensor : outputs()) {
    const auto* data = static_cast<const uint8_t*>(TfLiteTensorData(tensor));
    all.emplace_back(data, data + TfLiteTensorByteSize(tensor));
  }
  return all;
}

Bytes noise_input(const Bytes& model) {
  Interpreter interpreter(model);
  if (!interpreter.create()) return {};
  const TfLiteTensor* input = TfLiteInterpreterGetInputTensor(interpreter.get(), 0);
  Bytes bytes(TfLiteTensorByteSize(input));
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  if (TfLiteTensorType(input) == kTfLiteFloat32) {
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const float value = static_cast<float>(next() & 0xffff) / 32768.0f - 1.0f;
      std::memcpy(&bytes[at], &value, 4);
    }
  } else {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(next());
  }
  return bytes;
}

Bytes read_model(const std::string& name) {
  const char* assets = std::getenv("DUMPHOOK_ASSETS");
  if (!assets) assets = DUMPHOOK_ASSETS_DIR;
  std::ifstream file(name[0] == '/' ? name : std::string(assets) + "/models/" + name, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> real_models() {
  std::vector<std::string> models{"face_detection_full_range_float.tflite", "face_detection_full_range_int8.tflite"};
  if (const char* more = std::getenv("DUMPHOOK_TFLITE_MODELS")) {
    std::istringstream list(more);
    for (std::string path; std::getline(list, path, ':');) models.push_back(path);
  }
  return models;
}

std::string test_name(const std::string& model) {
  std::string name = model.substr(model.rfind('/') + 1);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace dumphook::test
