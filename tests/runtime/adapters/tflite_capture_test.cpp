// SPDX-License-Identifier: Apache-2.0
// The TFLite adapter with the real library: model -> hook -> session -> file -> host reader -> the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "decode/capture.h"
#include "dumphook/adapters/tflite.hpp"
#include "dumphook/dumphook.hpp"
#include "tflite_layers.h"
#include "tflite_runner.h"

namespace dumphook::test {
namespace {

struct Whole {
  const CapturedTensor* captured;
  Tensor tensor;
};

// All tensors of a frame and model in the order of their capture.
std::vector<Whole> load_frame(const Capture& capture, uint64_t frame, const std::string& model) {
  std::vector<Whole> all;
  for (const CapturedTensor& captured : capture.tensors()) {
    if (captured.frame != frame || captured.model() != model) continue;
    Expected<Tensor> tensor = capture.load(captured);
    EXPECT_TRUE(tensor) << captured.name();
    if (tensor) all.push_back({&captured, *tensor});
  }
  std::sort(all.begin(), all.end(),
            [](const Whole& a, const Whole& b) { return a.captured->capture_id < b.captured->capture_id; });
  return all;
}

LayerValue value_of(const Tensor& tensor) {
  const Descriptor& from = tensor.descriptor;
  const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.bytes.data());
  return {from.name,
          static_cast<dh_dtype>(from.dtype),
          from.shape,
          from.quantization.scale,
          from.quantization.zero_point,
          Bytes(bytes, bytes + tensor.bytes.size())};
}

class TfliteCapture : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    model_ = read_model(GetParam());
    if (model_.empty()) GTEST_SKIP() << GetParam() << " is not there: run examples/assets/fetch.sh";
    input_ = noise_input(model_);
  }
  void TearDown() override {
    for (const std::string& path : paths_) std::filesystem::remove(path);
  }

  void open(Session* session) {
    paths_.push_back(testing::TempDir() + "tflite_capture_" + test_name(GetParam()) + std::to_string(paths_.size()) +
                     ".mcap");
    std::filesystem::remove(paths_.back());
    const std::string sink = "file:" + paths_.back();
    dh_options options = dh_options_default();
    options.sink = sink.c_str();
    options.include = "*";
    options.policy = DH_POLICY_BLOCK;
    options.block_timeout_ms = 60000;
    ASSERT_EQ(session->open(options), DH_OK);
  }

  Bytes model_, input_;
  std::vector<std::string> paths_;
};

TEST_P(TfliteCapture, EveryLayerArrives_EqualToTheModelWithAllOutputsExposed) {
  Session sessions[2];  // two sessions on one interpreter
  for (Session& session : sessions) open(&session);
  {
    tflite::HookOptions options;
    options.capture_constants = true;
    tflite::HookDelegate first(sessions[0].get(), "model", options), second(sessions[1].get(), "model", options);
    Interpreter interpreter(model_);
    first.add_to(interpreter.options());
    second.add_to(interpreter.options());
    ASSERT_TRUE(interpreter.create());
    first.bind(interpreter.get());
    for (int frame = 0; frame < 2; ++frame) {
      Frame in_first(sessions[0].get()), in_second(sessions[1].get());
      first.set_frame(in_first.get());
      second.set_frame(in_second.get());
      interpreter.set_input(input_);
      ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    }
  }
  for (Session& session : sessions) EXPECT_EQ(session.close(), DH_OK);

  const std::vector<LayerValue> exposed = exposed_layers(model_, input_);
  for (const std::string& path : paths_) {
    Expected<Capture> capture = Capture::open(path);
    ASSERT_TRUE(capture) << path;
    EXPECT_EQ(capture->problems().errors(), 0u);
    ASSERT_EQ(capture->graphs().size(), 1u);
    EXPECT_EQ(capture->graphs()[0].nodes.size(), exposed.size());  // each node of these models has one output
    ASSERT_EQ(capture->frames().size(), 2u);
    for (const CapturedFrame& frame : capture->frames()) {
      EXPECT_EQ(frame.state, FrameState::complete);
      std::vector<Whole> tensors = load_frame(*capture, frame.number, "model");
      ASSERT_FALSE(tensors.empty());
      EXPECT_EQ(tensors[0].tensor.descriptor.role, Role::preprocessed);
      EXPECT_EQ(value_of(tensors[0].tensor).bytes, input_);
      std::vector<LayerValue> layers;
      for (size_t i = 1; i < tensors.size(); ++i) {
        EXPECT_TRUE(tensors[i].captured->described);
        layers.push_back(value_of(tensors[i].tensor));
      }
      expect_equal(layers, exposed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteCapture, testing::ValuesIn(real_models()),
                         [](const auto& of) { return test_name(of.param); });

}  // namespace
}  // namespace dumphook::test
