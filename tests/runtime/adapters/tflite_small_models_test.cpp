// SPDX-License-Identifier: Apache-2.0
// The TFLite adapter on small made models: what real ones rarely have.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "dumphook/adapters/tflite.hpp"
#include "fake_dumphook.h"
#include "tflite_runner.h"
#include "tiny_tflite.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OPERATOR_NEW_IS_TAKEN  // Clang's ThreadSanitizer brings one
#endif
#endif

static std::atomic<uint64_t> allocations{0};
#ifndef OPERATOR_NEW_IS_TAKEN
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif

// Stands before the library's, so that a test can be of another version.
static const char* tflite_version = nullptr;
extern "C" const char* TfLiteVersion() { return tflite_version ? tflite_version : dumphook::tflite::tested_version(); }

namespace dumphook::test {
namespace {

using tflite::HookDelegate;
using tflite::HookOptions;

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
    ASSERT_TRUE(interpreter->create());
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
  Interpreter interpreter(
      probe_model({{"complex", {1, 2}, 8}, {"deep", {1, 1, 1, 1, 1, 1, 1, 1, 3}}, {"flags", {4}, 6}}));
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
  Interpreter interpreter(
      probe_model({{"one", {1, 4}, 9, {}, {0.5f}, {-3}}, {"axis", {2, 3}, 9, {}, {1, 2, 4}, {0, 1, 2}, 1}}));
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
  Interpreter interpreter(
      probe_model({{"one", {1, 4}, 9, {}, {0.5f}, {-3}}, {"axis", {2, 3}, 9, {}, {1, 2, 4}, {0, 1, 2}, 1}}));
  make(&interpreter, &hook);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_EQ(find(session_.tensors, "one")->scales, std::vector<float>{0.5f});
  EXPECT_EQ(find(session_.tensors, "axis")->scales, (std::vector<float>{2, 4, 8}));
  const auto* affine = static_cast<const TfLiteAffineQuantization*>(interpreter.outputs()[1]->quantization.params);
  EXPECT_EQ(affine->scale->data[1], 2.0f);
}

TEST_F(TfliteHook, NamesAreUnique_AndFusedNamesAreTakenApart) {
  HookDelegate hook(&session_, "tiny");
  Interpreter interpreter(
      probe_model({{"mid", {1}}, {"", {1}}, {"conv;bias;relu", {1}}, {std::string(600, 'n'), {1}}}));
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
    ASSERT_TRUE(interpreter.create());
    EXPECT_EQ(seen == &Probe::invoke, session == nullptr);
  }
}

TEST_F(TfliteHook, OnAnotherTfliteVersion_StaysOffAndSaysSo_UnlessTold) {
  std::string said;
  HookOptions options;
  options.on_log = [](void* user, dh_log_level, const char* text) { *static_cast<std::string*>(user) += text; };
  options.on_log_user = &said;
  for (bool any_version : {false, true}) {
    said.clear();
    session_.tensors.clear();
    options.any_version = any_version;
    tflite_version = "2.14.1";
    HookDelegate hook(&session_, "tiny", options);
    tflite_version = nullptr;
    Interpreter interpreter(probe_model({{"out", {1, 4}}}));
    make(&interpreter, &hook);
    ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
    EXPECT_EQ(session_.tensors.empty(), !any_version);
    EXPECT_EQ(said.find("2.14.1") != std::string::npos, !any_version) << said;
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
  ASSERT_TRUE(interpreter.create());
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  ASSERT_EQ(TfLiteInterpreterModifyGraphWithDelegate(interpreter.get(), hook.delegate()), kTfLiteOk);
  ASSERT_EQ(TfLiteInterpreterAllocateTensors(interpreter.get()), kTfLiteOk);
  hook.set_frame(1);
  ASSERT_EQ(interpreter.invoke(), kTfLiteOk);
  EXPECT_EQ(session_.tensors.size(), 3u);
}

}  // namespace
}  // namespace dumphook::test
