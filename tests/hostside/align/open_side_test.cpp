// SPDX-License-Identifier: Apache-2.0
#include "align/open_side.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "align/npy_folder.h"
#include "align/pairs.h"
#include "capture_builder.h"
#include "decode/npy.h"
#include "decode/stem.h"
#include "make_side.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;

class Folders : public ::testing::Test {
 protected:
  Folders()
      : root_(fs::temp_directory_path() / ("align_" + std::to_string(::getpid()) + "_" + std::to_string(next_++))) {
    for (const char* side : {"t", "g"}) fs::create_directories(root_ / side);
  }
  ~Folders() override { fs::remove_all(root_); }

  std::string path(const std::string& side) const { return (root_ / side).string(); }

  void save(const std::string& side, const std::string& stem, const std::vector<float>& values) {
    const Tensor tensor = make_tensor(stem, values);
    const NpyFile npy = npy_of_stored(tensor);
    const ConstBytes data = npy_data(npy, tensor);
    std::ofstream file(root_ / side / (stem + ".npy"), std::ios::binary);
    file << npy.header;
    file.write(reinterpret_cast<const char*>(data.data), static_cast<std::streamsize>(data.size));
  }

  Sides open(const FrameChoice& choice = {}) const { return open_sides(path("t"), path("g"), choice); }

  std::string error_of(const FrameChoice& choice = {}) const {
    try {
      open(choice);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }

 private:
  static inline int next_ = 0;
  const fs::path root_;
};

TEST(NaturalOrder, NumbersCountAsNumbers) {
  EXPECT_TRUE(natural_less("layer2", "layer10"));
  EXPECT_FALSE(natural_less("layer10", "layer2"));
  EXPECT_TRUE(natural_less("2_a", "10_a"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("a01", "a1") != natural_less("a1", "a01"));
  EXPECT_FALSE(natural_less("a0", "a0"));
}

TEST_F(Folders, NpyFolder_GivesItsFilesInNaturalOrder) {
  save("t", "layer10", {1});
  save("t", "layer2", {2});
  save("g", "layer2", {2});
  const Sides sides = open();
  ASSERT_EQ(sides.target.tensors.size(), 2u);
  EXPECT_EQ(sides.target.tensors[0].descriptor.name, "layer2");
  EXPECT_EQ(sides.target.tensors[0].load().bytes.size(), 4u);
  EXPECT_FALSE(sides.target.order_known);
  EXPECT_TRUE(sides.target.coverage.complete());
  EXPECT_FALSE(sides.target.coverage.frame);
}

TEST_F(Folders, EscapedStems_GiveTheTensorsName) {
  const std::string name = "net/conv:0";
  save("t", stem_of_name(name), {1});
  save("g", "x", {1});
  EXPECT_EQ(open().target.tensors[0].descriptor.name, name);
}

TEST_F(Folders, NameTooLongForAFile_StillMatchesTheFile) {
  const std::string name(400, 'n');
  save("g", stem_of_name(name), {1});
  save("t", "x", {1});
  const Alignment a = align(make_side({make_tensor(name)}), open().golden, {});
  ASSERT_EQ(a.layers.size(), 1u);
  EXPECT_TRUE(a.layers[0].target && a.layers[0].golden);
}

TEST_F(Folders, FrameOfAFolder_IsRefused) {
  save("t", "a", {1});
  save("g", "a", {1});
  EXPECT_NE(error_of({3, {}}).find("has no frames"), std::string::npos);
}

TEST_F(Folders, EmptyFolder_IsNamed) {
  save("t", "a", {1});
  EXPECT_NE(error_of().find(path("g")), std::string::npos);
}

TEST_F(Folders, MissingPath_IsNamed) {
  try {
    open_sides("/nonexistent/run.mcap", path("g"), {});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/run.mcap"), std::string::npos);
  }
}

// ---- Captures

using dumphook_test::CaptureBuilder;
using dumphook_test::NodeSpec;
using dumphook_test::TensorSpec;

TensorSpec spec(const std::string& name, int node_index = -1) {
  TensorSpec tensor;
  tensor.name = name;
  tensor.tensor_id = static_cast<uint32_t>(std::hash<std::string>{}(name) % 1000);
  tensor.node_index = node_index;
  return tensor;
}

// Frames of the given numbers, each whole, with tensors a and b.
void add_frames(CaptureBuilder& builder, const std::vector<uint64_t>& numbers) {
  for (uint64_t number : numbers) {
    builder.frame_begin(number);
    builder.tensor(spec("a"), number);
    builder.tensor(spec("b"), number);
    builder.frame_end(number, 2, 2);
  }
}

std::string saved(CaptureBuilder& builder, const std::string& name) {
  const std::string path = dumphook_test::scratch_folder() + "/" + name;
  dumphook_test::write_file(path, builder.bytes());
  return path;
}

std::string capture_with_frames(const std::string& name, const std::vector<uint64_t>& numbers) {
  CaptureBuilder builder;
  add_frames(builder, numbers);
  return saved(builder, name);
}

std::string names_of(const Side& side) {
  std::string text;
  for (const SideTensor& tensor : side.tensors) text += (text.empty() ? "" : " ") + tensor.descriptor.name;
  return text;
}

TEST(Frames, FirstThatBothHoldCompletely_IsTaken) {
  CaptureBuilder builder;
  builder.frame_begin(1);
  builder.tensor(spec("a"), 1);
  builder.frame_end(1, 2, 1, {{0, 1}}, 2);
  add_frames(builder, {2, 3});
  const Sides sides = open_sides(saved(builder, "t.mcap"), capture_with_frames("g.mcap", {1, 3, 4}), {});
  EXPECT_EQ(sides.target.coverage.frame, 3u);
  EXPECT_EQ(sides.golden.coverage.frame, 3u);
  EXPECT_TRUE(sides.target.coverage.complete());
}

TEST(Frames, OneGoldenFrame_StandsAgainstAnyTargetFrame) {
  const std::string target = capture_with_frames("t.mcap", {5, 6}), golden = capture_with_frames("g.mcap", {0});
  EXPECT_EQ(open_sides(target, golden, {}).target.coverage.frame, 5u);
  const Sides sides = open_sides(target, golden, {6, {}});
  EXPECT_EQ(sides.target.coverage.frame, 6u);
  EXPECT_EQ(sides.golden.coverage.frame, 0u);
  EXPECT_FALSE(sides.golden.notes.empty());
}

TEST(Frames, ChosenFrameThatIsNotThere_SaysWhatIs) {
  const std::string target = capture_with_frames("t.mcap", {5, 6}), golden = capture_with_frames("g.mcap", {7, 8});
  const auto error_of = [&](const FrameChoice& choice) -> std::string {
    try {
      open_sides(target, golden, choice);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_NE(error_of({9, {}}).find("has no frame 9; it holds 2 frames, from 5 to 6"), std::string::npos);
  EXPECT_NE(error_of({5, {}}).find("--golden-frame"), std::string::npos);
  EXPECT_EQ(error_of({5, 8}), "");
}

TEST(CaptureSide, NodeIndex_GivesTheOrder) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  for (const auto& tensor : {spec("c", 2), spec("a", 0), spec("b", 1)}) builder.tensor(tensor, 0);
  builder.frame_end(0, 3, 3);
  const std::string path = saved(builder, "t.mcap");
  const Side side = open_sides(path, path, {}).target;
  EXPECT_EQ(names_of(side), "a b c");
  EXPECT_TRUE(side.order_known);
}

TEST(CaptureSide, DeclaredLayersThatAreNotHere_HaveTheirPlaceAndReason) {
  CaptureBuilder builder;
  builder.graph("net", {{"n0", "Conv", {"x"}, {"a"}, 0},
                        {"n1", "Conv", {"a"}, {"npu"}, 1},
                        {"n2", "Relu", {"npu"}, {"fused"}, 2},
                        {"n3", "Add", {"fused"}, {"lost"}, 0},
                        {"n4", "Add", {"lost"}, {"b"}, 0}});
  builder.frame_begin(0);
  builder.tensor(spec("b"), 0);
  builder.tensor(spec("a"), 0);
  builder.frame_end(0, 3, 2, {{0, 1}}, 2);
  const std::string path = saved(builder, "t.mcap");
  const Side side = open_sides(path, path, {}).target;
  EXPECT_EQ(names_of(side), "a npu fused lost b");
  EXPECT_EQ(side.tensors[1].presence, Presence::inside_npu);
  EXPECT_EQ(side.tensors[2].presence, Presence::hidden_by_fusion);
  EXPECT_EQ(side.tensors[3].presence, Presence::not_captured);
  EXPECT_EQ(side.coverage.declared, 5u);
  EXPECT_EQ(side.coverage.visible, 3u);
  EXPECT_EQ(side.coverage.lost.at("pool_full"), 1u);
  EXPECT_FALSE(side.coverage.complete());
}

TEST(CaptureSide, TensorThatLacksAPart_IsTruncated) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  builder.descriptor(spec("a"));
  dumphook_test::PartSpec part;
  part.part_count = 2;
  part.total = 24;
  part.raw_size = 8;
  part.data.resize(8);
  builder.part(spec("a"), part);
  builder.frame_end(0, 1, 1);
  const std::string path = saved(builder, "t.mcap");
  const Side side = open_sides(path, path, {}).target;
  ASSERT_EQ(side.tensors.size(), 1u);
  EXPECT_EQ(side.tensors[0].presence, Presence::truncated);
  EXPECT_FALSE(side.coverage.complete());
}

TEST(CaptureSide, RepeatedNames_AreAllTaken) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  for (uint32_t run = 0; run < 2; ++run)
    for (const auto& tensor : {spec("b", 1), spec("a", 0)}) builder.tensor(tensor, 0, 1 << 20, run);
  builder.frame_end(0, 4, 4);
  const std::string path = saved(builder, "t.mcap");
  const Side side = open_sides(path, path, {}).target;
  std::string labels;
  for (const SideTensor& tensor : side.tensors) labels += tensor.label() + " ";
  EXPECT_EQ(labels, "a b a#1 b#1 ") << "one run of the model after the other";
  EXPECT_EQ(side.coverage.captured, 4u);
  EXPECT_TRUE(side.notes.empty());
}

TEST(CaptureSide, TensorWithoutItsDescriptor_IsNotComparable) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  dumphook_test::PartSpec part;
  part.total = part.raw_size = 24;
  part.data.resize(24);
  builder.part(spec("a"), part);
  builder.frame_end(0, 1, 1);
  const std::string path = saved(builder, "t.mcap");
  const Side side = open_sides(path, path, {}).target;
  ASSERT_EQ(side.tensors.size(), 1u);
  EXPECT_EQ(side.tensors[0].presence, Presence::unusable);
  EXPECT_EQ(side.tensors[0].why, "its descriptor is missing");
}

TEST_F(Folders, FolderOfSeveralSessions_NamesTheFiles) {
  for (const char* session : {"aa", "bb"}) {
    CaptureBuilder::Options options;
    options.session = std::string(session) + "112233445566778899aabbccddeeff";
    CaptureBuilder builder(options);
    add_frames(builder, {0});
    dumphook_test::write_file(path("t") + "/" + session + ".mcap", builder.bytes());
  }
  save("g", "a", {1});
  const std::string error = error_of();
  for (const char* words : {"holds 2 sessions", "aa.mcap (session aa112233)", "bb.mcap (session bb112233)"})
    EXPECT_NE(error.find(words), std::string::npos) << error;
}

TEST(CaptureSide, LostWithAName_SaysWhy) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  builder.descriptor(spec("b"));
  builder.tensor(spec("a"), 0);
  builder.frame_end(0, 2, 1, {{0, 1}}, 2);
  builder.loss({{spec("b").tensor_id, 0, 0, 0, 1}});
  const std::string path = saved(builder, "t.mcap");
  const Side side = open_sides(path, path, {}).target;
  ASSERT_EQ(names_of(side), "a b");
  EXPECT_EQ(side.tensors[1].why, "lost: pool_full");
  EXPECT_TRUE(side.tensors[1].expected);
}

}  // namespace
}  // namespace dumphook
