// SPDX-License-Identifier: Apache-2.0
// What a capture lacks, or holds several times, as the verbs show it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tool.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TensorSpec named(const std::string& name, uint32_t id, const std::string& model = "net") {
  TensorSpec tensor;
  tensor.model = model;
  tensor.name = name;
  tensor.tensor_id = id;
  return tensor;
}

std::string saved(CaptureBuilder& builder, const std::string& name) {
  const std::string path = scratch_folder() + "/" + name;
  write_file(path, builder.bytes());
  return path;
}

// One model, or two whose tensors have the same names; each runs twice in the frame.
std::string repeated(const std::vector<std::string>& models) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  uint32_t id = 0;
  for (const std::string& model : models)
    for (const char* name : {"a/b", "c"}) {
      TensorSpec tensor = named(name, id++, model);
      for (uint32_t run = 0; run < 2; ++run) {
        tensor.bytes.assign(24, static_cast<uint8_t>(id + 10 * run));
        builder.tensor(tensor, 0, 1 << 20, run);
      }
    }
  builder.frame_end(0, 2 * id, 2 * id);
  builder.counters({2 * id, 2 * id, 0, {}, true});
  builder.seal();
  return saved(builder, "repeated" + std::to_string(models.size()) + ".mcap");
}

TEST(SelfComparison, CaptureAgainstItsExport_MatchesEveryRow) {
  for (const std::vector<std::string>& models : {std::vector<std::string>{"one"}, {"one", "two"}}) {
    const std::string capture = repeated(models), folder = capture + ".npy";
    ASSERT_EQ(tool("export " + capture + " --to " + folder).exit_code, 0);
    for (const std::string& pair : {capture + " " + folder, folder + " " + capture, capture + " " + capture}) {
      const Ran run = tool("compare --json " + pair);
      EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
      const Json report = Json::parse(run.out);
      ASSERT_EQ(report["layers"].size(), 4 * models.size()) << pair;
      for (const Json& row : report["layers"]) EXPECT_EQ(row["metrics"]["max_abs"], 0) << row;
    }
  }
}

TEST(SelfComparison, AGlobChangesNoNames) {
  const std::string capture = repeated({"one", "two"}), folder = capture + ".part";
  ASSERT_EQ(tool("export " + capture + " 'one/*' --to " + folder).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder + "/one!a%2Fb#1.npy"));
}

TEST(Show, RunOfAName_ByTheNameOfItsRow) {
  const std::string capture = repeated({"one"});
  const Json object = Json::parse(tool("show --json --stored " + capture + " 'a/b#1'").out);
  EXPECT_EQ(object["tensors"][0]["occurrence"], 1);
  EXPECT_NE(tool("ls " + capture).out.find("a/b#1"), std::string::npos);
}

std::string undescribed() {
  CaptureBuilder builder;
  builder.frame_begin(0);
  dumphook_test::PartSpec part;
  part.total = part.raw_size = 6;
  part.data = quantized().bytes;
  builder.part(quantized(), part);
  builder.frame_end(0, 1, 1);
  return saved(builder, "undescribed.mcap");
}

TEST(Undescribed, HasNoRealValues_OnlyStoredOnes) {
  const std::string capture = undescribed(), folder = scratch_folder() + "/undescribed";
  const Ran real = tool("show " + capture + " conv/1");
  EXPECT_EQ(real.exit_code, 3);
  EXPECT_EQ(real.out, "");
  EXPECT_NE(real.err.find("its descriptor is missing"), std::string::npos) << real.err;
  const Ran stored = tool("show --stored " + capture + " conv/1");
  EXPECT_EQ(stored.exit_code, 0) << stored.err;
  EXPECT_NE(stored.out.find("\n0, 1, 2, 3, 4, -1, \n"), std::string::npos) << stored.out;
  const Ran exported = tool("export --json " + capture + " --to " + folder);
  EXPECT_EQ(exported.exit_code, 3);
  EXPECT_EQ(Json::parse(exported.out)["skipped"].size(), 1u);
  EXPECT_FALSE(fs::exists(folder + "/conv%2F1.npy"));
  EXPECT_EQ(tool("export --stored " + capture + " --to " + folder).exit_code, 0);
  EXPECT_NE(tool("compare " + capture + " " + capture).out.find("not comparable  its descriptor is missing"),
            std::string::npos);
}

// Frame 0 is whole; frame 1 lost all but one.
std::string lossy() {
  CaptureBuilder builder;
  for (uint64_t frame = 0; frame < 2; ++frame) {
    builder.frame_begin(frame);
    builder.tensor(named("a", 0), frame);
    if (frame == 0) builder.tensor(named("b", 1), frame);
    builder.frame_end(frame, 9, 2 - static_cast<uint32_t>(frame), {{0, frame * 8}}, frame == 0 ? 0 : 2);
  }
  return saved(builder, "lossy.mcap");
}

TEST(Export, WhatFramesLack_AndFramesThatAreNotThere_ExitWithThree) {
  const std::string capture = lossy(), folder = scratch_folder() + "/lossy";
  EXPECT_EQ(tool("export " + capture + " --frame 0 --to " + folder).exit_code, 0);
  const Ran run = tool("export --json " + capture + " --frame 0-1,5,7-9 --force --to " + folder);
  EXPECT_EQ(run.exit_code, 3);
  for (const char* words : {"frame 1 is incomplete, lost: pool_full 8", "there is no frame 5", "no frames 7 to 9"})
    EXPECT_NE(run.err.find(words), std::string::npos) << words << " in\n" << run.err;
  const Json object = Json::parse(run.out);
  EXPECT_EQ(object["absent_frames"], Json({{5, 5}, {7, 9}}));
  EXPECT_EQ(object["frames"][1]["lost"]["pool_full"], 8);
  EXPECT_EQ(tool("ls " + capture + " --frame 0,5").exit_code, 3);
}

TEST(Show, SeveralFrames_AreOneObject_AndOneThatLacksTheNameIsSaid) {
  const std::string capture = lossy();
  const Ran run = tool("show --json " + capture + " b --frame all");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.err.find("there is no tensor b in frame 1"), std::string::npos) << run.err;
  EXPECT_EQ(Json::parse(run.out)["tensors"].size(), 1u);
  const Ran both = tool("show --json " + capture + " a --frame all");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_EQ(Json::parse(both.out)["tensors"].size(), 2u);
  EXPECT_EQ(tool("show " + capture + " c --frame all").exit_code, 1);
}

TEST(Show, StatisticsOfNothing_AreNotNumbers) {
  CaptureBuilder builder;
  TensorSpec nan = named("nan", 0), empty = named("empty", 1);
  nan.shape = {1};
  nan.bytes = {0, 0, 0xC0, 0x7F};
  empty.shape = {0, 2};
  builder.tensor(nan, 0);
  builder.tensor(empty, 0);
  const std::string capture = saved(builder, "nothing.mcap");
  for (const char* name : {"nan", "empty"}) {
    const Json object = Json::parse(tool("show --json " + capture + " " + name).out);
    for (const char* key : {"min", "max", "mean", "std"})
      EXPECT_TRUE(object["tensors"][0]["statistics"][key].is_null()) << name << " " << key;
    EXPECT_NE(tool("show " + capture + " " + name).out.find("min nan"), std::string::npos);
  }
}

TEST(Integers, BeyondDoubles_AreExactEverywhere) {
  CaptureBuilder builder;
  TensorSpec tensor = named("id", 0);
  tensor.shape = {2};
  tensor.bytes = {1, 0, 0, 0, 0, 0, 0x20, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  for (const auto& [dtype, last] : {std::pair<uint8_t, std::string>{7, "-1"}, {8, "18446744073709551615"}}) {
    CaptureBuilder one;
    tensor.dtype = dtype;
    one.tensor(tensor, 0);
    one.frame_end(0, 1, 1);
    const std::string capture = saved(one, "id.mcap"), folder = scratch_folder() + "/id" + last;
    EXPECT_NE(tool("show " + capture + " id").out.find("\n9007199254740993, " + last + ", \n"), std::string::npos);
    EXPECT_NE(tool("show --json " + capture + " id").out.find("[9007199254740993," + last + "]"), std::string::npos);
    EXPECT_EQ(tool("export --format txt " + capture + " --to " + folder).exit_code, 0);
    EXPECT_EQ(content_of(folder + "/id.txt"), "9007199254740993, " + last + ", \n");
  }
}

TEST(Ls, SeveralSessions_AreTold) {
  CaptureBuilder builder;
  builder.tensor(named("a", 0), 0);
  CaptureBuilder::Options options;
  options.session = "ff112233445566778899aabbccddeeff";
  builder.begin_stream(options);
  builder.tensor(named("a", 0), 0);
  const std::string out = tool("ls --frame all " + saved(builder, "two.mcap")).out;
  EXPECT_NE(out.find("frame 0 of session 00112233"), std::string::npos) << out;
  EXPECT_NE(out.find("frame 0 of session ff112233"), std::string::npos) << out;
  EXPECT_EQ(tool("ls " + fine_capture()).out.find("session"), std::string::npos);
}

TEST(Errors, NamesThatSteerTerminals_AreEscaped) {
  CaptureBuilder builder;
  TensorSpec big = named("\x1b[2Jbig", 0);
  big.shape = {64};
  builder.tensor(big, 0, 64);
  const std::string bytes = builder.bytes(), path = scratch_folder() + "/cut.mcap";
  write_file(path, bytes.substr(0, bytes.size() - 30));
  const Ran run = tool("export " + path + " --to " + scratch_folder() + "/cut");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace dumphook
