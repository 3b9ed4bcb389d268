// SPDX-License-Identifier: Apache-2.0
#include "compare/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../align/make_side.h"

namespace dumphook {
namespace {

Comparison compared(Side target, Side golden, const NameMap& map = {}) {
  return compare(align(std::move(target), std::move(golden), map), limits_of(Preset::standard));
}

Tensor quantized(const std::string& name, const std::vector<int8_t>& values, float scale) {
  Tensor tensor = make_tensor<int8_t>(name, {static_cast<int64_t>(values.size())}, values);
  tensor.descriptor.quantization = {{scale}, {0}, -1};
  return tensor;
}

Side three_layers(float factor_of_b) {
  return make_side({make_tensor("a", {1, 2, 3}), make_tensor("b", {1 * factor_of_b, -2 * factor_of_b, 3 * factor_of_b}),
                    make_tensor("c", {4, 5, 6})});
}

TEST(Compare, EqualSides_PassEverywhere) {
  const Comparison c = compared(three_layers(1), three_layers(1));
  EXPECT_EQ(c.count(State::pass), 3u);
  EXPECT_FALSE(c.failed());
  EXPECT_FALSE(c.has_holes());
  EXPECT_FALSE(c.first_bad || c.worst);
  EXPECT_EQ(c.trend.kind, Trend::Kind::none);
}

TEST(Compare, WrongScaleInOneLayer_IsFirstBadThroughTheNormRatio) {
  const Comparison c = compared(three_layers(1.5f), three_layers(1));
  ASSERT_TRUE(c.first_bad);
  const LayerScore& bad = c.layers[*c.first_bad];
  EXPECT_EQ(bad.name, "b");
  EXPECT_DOUBLE_EQ(bad.metrics->cosine, 1);
  EXPECT_NE(bad.reason.find("norm_ratio"), std::string::npos);
  EXPECT_EQ(c.worst, c.first_bad);
  EXPECT_EQ(c.trend.kind, Trend::Kind::sudden);
  EXPECT_EQ(c.count(State::pass), 2u);
}

TEST(Compare, WrongScaleInTheDescriptor_IsFound) {
  const Tensor golden = make_tensor("a", {0.1f, -0.2f, 0.3f});
  EXPECT_FALSE(compared(make_side({quantized("a", {10, -20, 30}, 0.01f)}), make_side({golden})).failed());
  EXPECT_TRUE(compared(make_side({quantized("a", {10, -20, 30}, 0.015f)}), make_side({golden})).failed());
}

TEST(Compare, QuantizedValues_AreThoseThatExportWrites) {
  const Tensor golden = make_tensor("a", {0, 0, 0});
  const Comparison c = compared(make_side({quantized("a", {3, 7, 127}, 0.1f)}), make_side({golden}));
  EXPECT_EQ(c.layers[0].metrics->max_abs, static_cast<double>(0.1f * 127));
}

TEST(Compare, OneSideOnly_IsAHole_UnlessAllowed) {
  const Comparison c = compared(make_side({make_tensor("a")}), make_side({make_tensor("a"), make_tensor("b")}));
  EXPECT_EQ(c.count(State::unmatched), 1u);
  EXPECT_FALSE(c.failed());
  EXPECT_TRUE(c.has_holes());
  EXPECT_FALSE(c.has_holes(true));
}

TEST(Compare, NothingInCommon_IsAHoleEvenWhenAllowed) {
  EXPECT_TRUE(compared(make_side({make_tensor("a")}), make_side({make_tensor("b")})).has_holes(true));
}

TEST(Compare, LostTensorsOfTheFrame_AreAHole) {
  Side target = three_layers(1);
  target.coverage.seen = 4;
  target.coverage.lost = {{"pool_full", 1}};
  EXPECT_TRUE(compared(std::move(target), three_layers(1)).has_holes(true));
}

TEST(Compare, WhatCannotBeCaptured_IsNoHole_WhatIsMissingIs) {
  for (const auto& [presence, state, hole] : {std::tuple{Presence::inside_npu, State::inside_npu, false},
                                              std::tuple{Presence::hidden_by_fusion, State::hidden_by_fusion, false},
                                              std::tuple{Presence::not_captured, State::not_captured, true},
                                              std::tuple{Presence::truncated, State::truncated, true}}) {
    Side target = three_layers(1);
    target.tensors[1].presence = presence;
    target.tensors[1].load = nullptr;
    const Comparison c = compared(std::move(target), three_layers(1));
    EXPECT_EQ(c.layers[1].verdict, state);
    EXPECT_EQ(c.has_holes(), hole) << name_of(state);
  }
}

TEST(Compare, TruncatedGolden_IsNotJudged) {
  Side golden = three_layers(1);
  golden.tensors[0].presence = Presence::truncated;
  golden.tensors[0].why = "1 of 3 parts";
  const Comparison c = compared(three_layers(1), std::move(golden));
  EXPECT_EQ(c.layers[0].verdict, State::truncated);
  EXPECT_EQ(c.layers[0].reason, "in the golden: 1 of 3 parts");
}

TEST(Compare, DamagedTensor_IsNotComparable_AndTheRestIsJudged) {
  Side target = three_layers(1);
  target.tensors[0].load = []() -> Tensor { throw std::runtime_error("bad CRC"); };
  const Comparison c = compared(std::move(target), three_layers(1));
  EXPECT_EQ(c.layers[0].verdict, State::not_comparable);
  EXPECT_EQ(c.layers[0].reason, "bad CRC");
  EXPECT_EQ(c.count(State::pass), 2u);
}

TEST(Compare, OtherShape_IsNotComparable) {
  const Comparison c = compared(make_side({make_tensor("a", {1, 2})}), make_side({make_tensor("a", {1, 2, 3})}));
  EXPECT_EQ(c.layers[0].verdict, State::not_comparable);
  EXPECT_NE(c.layers[0].reason.find("shape 2 against 3"), std::string::npos);
}

TEST(Compare, NhwcAgainstNchw_IsTransposed_AndNoted) {
  const auto target = make_tensor<float>("a", {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto golden = make_tensor<float>("a", {1, 3, 1, 2}, {1, 4, 2, 5, 3, 6});
  const Comparison c = compared(make_side({target}), make_side({golden}));
  EXPECT_EQ(c.layers[0].verdict, State::pass);
  EXPECT_EQ(c.layers[0].metrics->max_abs, 0);
  EXPECT_NE(c.layers[0].reason.find("transposed"), std::string::npos);
}

TEST(Compare, InputsOwnQuantizationStep_DoesNotFail) {
  Tensor golden = make_tensor("image", {0.2f, 0.3f, -0.4f});
  Tensor target = quantized("image", {0, 0, 0}, 1.0f);
  target.descriptor.role = golden.descriptor.role = Role::input;
  EXPECT_EQ(compared(make_side({target}), make_side({golden})).inputs[0].verdict, State::warn);
  target.descriptor.role = golden.descriptor.role = Role::intermediate;
  EXPECT_EQ(compared(make_side({target}), make_side({golden})).layers[0].verdict, State::fail);
  target.descriptor.op = "QuantizeLinear";
  EXPECT_EQ(compared(make_side({target}), make_side({golden})).layers[0].verdict, State::warn);
}

TEST(Compare, DifferentInput_FailsApartFromTheLayers) {
  Tensor target = make_tensor("image", {3, -2, 1}), golden = make_tensor("image", {1, 2, 3});
  golden.descriptor.role = Role::input;
  const Comparison c = compared(make_side({target, make_tensor("a")}), make_side({golden, make_tensor("a")}));
  EXPECT_EQ(c.inputs[0].verdict, State::fail);
  EXPECT_TRUE(c.failed());
  EXPECT_FALSE(c.first_bad);
  EXPECT_EQ(c.layers[0].index, 1u);
}

TEST(Compare, Text_IsEqualOrDifferent_NeverMeasured) {
  const Comparison c = compared(make_side({make_text("d", "cat 0.91\n"), make_text("e", "dog 0.5")}),
                                make_side({make_text("d", "cat 0.91"), make_text("e", "dog 0.6")}));
  EXPECT_EQ(c.layers[0].verdict, State::pass);
  EXPECT_EQ(c.layers[1].verdict, State::warn);
  EXPECT_FALSE(c.layers[0].metrics || c.layers[1].metrics);
  EXPECT_EQ(c.layers[1].text->golden, "dog 0.6");
}

TEST(Compare, NaNOfItsOwn_IsTheWorst) {
  const Comparison c = compared(make_side({make_tensor("a", {9, 9, 9}), make_tensor("b", {1, NAN, 3})}),
                                make_side({make_tensor("a", {1, 2, 3}), make_tensor("b", {1, 2, 3})}));
  EXPECT_EQ(c.layers[*c.worst].name, "b");
  EXPECT_EQ(c.layers[*c.first_bad].name, "a");
}

TEST(Compare, Progress_CountsEveryRow) {
  size_t calls = 0, last = 0;
  compare(align(three_layers(1), three_layers(1), {}), limits_of(Preset::standard),
          [&](size_t done, size_t total, const std::string&) {
            ++calls;
            last = done;
            EXPECT_EQ(total, 3u);
          });
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(last, 3u);
}

TEST(Compare, RunsOfAName_AreJudgedApart) {
  Side target = make_side({make_tensor("x", {1, 2}), make_tensor("x", {-1, 2})});
  Side golden = make_side({make_tensor("x", {1, 2}), make_tensor("x", {1, 2})});
  target.tensors[1].occurrence = golden.tensors[1].occurrence = 1;
  const Comparison c = compared(std::move(target), std::move(golden));
  ASSERT_EQ(c.layers.size(), 2u);
  EXPECT_EQ(c.layers[1].name, "x#1");
  EXPECT_EQ(c.layers[1].golden_name, "x#1");
  EXPECT_EQ(c.first_bad, 1u);
}

TEST(Compare, GoldenThatTheMapNamesInVain_IsTheReason) {
  const Comparison c = compared(make_side({make_tensor("a")}), make_side({make_tensor("a")}), {{"a", "b"}});
  EXPECT_EQ(c.count(State::unmatched), 2u);
  EXPECT_EQ(c.layers[1].reason, "only in the target; mapped to b, which is not there");
}

TEST(Compare, TensorThatNeedsTooMuchMemory_IsNotComparable_AndNeverLoaded) {
  Side target = make_side({make_tensor<uint8_t>("a", {1}, {1})});
  target.tensors[0].descriptor.shape = {int64_t{5} << 30};
  target.tensors[0].load = []() -> Tensor { throw std::runtime_error("loaded"); };
  const Comparison c = compared(std::move(target), make_side({make_tensor("a")}));
  EXPECT_EQ(c.layers[0].verdict, State::not_comparable);
  EXPECT_EQ(c.layers[0].reason, "needs 5.0 GiB of memory, and a pair may take 4");
}

TEST(Compare, ManyBlocks_AreOneTensor) {
  std::vector<float> values(5000), other(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = other[i] = static_cast<float>(i);
  other[4999] = 0;
  const auto image = [](const std::vector<float>& all) { return make_tensor<float>("a", {1, 50, 20, 5}, all); };
  const Comparison c = compared(make_side({image(values)}), make_side({image(other)}));
  EXPECT_EQ(c.layers[0].metrics->max_abs, 4999);
  EXPECT_EQ(c.layers[0].metrics->finite_pairs, 5000u);
}

TEST(Compare, IntegersBeyondDoubles_AreComparedExactly) {
  constexpr int64_t kBig = int64_t{1} << 53;
  const auto ids = [](std::vector<int64_t> values) { return make_side({make_tensor<int64_t>("a", {2}, values)}); };
  EXPECT_EQ(compared(ids({kBig + 1, 5}), ids({kBig + 1, 5})).layers[0].verdict, State::pass);
  const Comparison c = compared(ids({kBig + 1, 5}), ids({kBig, 5}));
  EXPECT_EQ(c.layers[0].metrics->max_abs, 0);
  EXPECT_EQ(c.layers[0].verdict, State::warn);
  EXPECT_EQ(c.layers[0].reason, "64-bit integers beyond 2^53, rounded in the metrics: 1 elements differ, by up to 1");
  const Comparison mixed = compared(make_side({make_tensor<uint64_t>("a", {2}, {~uint64_t{0}, 5})}),
                                    make_side({make_tensor<int64_t>("a", {2}, {INT64_MIN, 5})}));
  EXPECT_NE(mixed.layers[0].reason.find("by up to 18446744073709551615"), std::string::npos);
  const Comparison against_float = compared(ids({kBig + 1, 5}), make_side({make_tensor("a", {0x1p53f, 5})}));
  EXPECT_EQ(against_float.layers[0].reason, "64-bit integers beyond 2^53, rounded");
}

}  // namespace
}  // namespace dumphook
