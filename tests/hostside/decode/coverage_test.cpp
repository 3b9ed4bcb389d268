// SPDX-License-Identifier: Apache-2.0
#include "decode/coverage.h"

#include <gtest/gtest.h>

#include "capture_builder.h"

namespace dumphook {
namespace {

using dumphook_test::CaptureBuilder;
using dumphook_test::PartSpec;
using dumphook_test::scratch_folder;
using dumphook_test::TensorSpec;
using dumphook_test::write_file;

TensorSpec named(const std::string& name, uint32_t id) {
  TensorSpec tensor;
  tensor.name = name;
  tensor.tensor_id = id;
  return tensor;
}

Coverage coverage_of(CaptureBuilder& builder, const FrameSelection& frames = {}) {
  const std::string path = scratch_folder() + "/coverage.mcap";
  write_file(path, builder.bytes());
  const auto capture = Capture::open(path);
  EXPECT_TRUE(capture.ok());
  return coverage(*capture, frames);
}

LayerState state_of(const Coverage& found, const std::string& name) {
  for (const LayerCoverage& layer : found.layers) {
    if (layer.name == name) return layer.state;
  }
  ADD_FAILURE() << name << " is not covered at all";
  return LayerState::captured;
}

void declare(CaptureBuilder& builder) {
  builder.graph("net", {{"n0", "Conv", {"in"}, {"a"}, 0},
                        {"n1", "Conv", {"a"}, {"b"}, 0},
                        {"n2", "Relu", {"b"}, {"c"}, 2},
                        {"n3", "Conv", {"c"}, {"d"}, 1},
                        {"n4", "Const", {}, {"w"}, 3},
                        {"n5", "Conv", {"d"}, {"e"}, 0}});
}

TEST(Coverage, EveryKindOfLayer_HasItsState) {
  CaptureBuilder builder;
  declare(builder);
  builder.descriptor(named("b", 1));
  builder.frame_begin(0);
  builder.tensor(named("a", 0), 0);
  builder.loss({{1, 0, 0, 0, 1}});
  builder.frame_end(0, 2, 1, {{0, 1}});
  builder.counters({2, 1, 0, {{0, 1}}, true});
  const Coverage found = coverage_of(builder);
  EXPECT_TRUE(found.graph_known);
  EXPECT_TRUE(found.confirmed);
  EXPECT_EQ(state_of(found, "a"), LayerState::captured);
  EXPECT_EQ(state_of(found, "b"), LayerState::lost);
  EXPECT_EQ(state_of(found, "c"), LayerState::fused_away);
  EXPECT_EQ(state_of(found, "d"), LayerState::inside_delegate);
  EXPECT_EQ(state_of(found, "w"), LayerState::constant);
  EXPECT_EQ(state_of(found, "e"), LayerState::not_selected);
  EXPECT_EQ(found.lost.at(LossReason::pool_full), 1u);  // FrameEnd and Loss say the same one
  EXPECT_TRUE(found.data_missing());
  EXPECT_FALSE(found.complete());
}

TEST(Coverage, EverythingThere_IsComplete) {
  CaptureBuilder builder;
  builder.graph("net", {{"n0", "Conv", {"in"}, {"a"}, 0}});
  builder.frame_begin(0);
  builder.tensor(named("a", 0), 0);
  builder.frame_end(0, 1, 1);
  builder.counters({1, 1, 0, {}, true});
  const Coverage found = coverage_of(builder);
  EXPECT_TRUE(found.complete());
  EXPECT_EQ(found.lines().size(), 2u);
}

TEST(Coverage, WithoutClosingMessage_IsUnconfirmed) {
  CaptureBuilder builder;
  builder.graph("net", {{"n0", "Conv", {"in"}, {"a"}, 0}});
  builder.frame_begin(0);
  builder.tensor(named("a", 0), 0);
  builder.frame_end(0, 1, 1);
  const Coverage found = coverage_of(builder);
  EXPECT_FALSE(found.confirmed);
  EXPECT_FALSE(found.data_missing());
  EXPECT_FALSE(found.complete());
}

TEST(Coverage, WithoutGraph_JudgesWhatWasSeenAndSaysSo) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  builder.tensor(named("a", 0), 0);
  builder.frame_end(0, 1, 1);
  builder.counters({1, 1, 0, {}, true});
  const Coverage found = coverage_of(builder);
  EXPECT_FALSE(found.graph_known);
  EXPECT_FALSE(found.complete());
  EXPECT_NE(found.lines()[0].find("no model graph"), std::string::npos);
}

TEST(Coverage, TensorLostInSomeFrames_IsPartlyCaptured_AndWholeInTheOthers) {
  CaptureBuilder builder;
  for (uint64_t frame = 0; frame < 4; ++frame) {
    builder.frame_begin(frame);
    if (frame != 2) builder.tensor(named("a", 0), frame);
    builder.frame_end(frame, 1, frame != 2,
                      frame != 2 ? std::map<uint8_t, uint64_t>{} : std::map<uint8_t, uint64_t>{{1, 1}});
  }
  builder.loss({{0, 1, 0, 3, 1}});  // a range wider than what was lost
  EXPECT_EQ(state_of(coverage_of(builder), "a"), LayerState::partly_captured);
  FrameSelection third;
  third.ranges = {{2, 2}};
  EXPECT_EQ(state_of(coverage_of(builder, third), "a"), LayerState::lost);
  FrameSelection first;
  first.ranges = {{0, 0}};
  EXPECT_EQ(state_of(coverage_of(builder, first), "a"), LayerState::captured);
}

TEST(Coverage, MissingMessages_AreMissingData) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  builder.tensor(named("a", 0), 0);
  builder.frame_end(0, 1, 1);
  builder.skip_seq(2);
  builder.counters({1, 1, 0, {}, true});
  const Coverage found = coverage_of(builder);
  EXPECT_EQ(found.missing_messages, 2u);
  EXPECT_TRUE(found.data_missing());
}

TEST(Coverage, TruncatedTensor_IsAHole) {
  CaptureBuilder builder;
  const TensorSpec tensor = named("a", 0);
  builder.frame_begin(0);
  PartSpec part;
  part.part_count = 2;
  part.total = 24;
  part.raw_size = 12;
  part.data.assign(12, 0);
  builder.part(tensor, part, true);
  builder.frame_end(0, 1, 1);
  const Coverage found = coverage_of(builder);
  EXPECT_EQ(state_of(found, "a"), LayerState::truncated);
  EXPECT_TRUE(found.data_missing());
}

TEST(Coverage, LayerThatAnOpenFrameLacks_IsPartlyCaptured) {
  CaptureBuilder builder;
  for (uint64_t frame = 0; frame < 5; ++frame) {
    builder.frame_begin(frame);
    builder.tensor(named("a", 0), frame);
    if (frame == 4) break;  // cut here
    builder.tensor(named("b", 1), frame);
    builder.tensor(named("b", 1), frame, 1 << 20, 1);
    builder.frame_end(frame, 3, 3);
  }
  const Coverage found = coverage_of(builder);
  EXPECT_EQ(state_of(found, "a"), LayerState::captured);
  EXPECT_EQ(state_of(found, "b"), LayerState::partly_captured) << "eight times, but in four frames of five";
}

TEST(Coverage, LayerThatCompleteFramesLack_WasNotOfferedThere) {
  CaptureBuilder builder;
  for (uint64_t frame = 0; frame < 3; ++frame) {
    builder.frame_begin(frame);
    builder.tensor(named("a", 0), frame);
    if (frame == 1) builder.tensor(named("b", 1), frame);
    builder.frame_end(frame, 1 + (frame == 1), 1 + (frame == 1));
  }
  EXPECT_EQ(state_of(coverage_of(builder), "b"), LayerState::captured);
}

}  // namespace
}  // namespace dumphook
