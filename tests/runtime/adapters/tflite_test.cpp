// SPDX-License-Identifier: Apache-2.0
// The TFLite adapter against TFLite itself: what the hook captures of an unmodified model is compared, element by element,
// with what the model gives when all its node outputs are made outputs. Real models come from DUMPHOOK_ASSETS.
#include "dumphook/adapters/tflite.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "support/fake_dumphook.h"
#include "support/tflite_expose_outputs.h"
#include "support/tiny_tflite.h"

// Exported by the C library, in headers that come without it (c_api_experimental.h, xnnpack_delegate.h).
extern "C" {
void TfLiteInterpreterOptionsAddCustomOp(TfLiteInterpreterOptions*, const char* name, const TfLiteRegistration*,
                                         int32_t min_version, int32_t max_version);
TfLiteStatus TfLiteInterpreterModifyGraphWithDelegate(const TfLiteInterpreter*, TfLiteDelegate*);
TfLiteDelegate* TfLiteXNNPackDelegateCreate(const void* options);  // begins with int32 num_threads; zero is a default
void TfLiteXNNPackDelegateDelete(TfLiteDelegate*);
}

static std::atomic<uint64_t> allocations{0};
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace dumphook::test {
namespace {

using Bytes = std::vector<uint8_t>;
using tflite::HookDelegate;
using tflite::HookOptions;

// ------------------------------------------------------------------------------------------------ running a model

class Interpreter {
 public:
  explicit Interpreter(const Bytes& file) : file_(file), options_(TfLiteInterpreterOptionsCreate()) {
    TfLiteInterpreterOptionsSetNumThreads(options_, 1);
  }
  ~Interpreter() {
    if (interpreter_) TfLiteInterpreterDelete(interpreter_);
    TfLiteInterpreterOptionsDelete(options_);
    TfLiteModelDelete(model_);
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  TfLiteInterpreterOptions* options() { return options_; }
  TfLiteInterpreter* get() { return interpreter_; }

  bool try_create() {
    model_ = TfLiteModelCreate(file_.data(), file_.size());
    if (model_) interpreter_ = TfLiteInterpreterCreate(model_, options_);
    return interpreter_ && TfLiteInterpreterAllocateTensors(interpreter_) == kTfLiteOk;
  }
  void create() { ASSERT_TRUE(try_create()); }

  void set_input(const Bytes& bytes, int index = 0) {
    ASSERT_EQ(TfLiteTensorCopyFromBuffer(TfLiteInterpreterGetInputTensor(interpreter_, index), bytes.data(), bytes.size()),
              kTfLiteOk);
  }
  template <typename T>
  void set_input(const std::vector<T>& values, int index = 0) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    set_input(Bytes(bytes, bytes + values.size() * sizeof(T)), index);
  }

  TfLiteStatus invoke() { return TfLiteInterpreterInvoke(interpreter_); }

  std::vector<const TfLiteTensor*> outputs() {
    std::vector<const TfLiteTensor*> all;
    for (int i = 0; i < TfLiteInterpreterGetOutputTensorCount(interpreter_); ++i) {
      all.push_back(TfLiteInterpreterGetOutputTensor(interpreter_, i));
    }
    return all;
  }

  std::vector<Bytes> output_bytes() {
    std::vector<Bytes> all;
    for (const TfLiteTensor* tensor : outputs()) {
      const auto* data = static_cast<const uint8_t*>(TfLiteTensorData(tensor));
      all.emplace_back(data, data + TfLiteTensorByteSize(tensor));
    }
    return all;
  }

 private:
  Bytes file_;
  TfLiteInterpreterOptions* options_;
  TfLiteModel* model_ = nullptr;
  TfLiteInterpreter* interpreter_ = nullptr;
};

struct Exposed {  // one tensor, read the other way
  int32_t index = -1;
  std::string name;
  TfLiteType type = kTfLiteNoType;
  std::vector<int64_t> shape;
  Bytes bytes;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
};

std::vector<Exposed> run_with_all_outputs(const Bytes& model, const Bytes& input) {
  const std::vector<int32_t> indices = node_outputs(model);
  Interpreter interpreter(with_outputs(model, indices));
  interpreter.create();
  interpreter.set_input(input);
  EXPECT_EQ(interpreter.invoke(), kTfLiteOk);
  std::vector<Exposed> all;
  for (const TfLiteTensor* tensor : interpreter.outputs()) {
    Exposed one;
    one.index = indices[all.size()];
    one.name = TfLiteTensorName(tensor);
    one.type = TfLiteTensorType(tensor);
    for (int i = 0; i < TfLiteTensorNumDims(tensor); ++i) one.shape.push_back(TfLiteTensorDim(tensor, i));
    const auto* data = static_cast<const uint8_t*>(TfLiteTensorData(tensor));
    one.bytes.assign(data, data + TfLiteTensorByteSize(tensor));
    if (tensor->quantization.type == kTfLiteAffineQuantization) {
      const auto* affine = static_cast<const TfLiteAffineQuantization*>(tensor->quantization.params);
      one.scales.assign(affine->scale->data, affine->scale->data + affine->scale->size);
      one.zero_points.assign(affine->zero_point->data, affine->zero_point->data + affine->zero_point->size);
    }
    all.push_back(one);
  }
  return all;
}

// ------------------------------------------------------------------------------------------------ comparing

// Without model inputs, and without what ran in the model's other subgraphs.
std::vector<RecordedTensor> layers_of(const std::vector<RecordedTensor>& all, const std::string& model) {
  std::vector<RecordedTensor> layers;
  for (const RecordedTensor& tensor : all) {
    if (tensor.model == model && tensor.node_index >= 0) layers.push_back(tensor);
  }
  return layers;
}

const RecordedTensor* find(const std::vector<RecordedTensor>& all, const std::string& name) {
  for (const RecordedTensor& tensor : all) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

void expect_equal(const std::vector<RecordedTensor>& captured, const std::vector<Exposed>& exposed) {
  ASSERT_EQ(captured.size(), exposed.size());
  size_t elements = 0, quantized = 0;
  for (size_t i = 0; i < captured.size(); ++i) {
    const RecordedTensor& got = captured[i];
    const Exposed& want = exposed[i];
    SCOPED_TRACE(want.name);
    EXPECT_TRUE(got.name == want.name || got.name == want.name + "#" + std::to_string(want.index)) << got.name;
    EXPECT_EQ(got.dtype, tflite::dtype_of(want.type));
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.scales, want.scales);
    EXPECT_EQ(got.zero_points, want.zero_points);
    ASSERT_EQ(got.bytes.size(), want.bytes.size());
    size_t element_bytes = 1;
    for (int64_t size : want.shape) element_bytes *= static_cast<size_t>(size);
    element_bytes = want.bytes.size() / std::max<size_t>(1, element_bytes);
    for (size_t at = 0; at < want.bytes.size(); at += element_bytes, ++elements) {
      ASSERT_EQ(std::memcmp(&got.bytes[at], &want.bytes[at], element_bytes), 0) << "element " << at / element_bytes;
    }
    quantized += !want.scales.empty();
  }
  std::cout << "  " << captured.size() << " tensors, " << elements << " elements equal; " << quantized << " quantized\n";
}

// ------------------------------------------------------------------------------------------------ real models

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Pixels that look like nothing, but reach every layer: same on every machine.
Bytes noise_for(const TfLiteTensor* tensor) {
  Bytes bytes(TfLiteTensorByteSize(tensor));
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  if (TfLiteTensorType(tensor) == kTfLiteFloat32) {
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const float value = static_cast<float>(next() & 0xffff) / 32768.0f - 1.0f;
      std::memcpy(&bytes[at], &value, 4);
    }
  } else {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(next());
  }
  return bytes;
}

// Runs under GoogleTest parameters: the model's file in DUMPHOOK_ASSETS/models, or any file of DUMPHOOK_TFLITE_MODELS.
class TfliteRealModel : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const char* assets = std::getenv("DUMPHOOK_ASSETS");
    model_ = read_file(GetParam()[0] == '/' ? GetParam() : std::string(assets ? assets : "") + "/models/" + GetParam());
    if (model_.empty()) GTEST_SKIP() << GetParam() << " is not there: run examples/assets/fetch.sh and set DUMPHOOK_ASSETS";
  }

  Bytes input() {
    Interpreter interpreter(model_);
    interpreter.create();
    return noise_for(TfLiteInterpreterGetInputTensor(interpreter.get(), 0));
  }

  Bytes model_;
};

TEST_P(TfliteRealModel, EveryLayerIsCaptured_EqualToTheModelWithAllOutputsExposed) {
  dh_session session;
  HookOptions options;
  options.capture_constants = true;
  HookDelegate hook(&session, "model", options);
  Interpreter interpreter(model_);
  hook.add_to(interpreter.options());
  interpreter.create();
  hook.bind(interpreter.get());
  hook.set_frame(7);
  interpreter.set_input(input());
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  expect_equal(layers_of(session.tensors, "model"), run_with_all_outputs(model_, input()));
}

TEST_P(TfliteRealModel, OutputsAreBitIdentical_WithAndWithoutTheHook) {
  std::vector<Bytes> outputs[2];
  for (bool hooked : {false, true}) {
    dh_session session;
    HookDelegate hook(hooked ? &session : nullptr, "model");
    Interpreter interpreter(model_);
    hook.add_to(interpreter.options());
    interpreter.create();
    for (dh_frame frame = 1; frame <= 3; ++frame) {
      hook.set_frame(frame);
      interpreter.set_input(input());
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
    interpreter.create();
    if (bound) hook.bind(interpreter.get());
    hook.set_frame(1);
    interpreter.set_input(input());
    ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    const RecordedTensor& first = session.tensors.front();
    EXPECT_EQ(first.role, DH_ROLE_PREPROCESSED);
    EXPECT_EQ(first.bytes, input());
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
  interpreter.create();
  hook.set_frame(1);
  interpreter.set_input(input());
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
    for (const std::string& name : node.inputs) EXPECT_TRUE(known.count(name)) << name << " is an input, but nothing makes it";
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
  for (const RecordedTensor& tensor : layers_of(session.tensors, "model")) {
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
    return interpreter.try_create();
  };
  if (!accepted()) GTEST_SKIP() << "XNNPACK does not take this model, hook or no hook";
  dh_session plain_session, session;
  {
    HookDelegate plain(&plain_session, "model");
    Interpreter interpreter(model_);
    plain.add_to(interpreter.options());
    interpreter.create();
  }
  HookDelegate hook(&session, "model");
  Interpreter interpreter(model_);
  TfLiteInterpreterOptionsAddDelegate(interpreter.options(), xnnpack.get());
  hook.add_to(interpreter.options());
  interpreter.create();
  hook.bind(interpreter.get());
  hook.set_frame(1);
  interpreter.set_input(input());
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
  for (const RecordedTensor& tensor : layers_of(session.tensors, "model")) {
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
  interpreter.create();
  hook_a.set_frame(1);
  hook_b.set_frame(2);
  interpreter.set_input(input());
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
  const Bytes pixels = input();
  std::vector<std::thread> threads;
  for (dh_session& session : sessions) {
    threads.emplace_back([&] {
      HookDelegate hook(&session, "model");
      Interpreter interpreter(model_);
      hook.add_to(interpreter.options());
      interpreter.create();
      hook.set_frame(1);
      interpreter.set_input(pixels);
      EXPECT_EQ(interpreter.invoke(), kTfLiteOk);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const dh_session& session : sessions) {
    ASSERT_EQ(session.tensors.size(), sessions[0].tensors.size());
    EXPECT_EQ(session.tensors.back().bytes, sessions[0].tensors.back().bytes);
  }
}

std::vector<std::string> real_models() {
  std::vector<std::string> models{"face_detection_full_range_float.tflite", "face_detection_full_range_int8.tflite"};
  if (const char* more = std::getenv("DUMPHOOK_TFLITE_MODELS")) {
    std::istringstream list(more);
    for (std::string path; std::getline(list, path, ':');) models.push_back(path);
  }
  return models;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, TfliteRealModel, testing::ValuesIn(real_models()), test_name);

// ------------------------------------------------------------------------------------------------ small made models

// A custom operator whose invoke is a function of the test.
struct Probe {
  static inline std::function<TfLiteStatus(TfLiteContext*, TfLiteNode*)> on_prepare, on_invoke;

  static TfLiteStatus prepare(TfLiteContext* context, TfLiteNode* node) {
    return on_prepare ? on_prepare(context, node) : kTfLiteOk;
  }
  static TfLiteStatus invoke(TfLiteContext* context, TfLiteNode* node) {
    return on_invoke ? on_invoke(context, node) : kTfLiteOk;
  }
  static void add_to(TfLiteInterpreterOptions* options) {
    static const TfLiteRegistration registration{nullptr, nullptr, &prepare, &invoke, nullptr, 0, "Probe", 1};
    TfLiteInterpreterOptionsAddCustomOp(options, "Probe", &registration, 1, 1);
  }
};

class TfliteHook : public testing::Test {
 protected:
  void SetUp() override { Probe::on_prepare = Probe::on_invoke = nullptr; }

  static TfLiteTensor* output(TfLiteContext* context, TfLiteNode* node, int slot = 0) {
    return &context->tensors[node->outputs->data[slot]];
  }

  // in -> RELU -> "mid" -> Probe -> outputs
  static Bytes probe_model(const std::vector<TinyTensor>& probe_outputs) {
    TinySubgraph graph;
    graph.tensors = {{"in", {1, 4}}, {"mid", {1, 4}}};
    graph.inputs = {0};
    TinyOp relu{19, "", {0}, {1}}, probe{32, "Probe", {1}, {}};
    for (const TinyTensor& tensor : probe_outputs) {
      probe.outputs.push_back(static_cast<int32_t>(graph.tensors.size()));
      graph.tensors.push_back(tensor);
    }
    graph.outputs = probe.outputs;
    graph.ops = {relu, probe};
    return tiny_tflite({graph});
  }

  static void make(Interpreter* interpreter, HookDelegate* hook) {
    Probe::add_to(interpreter->options());
    hook->add_to(interpreter->options());
    interpreter->create();
    hook->set_frame(1);
  }

  dh_session session_;
};

const std::vector<float> kFour{-1.0f, 2.0f, -3.0f, 4.0f};

TEST_F(TfliteHook, FailingNode_IsNotCaptured_AndItsStatusComesBack) {
  Probe::on_invoke = [](TfLiteContext*, TfLiteNode*) { return kTfLiteError; };
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"out", {1, 4}}}));
  make(&interpreter, &hook);
  interpreter.set_input(kFour);
  EXPECT_EQ(interpreter.invoke(), kTfLiteError);
  EXPECT_NE(find(session_.tensors, "mid"), nullptr);
  EXPECT_EQ(find(session_.tensors, "out"), nullptr);
}

TEST_F(TfliteHook, DynamicOutput_IsCapturedWithTheShapeOfThisRun_AlsoEmpty) {
  int rows = 0;
  Probe::on_prepare = [](TfLiteContext* context, TfLiteNode* node) {
    output(context, node)->allocation_type = kTfLiteDynamic;
    return kTfLiteOk;
  };
  Probe::on_invoke = [&rows](TfLiteContext* context, TfLiteNode* node) {
    TfLiteIntArray* shape = TfLiteIntArrayCreate(2);
    shape->data[0] = rows;
    shape->data[1] = 2;
    if (context->ResizeTensor(context, output(context, node), shape) != kTfLiteOk) return kTfLiteError;
    for (int i = 0; i < 2 * rows; ++i) output(context, node)->data.f[i] = static_cast<float>(i);
    return kTfLiteOk;
  };
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"out", {1, 2}}}));
  make(&interpreter, &hook);
  for (int count : {3, 0, 1}) {
    rows = count;
    session_.tensors.clear();
    ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    const RecordedTensor* out = find(session_.tensors, "out");
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(out->shape, (std::vector<int64_t>{count, 2}));
    EXPECT_EQ(out->bytes.size(), 8u * static_cast<size_t>(count));
  }
}

TEST_F(TfliteHook, TypesWithoutANumber_AreRawBytesWithTheirName) {
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"complex", {1, 2}, 8}, {"deep", {1, 1, 1, 1, 1, 1, 1, 1, 3}}, {"flags", {4}, 6}}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  const RecordedTensor* complex = find(session_.tensors, "complex");
  ASSERT_NE(complex, nullptr);
  EXPECT_EQ(complex->dtype, DH_RAW);
  EXPECT_EQ(complex->raw_type, "COMPLEX64");
  EXPECT_EQ(complex->shape, std::vector<int64_t>{16});
  EXPECT_EQ(complex->slot, 0);
  const RecordedTensor* deep = find(session_.tensors, "deep");
  ASSERT_NE(deep, nullptr);
  EXPECT_EQ(deep->dtype, DH_RAW);
  EXPECT_EQ(deep->raw_type, "FLOAT32");
  EXPECT_EQ(deep->bytes.size(), 12u);
  EXPECT_EQ(find(session_.tensors, "flags")->dtype, DH_BOOL);
  EXPECT_EQ(find(session_.tensors, "flags")->slot, 2);
}

TEST_F(TfliteHook, QuantizationPerTensorAndPerAxis) {
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"one", {1, 4}, 9, {}, {0.5f}, {-3}}, {"axis", {2, 3}, 9, {}, {1, 2, 4}, {0, 1, 2}, 1}}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  const RecordedTensor *one = find(session_.tensors, "one"), *axis = find(session_.tensors, "axis");
  ASSERT_TRUE(one && axis);
  EXPECT_EQ(one->quant_kind, DH_QUANT_PER_TENSOR);
  EXPECT_EQ(one->scales, std::vector<float>{0.5f});
  EXPECT_EQ(one->zero_points, std::vector<int32_t>{-3});
  EXPECT_EQ(axis->quant_kind, DH_QUANT_PER_AXIS);
  EXPECT_EQ(axis->axis, 1);
  EXPECT_EQ(axis->scales, (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(axis->zero_points, (std::vector<int32_t>{0, 1, 2}));
}

TEST_F(TfliteHook, PlantedScale_ChangesTheDescriptionOnly) {
  HookOptions options;
  options.plant_scale_tensor = "axis";
  options.plant_scale_factor = 2.0f;
  HookDelegate hook(&session_, "tiny", options);
  Interpreter interpreter(probe_model({{"one", {1, 4}, 9, {}, {0.5f}, {-3}}, {"axis", {2, 3}, 9, {}, {1, 2, 4}, {0, 1, 2}, 1}}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_EQ(find(session_.tensors, "one")->scales, std::vector<float>{0.5f});
  EXPECT_EQ(find(session_.tensors, "axis")->scales, (std::vector<float>{2, 4, 8}));
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(interpreter.outputs()[1]->quantization.params);
  EXPECT_EQ(affine->scale->data[1], 2.0f);
}

TEST_F(TfliteHook, NamesAreUnique_AndFusedNamesAreTakenApart) {
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"mid", {1}}, {"", {1}}, {"conv;bias;relu", {1}}, {std::string(600, 'n'), {1}}}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_NE(find(session_.tensors, "mid"), nullptr);
  EXPECT_NE(find(session_.tensors, "mid#2"), nullptr);
  EXPECT_NE(find(session_.tensors, "#3"), nullptr);
  const RecordedTensor* fused = find(session_.tensors, "conv;bias;relu");
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->origins, (std::vector<std::string>{"conv", "bias", "relu"}));
  EXPECT_NE(find(session_.tensors, std::string(510, 'n') + "#5"), nullptr);
}

TEST_F(TfliteHook, BindFindsAnOutputThatANodeReads) {
  TinySubgraph graph;
  graph.tensors = {{"in", {1, 4}}, {"mid", {1, 4}}, {"out", {1, 4}}};
  graph.inputs = {0};
  graph.outputs = {1, 2};
  graph.ops = {{19, "", {0}, {1}}, {28, "", {1}, {2}}};
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(tiny_tflite({graph}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_EQ(find(session_.tensors, "mid")->role, DH_ROLE_INTERMEDIATE);
  session_.tensors.clear();
  hook.bind(interpreter.get());
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_EQ(find(session_.tensors, "mid")->role, DH_ROLE_OUTPUT);
  EXPECT_EQ(find(session_.tensors, "out")->role, DH_ROLE_OUTPUT);
}

TEST_F(TfliteHook, AfterAResize_EachLayerIsCapturedOnce_InItsNewShape) {
  dh_session second;
  HookDelegate hook(&session_, "tiny"), other(&second, "tiny");
  TinySubgraph graph;
  graph.tensors = {{"in", {1, 4}}, {"mid", {1, 4}}, {"out", {1, 4}}};
  graph.inputs = {0};
  graph.outputs = {2};
  graph.ops = {{19, "", {0}, {1}}, {28, "", {1}, {2}}};
  Interpreter interpreter(tiny_tflite({graph}));
  other.add_to(interpreter.options());
  make(&interpreter, &hook);
  other.set_frame(9);
  for (int rows : {2, 5, 1}) {
    const int shape[] = {rows, 4};
    ASSERT_EQ(TfLiteInterpreterResizeInputTensor(interpreter.get(), 0, shape, 2), kTfLiteOk);
    ASSERT_EQ(TfLiteInterpreterAllocateTensors(interpreter.get()), kTfLiteOk);
    session_.tensors.clear();
    second.tensors.clear();
    interpreter.set_input(std::vector<float>(4 * static_cast<size_t>(rows), -1.0f));
    ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    ASSERT_EQ(session_.tensors.size(), 3u);
    ASSERT_EQ(second.tensors.size(), 3u);
    for (const RecordedTensor& tensor : session_.tensors) EXPECT_EQ(tensor.shape, (std::vector<int64_t>{rows, 4}));
  }
  EXPECT_EQ(session_.models.size(), 1u);
}

TEST_F(TfliteHook, WhileLoop_ItsBodyIsAModelOfItsOwn_CapturedEachTime) {
  const auto int_bytes = [](int32_t value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    return Bytes(bytes, bytes + 4);
  };
  constexpr int kInt = 2, kBool = 6, kLess = 58, kWhile = 119, kAddOptions = 11, kLessOptions = 44, kWhileOptions = 93;
  TinySubgraph main, condition, body;
  main.tensors = {{"n", {1}, kInt}, {"result", {1}, kInt}};
  main.inputs = {0};
  main.outputs = {1};
  main.ops = {{kWhile, "", {0}, {1}, kWhileOptions, {1, 2}}};
  condition.tensors = {{"n", {1}, kInt}, {"limit", {1}, kInt, int_bytes(5)}, {"go on", {1}, kBool}};
  condition.inputs = {0};
  condition.outputs = {2};
  condition.ops = {{kLess, "", {0, 1}, {2}, kLessOptions, {}}};
  body.tensors = {{"n", {1}, kInt}, {"one", {1}, kInt, int_bytes(1)}, {"n + 1", {1}, kInt}};
  body.inputs = {0};
  body.outputs = {2};
  body.ops = {{0, "", {0, 1}, {2}, kAddOptions, {}}};
  HookDelegate hook(&session_, "loop");
  Interpreter interpreter(tiny_tflite({main, condition, body}));
  make(&interpreter, &hook);
  interpreter.set_input(std::vector<int32_t>{2});
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);

  ASSERT_EQ(session_.models.size(), 3u);
  EXPECT_EQ(session_.models[0].name, "loop");
  EXPECT_EQ(session_.models[0].nodes[0].op, "WHILE");
  EXPECT_EQ(session_.models[2].name, "loop#2");
  EXPECT_EQ(session_.models[2].nodes[0].inputs, std::vector<std::string>{"n"});
  std::vector<int32_t> steps, results;
  for (const RecordedTensor& tensor : session_.tensors) {
    int32_t value = 0;
    std::memcpy(&value, tensor.bytes.data(), std::min<size_t>(4, tensor.bytes.size()));
    if (tensor.model == "loop#2" && tensor.name == "n + 1") steps.push_back(value);
    if (tensor.model == "loop" && tensor.name == "result") results.push_back(value);
  }
  EXPECT_EQ(steps, (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(results, std::vector<int32_t>{5});
}

TEST_F(TfliteHook, NothingIsAllocatedWhileTheModelRuns) {
  session_.keep = false;
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"out", {1, 4}}, {"conv;bias", {1, 4}, 9, {}, {0.5f}, {-3}}}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  const uint64_t before = allocations;
  for (int i = 0; i < 100; ++i) interpreter.invoke();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(session_.captures, 4u * 101u);
}

TEST_F(TfliteHook, WithoutAFrame_NothingIsCaptured) {
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"out", {1, 4}}}));
  make(&interpreter, &hook);
  hook.set_frame(0);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_TRUE(session_.tensors.empty());
}

TEST_F(TfliteHook, WithoutASession_NoNodeIsTouched) {
  TfLiteStatus (*seen)(TfLiteContext*, TfLiteNode*) = nullptr;
  struct Spy : TfLiteDelegate {
    TfLiteStatus (**seen)(TfLiteContext*, TfLiteNode*);
  } spy{};
  spy.seen = &seen;
  spy.flags = kTfLiteDelegateFlagsAllowDynamicTensors;
  spy.Prepare = [](TfLiteContext* context, TfLiteDelegate* delegate) {
    TfLiteNode* node = nullptr;
    TfLiteRegistration* registration = nullptr;
    context->GetNodeAndRegistration(context, 1, &node, &registration);
    *static_cast<Spy*>(delegate)->seen = registration->invoke;
    return kTfLiteOk;
  };
  for (dh_session* session : {static_cast<dh_session*>(nullptr), &session_}) {
    HookDelegate hook(session, "tiny");
    Interpreter interpreter(probe_model({{"out", {1, 4}}}));
    Probe::add_to(interpreter.options());
    TfLiteInterpreterOptionsAddDelegate(interpreter.options(), hook.delegate());
    TfLiteInterpreterOptionsAddDelegate(interpreter.options(), &spy);
    interpreter.create();
    EXPECT_EQ(seen == &Probe::invoke, session == nullptr);
  }
}

TEST_F(TfliteHook, ManyInterpretersOneAfterTheOther_AtReusedAddresses) {
  for (int round = 0; round < 50; ++round) {
    dh_session session;
    HookDelegate hook(&session, "tiny");
    Interpreter interpreter(probe_model({{"out", {1, 4}}}));
    make(&interpreter, &hook);
    ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    EXPECT_EQ(session.tensors.size(), 3u);
  }
}

TEST_F(TfliteHook, InterpretersComeAndGoOnManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 100; ++round) {
        dh_session session;
        HookDelegate hook(&session, "tiny");
        Interpreter interpreter(probe_model({{"out", {1, 4}}}));
        make(&interpreter, &hook);
        EXPECT_EQ(interpreter.invoke(), kTfLiteOk);
        EXPECT_EQ(interpreter.invoke(), kTfLiteOk);
        EXPECT_EQ(session.tensors.size(), 6u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TfliteHook, AddedToARunningInterpreter_CapturesFromThenOn) {
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(probe_model({{"out", {1, 4}}}));
  Probe::add_to(interpreter.options());
  interpreter.create();
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  ASSERT_EQ(TfLiteInterpreterModifyGraphWithDelegate(interpreter.get(), hook.delegate()), kTfLiteOk);
  ASSERT_EQ(TfLiteInterpreterAllocateTensors(interpreter.get()), kTfLiteOk);
  hook.set_frame(1);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_EQ(session_.tensors.size(), 3u);
}

}  // namespace
}  // namespace dumphook::test
