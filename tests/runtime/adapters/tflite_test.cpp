// SPDX-License-Identifier: Apache-2.0
// The TFLite adapter on real models: what the hook captures of the unmodified model is compared, element by element,
// with what the model gives when all its node outputs are made outputs. A fake libdumphook takes the captures.
#include "dumphook/adapters/tflite.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "fake_dumphook.h"
#include "tflite_layers.h"
#include "tflite_runner.h"

namespace dumphook::test {
namespace {

using tflite::HookDelegate;
using tflite::HookOptions;

// Without the model's inputs, and without what ran in its other subgraphs.
std::vector<RecordedTensor> layers_of(const std::vector<RecordedTensor>& all) {
  std::vector<RecordedTensor> layers;
  for (const RecordedTensor& tensor : all) {
    if (tensor.model == "model" && tensor.node_index >= 0) layers.push_back(tensor);
  }
  return layers;
}

std::vector<LayerValue> values_of(const std::vector<RecordedTensor>& recorded) {
  std::vector<LayerValue> values;
  for (const RecordedTensor& tensor : recorded) {
    values.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.scales, tensor.zero_points, tensor.bytes});
  }
  return values;
}

class TfliteRealModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    model_ = read_model(GetParam());
    if (model_.empty()) GTEST_SKIP() << GetParam() << " is not there: run examples/assets/fetch.sh";
    input_ = noise_input(model_);
  }

  Bytes model_, input_;
};

TEST_P(TfliteRealModel, EveryLayerIsCaptured_EqualToTheModelWithAllOutputsExposed) {
  dh_session session;
  HookOptions options;
  options.capture_constants = true;
  HookDelegate hook(&session, "model", options);
  Interpreter interpreter(model_);
  hook.add_to(interpreter.options());
  ASSERT_TRUE(interpreter.create());
  hook.bind(interpreter.get());
  hook.set_frame(7);
  interpreter.set_input(input_);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  expect_equal(values_of(layers_of(session.tensors)), exposed_layers(model_, input_));
}

TEST_P(TfliteRealModel, OutputsAreBitIdentical_WithAndWithoutTheHook) {
  std::vector<Bytes> outputs[2];
  for (bool hooked : {false, true}) {
    dh_session session;
    HookDelegate hook(hooked ? &session : nullptr, "model");
    Interpreter interpreter(model_);
    hook.add_to(interpreter.options());
    ASSERT_TRUE(interpreter.create());
    for (dh_frame frame = 1; frame <= 3; ++frame) {
      hook.set_frame(frame);
      interpreter.set_input(input_);
      ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    }
    outputs[hooked] = interpreter.output_bytes();
    EXPECT_EQ(session.tensors.empty(), !hooked);
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

TEST_P(TfliteRealModel, InputsAndOutputsCarryTheirRolesAndBytes) {
  for (bool bound : {false, true}) {
    dh_session session;
    HookDelegate hook(&session, "model");
    Interpreter interpreter(model_);
    hook.add_to(interpreter.options());
    ASSERT_TRUE(interpreter.create());
    if (bound) hook.bind(interpreter.get());
    hook.set_frame(1);
    interpreter.set_input(input_);
    ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    const RecordedTensor& first = session.tensors.front();
    EXPECT_EQ(first.role, DH_ROLE_PREPROCESSED);
    EXPECT_EQ(first.bytes, input_);
    EXPECT_EQ(first.node_index, -1);
    std::vector<Bytes> outputs;
    for (const TfLiteTensor* tensor : interpreter.outputs()) {
      const RecordedTensor* captured = find(session.tensors, TfLiteTensorName(tensor));
      ASSERT_NE(captured, nullptr);
      EXPECT_EQ(captured->role, DH_ROLE_OUTPUT);
      outputs.push_back(captured->bytes);
    }
    EXPECT_EQ(outputs, interpreter.output_bytes());
    size_t output_count = 0;
    for (const RecordedTensor& tensor : session.tensors) output_count += tensor.role == DH_ROLE_OUTPUT;
    EXPECT_EQ(output_count, outputs.size());
  }
}

TEST_P(TfliteRealModel, DeclaresWhatItCaptures_ConstantsApart) {
  dh_session session;
  HookDelegate hook(&session, "model");
  Interpreter interpreter(model_);
  hook.add_to(interpreter.options());
  ASSERT_TRUE(interpreter.create());
  hook.set_frame(1);
  interpreter.set_input(input_);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  ASSERT_FALSE(session.models.empty());
  EXPECT_EQ(session.models[0].name, "model");
  std::vector<std::string> declared, captured;
  std::set<std::string> known{session.tensors.front().name};
  size_t constants = 0;
  for (const RecordedNode& node : session.models[0].nodes) {
    EXPECT_EQ(node.index, &node - session.models[0].nodes.data());
    EXPECT_EQ(node.backend, "cpu");
    EXPECT_NE(node.op, "UNKNOWN");
    for (const std::string& name : node.inputs)
      EXPECT_TRUE(known.count(name)) << name << " is an input, but nothing makes it";
    known.insert(node.outputs.begin(), node.outputs.end());
    if (node.visibility == DH_CONSTANT) {
      EXPECT_TRUE(node.op == "DEQUANTIZE" || node.op == "DENSIFY");
      EXPECT_TRUE(node.inputs.empty() || node.op == "DEQUANTIZE");
      ++constants;
    } else {
      EXPECT_EQ(node.visibility, DH_VISIBLE);
      declared.insert(declared.end(), node.outputs.begin(), node.outputs.end());
    }
  }
  for (const RecordedTensor& tensor : layers_of(session.tensors)) {
    captured.push_back(tensor.name);
    EXPECT_EQ(tensor.op, session.models[0].nodes[static_cast<size_t>(tensor.node_index)].op);
  }
  EXPECT_EQ(captured, declared);
  std::cout << "  " << declared.size() << " layers visible, " << constants << " constant\n";
}

TEST_P(TfliteRealModel, BehindXnnpack_WhatLeavesTheDelegateIsCaptured_TheRestIsDeclaredHidden) {
  const uint64_t defaults[8] = {};
  std::unique_ptr<TfLiteDelegate, void (*)(TfLiteDelegate*)> xnnpack(TfLiteXNNPackDelegateCreate(defaults),
                                                                     TfLiteXNNPackDelegateDelete);
  const auto accepted = [&] {
    Interpreter interpreter(model_);
    TfLiteInterpreterOptionsAddDelegate(interpreter.options(), xnnpack.get());
    return interpreter.create();
  };
  if (!accepted()) GTEST_SKIP() << "XNNPACK does not take this model, hook or no hook";
  dh_session plain_session, session;
  {
    HookDelegate plain(&plain_session, "model");
    Interpreter interpreter(model_);
    plain.add_to(interpreter.options());
    ASSERT_TRUE(interpreter.create());
  }
  HookDelegate hook(&session, "model");
  Interpreter interpreter(model_);
  TfLiteInterpreterOptionsAddDelegate(interpreter.options(), xnnpack.get());
  hook.add_to(interpreter.options());
  ASSERT_TRUE(interpreter.create());
  hook.bind(interpreter.get());
  hook.set_frame(1);
  interpreter.set_input(input_);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);

  const std::vector<RecordedNode>& nodes = session.models.at(0).nodes;
  std::multiset<std::string> plain_ops, ops, visible, captured;
  for (const RecordedNode& node : plain_session.models.at(0).nodes) plain_ops.insert(node.op);
  size_t hidden = 0;
  for (const RecordedNode& node : nodes) {
    ops.insert(node.op);
    if (node.visibility == DH_INSIDE_DELEGATE) {
      EXPECT_EQ(node.backend, "TfLiteXNNPackDelegate");
      ++hidden;
    }
    if (node.visibility == DH_VISIBLE) visible.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const RecordedTensor& tensor : layers_of(session.tensors)) {
    captured.insert(tensor.name);
    EXPECT_EQ(tensor.op, nodes[static_cast<size_t>(tensor.node_index)].op);
  }
  EXPECT_EQ(ops, plain_ops);
  EXPECT_EQ(captured, visible);
  std::cout << "  " << visible.size() << " visible, " << hidden << " inside the delegate\n";
  for (const TfLiteTensor* output : interpreter.outputs()) {
    const RecordedTensor* tensor = find(session.tensors, TfLiteTensorName(output));
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->role, DH_ROLE_OUTPUT);
  }
}

TEST_P(TfliteRealModel, TwoHooksOnOneInterpreter_CaptureTheSame_ThroughTapsOfTheirOwn) {
  dh_session sessions[2];
  HookDelegate hook_a(&sessions[0], "model"), hook_b(&sessions[1], "model");
  Interpreter interpreter(model_);
  hook_a.add_to(interpreter.options());
  hook_b.add_to(interpreter.options());
  ASSERT_TRUE(interpreter.create());
  hook_a.set_frame(1);
  hook_b.set_frame(2);
  interpreter.set_input(input_);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  ASSERT_EQ(sessions[0].tensors.size(), sessions[1].tensors.size());
  for (size_t i = 0; i < sessions[0].tensors.size(); ++i) {
    const RecordedTensor &a = sessions[0].tensors[i], &b = sessions[1].tensors[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_NE(a.tap, b.tap);
    EXPECT_EQ(a.frame, 1u);
    EXPECT_EQ(b.frame, 2u);
  }
}

TEST_P(TfliteRealModel, FourInterpretersOnFourThreads_EachCaptureTheirOwn) {
  constexpr int kThreads = 4;
  dh_session sessions[kThreads];
  std::vector<std::thread> threads;
  for (dh_session& session : sessions) {
    threads.emplace_back([&] {
      HookDelegate hook(&session, "model");
      Interpreter interpreter(model_);
      hook.add_to(interpreter.options());
      ASSERT_TRUE(interpreter.create());
      hook.set_frame(1);
      interpreter.set_input(input_);
      EXPECT_EQ(interpreter.invoke(), kTfLiteOk);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const dh_session& session : sessions) {
    ASSERT_EQ(session.tensors.size(), sessions[0].tensors.size());
    EXPECT_EQ(session.tensors.back().bytes, sessions[0].tensors.back().bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteRealModel, testing::ValuesIn(real_models()),
                         [](const auto& of) { return test_name(of.param); });

}  // namespace
}  // namespace dumphook::test
