// SPDX-License-Identifier: Apache-2.0
#include "align/pairs.h"

#include <gtest/gtest.h>

#include "make_side.h"

namespace dumphook {
namespace {

Tensor with_role(Tensor tensor, Role role) {
  tensor.descriptor.role = role;
  return tensor;
}

// "a=a b=- -=c": target=golden, - where there is none.
std::string picture(const std::vector<Pair>& pairs) {
  const auto name = [](const SideTensor* tensor) { return tensor ? tensor->label() : "-"; };
  std::string text;
  for (const Pair& pair : pairs) text += (text.empty() ? "" : " ") + name(pair.target) + "=" + name(pair.golden);
  return text;
}

TEST(Align, EqualNames_Match_InTargetOrder) {
  const auto a =
      align(make_side({make_tensor("b"), make_tensor("a")}), make_side({make_tensor("a"), make_tensor("b")}), {});
  EXPECT_EQ(picture(a.layers), "b=b a=a");
  EXPECT_TRUE(a.inputs.empty());
}

TEST(Align, GoldenLeads_WhereOnlyItKnowsTheOrder) {
  const auto target = make_side({make_tensor("x"), make_tensor("a"), make_tensor("b")});
  const auto golden = make_side({make_tensor("b"), make_tensor("a")}, true);
  EXPECT_EQ(picture(align(target, golden, {}).layers), "x=- b=b a=a");
  auto ordered = target;
  ordered.order_known = true;
  EXPECT_EQ(picture(align(ordered, golden, {}).layers), "x=- a=a b=b");
}

TEST(Align, WhatNeitherSideHas_MakesARowOnlyIfTheTargetShould) {
  Side target = make_side({make_tensor("lost"), make_tensor("off")}), golden = make_side({make_tensor("absent")});
  for (Side* side : {&target, &golden})
    for (SideTensor& tensor : side->tensors) tensor.presence = Presence::not_captured;
  target.tensors[1].expected = false;
  EXPECT_EQ(picture(align(target, golden, {}).layers), "lost=-");
}

TEST(Align, WhatOnlyOneSideHas_StaysBehindItsPredecessor) {
  const auto a = align(make_side({make_tensor("a"), make_tensor("t"), make_tensor("c")}),
                       make_side({make_tensor("first"), make_tensor("a"), make_tensor("b"), make_tensor("c")}), {});
  EXPECT_EQ(picture(a.layers), "-=first a=a -=b t=- c=c");
}

TEST(Align, MapComesBeforeEqualNames) {
  const auto a = align(make_side({make_tensor("a"), make_tensor("b")}), make_side({make_tensor("a"), make_tensor("b")}),
                       {{"a", "b"}, {"gone", "b"}});
  EXPECT_EQ(picture(a.layers), "-=a a=b b=-");
  ASSERT_EQ(a.notes.size(), 1u);
  EXPECT_NE(a.notes[0].find("gone"), std::string::npos);
}

TEST(Align, MapMayGiveOneGoldenToSeveralTargets) {
  const NameMap map{{"a", "g"}, {"b", "g"}};
  const auto target_leads = align(make_side({make_tensor("a"), make_tensor("b")}), make_side({make_tensor("g")}), map);
  EXPECT_EQ(picture(target_leads.layers), "a=g b=g");
  const auto golden_leads =
      align(make_side({make_tensor("a"), make_tensor("b")}), make_side({make_tensor("g")}, true), map);
  EXPECT_EQ(golden_leads.layers.size(), 2u);
  for (const Pair& pair : golden_leads.layers) EXPECT_TRUE(pair.target && pair.golden);
}

TEST(Align, FusedLayer_MatchesTheLastOfItsOrigins) {
  Tensor fused = make_tensor("conv_relu_fused");
  fused.descriptor.origin_names = {"conv", "relu"};
  const auto a = align(make_side({fused}), make_side({make_tensor("conv"), make_tensor("relu")}), {});
  EXPECT_EQ(picture(a.layers), "-=conv conv_relu_fused=relu");
  EXPECT_EQ(a.layers[1].note, "origin relu");
}

TEST(Align, SameNameInTwoModels_MatchesByModelFirst) {
  Tensor a1 = make_tensor("out"), a2 = make_tensor("out"), b1 = make_tensor("out"), b2 = make_tensor("out");
  a1.descriptor.model = b2.descriptor.model = "one";
  a2.descriptor.model = b1.descriptor.model = "two";
  const auto a = align(make_side({a1, a2}), make_side({b1, b2}), {});
  for (const Pair& pair : a.layers) EXPECT_EQ(pair.target->descriptor.model, pair.golden->descriptor.model);
}

TEST(Align, Inputs_AreApart_WhicheverSideKnows) {
  const auto a =
      align(make_side({make_tensor("image"), with_role(make_tensor("pre"), Role::preprocessed), make_tensor("out")}),
            make_side({with_role(make_tensor("image"), Role::input), make_tensor("out")}), {});
  EXPECT_EQ(picture(a.inputs), "image=image pre=-");
  EXPECT_EQ(picture(a.layers), "out=out");
}

// The same name again in the frame, and another instance of the model.
Side three_runs(const std::string& name) {
  Side side = make_side({make_tensor(name), make_tensor(name), make_tensor(name)});
  side.tensors[1].occurrence = 1;
  side.tensors[2].instance = 1;
  return side;
}

TEST(Align, RunsOfAName_MatchTheirOwn) {
  Side golden = three_runs("x");
  std::swap(golden.tensors[0], golden.tensors[2]);
  EXPECT_EQ(picture(align(three_runs("x"), golden, {}).layers), "x=x x#1=x#1 x!1=x!1");
  golden.tensors.pop_back();
  EXPECT_EQ(picture(align(three_runs("x"), golden, {}).layers), "x=- x#1=x#1 x!1=x!1");
}

TEST(Align, FilesThatExportMakes_MatchWithAndWithoutTheModel) {
  const auto file = [](const std::string& stem) {
    SideTensor tensor = make_side_tensor(make_tensor(name_of_stem(stem)));
    tensor.stem = stem;
    return tensor;
  };
  for (const std::string prefix : {"", "my%2Fnet!"}) {
    Side golden;
    for (const char* name : {"a%231", "a#1", "a#1!2", "a"}) golden.tensors.push_back(file(prefix + name));
    Side target = make_side({make_tensor("a"), make_tensor("a"), make_tensor("a"), make_tensor("a#1")});
    target.tensors[1].occurrence = target.tensors[2].occurrence = 1;
    target.tensors[2].instance = 2;
    for (SideTensor& tensor : target.tensors) tensor.descriptor.model = "my/net";
    const auto a = align(target, golden, {});
    ASSERT_EQ(a.layers.size(), 4u);
    const char* stems[] = {"a", "a#1", "a#1!2", "a%231"};
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(a.layers[i].golden->stem, prefix + stems[i]);
  }
}

TEST(Align, MapToAGoldenThatIsNotThere_LeavesTheTargetUnmatched) {
  const auto a = align(make_side({make_tensor("a")}), make_side({make_tensor("a")}), {{"a", "gone"}});
  EXPECT_EQ(picture(a.layers), "-=a a=-");
  EXPECT_EQ(a.notes.size(), 1u);
}

TEST(Align, MapOfAName_HoldsForAllItsRuns) {
  EXPECT_EQ(picture(align(three_runs("x"), three_runs("y"), {{"x", "y"}}).layers), "x=y x#1=y#1 x!1=y!1");
  EXPECT_EQ(picture(align(three_runs("x"), three_runs("y"), {{"x", "y"}, {"x#1", "y!1"}}).layers),
            "x=y -=y#1 x#1=y!1 x!1=y!1");
}

}  // namespace
}  // namespace dumphook
