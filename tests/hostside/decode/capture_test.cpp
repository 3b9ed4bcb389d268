// SPDX-License-Identifier: Apache-2.0
#include "decode/capture.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "capture_builder.h"
#include "decode/real_values.h"
#include "wire/format.h"

namespace dumphook {
namespace {

using dumphook_test::CaptureBuilder;
using dumphook_test::CountersSpec;
using dumphook_test::PartSpec;
using dumphook_test::scratch_folder;
using dumphook_test::TensorSpec;
using dumphook_test::write_file;

Expected<Capture> open_bytes(const std::string& bytes, const std::string& name = "capture.mcap") {
  const std::string path = scratch_folder() + "/" + name;
  write_file(path, bytes);
  return Capture::open(path);
}

std::string problem_of(const Capture& capture) {
  return capture.problems().kept().empty() ? "" : capture.problems().kept()[0].what;
}

TensorSpec named(const std::string& name, uint32_t id) {
  TensorSpec tensor;
  tensor.name = name;
  tensor.tensor_id = id;
  return tensor;
}

const std::vector<double> kValues{0, 0.5, 1, 1.5, 2, 2.5};

TEST(Capture, WholeCapture_GivesItsTensors) {
  CaptureBuilder builder;
  builder.frame_begin(7);
  builder.tensor(named("a", 0), 7);
  builder.tensor(named("b/c", 1), 7, 8);  // three parts
  builder.frame_end(7, 2, 2);
  builder.counters({2, 2, 0, {}, true});
  builder.seal();
  const auto capture = open_bytes(builder.bytes());
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(problem_of(*capture), "");
  ASSERT_EQ(capture->tensors().size(), 2u);
  const CapturedTensor& second = capture->tensors()[1];
  EXPECT_EQ(second.name(), "b/c");
  EXPECT_EQ(second.model(), "net");
  EXPECT_EQ(second.frame, 7u);
  EXPECT_EQ(second.state, TensorState::whole);
  EXPECT_EQ(second.parts.size(), 3u);
  EXPECT_EQ(second.raw_bytes, 24u);
  EXPECT_TRUE(second.described);
  const auto tensor = capture->load(second);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(real_values(*tensor), kValues);
  EXPECT_EQ(tensor->descriptor.op, "Conv");
  EXPECT_EQ(tensor->frame, 7u);

  ASSERT_EQ(capture->frames().size(), 1u);
  EXPECT_TRUE(capture->frames()[0].complete());
  ASSERT_EQ(capture->sessions().size(), 1u);
  const CaptureSession& session = capture->sessions()[0];
  EXPECT_EQ(session.uuid, "00112233445566778899aabbccddeeff");
  EXPECT_EQ(session.board, "test board");
  EXPECT_EQ(session.attributes.at("operator"), "me");
  EXPECT_TRUE(session.confirmed());
  EXPECT_TRUE(capture->streams()[0].sealed);
}

TEST(Capture, CompressedParts_AreUnpacked) {
  TensorSpec tensor;
  tensor.shape = {100000};
  tensor.bytes.assign(400000, 0);
  tensor.bytes[399999] = 0x40;
  CaptureBuilder builder;
  builder.tensor(tensor, 0, 65536);
  const auto capture = open_bytes(builder.bytes());
  ASSERT_TRUE(capture.ok());
  const CapturedTensor& entry = capture->tensors().at(0);
  EXPECT_EQ(entry.codec, kCodecLz4);
  EXPECT_LT(entry.stored_bytes, 4000u);
  const auto loaded = capture->load(entry);
  ASSERT_TRUE(loaded.ok()) << loaded.error().what;
  EXPECT_EQ(stored_values(*loaded).back(), 2.0);
}

TEST(Capture, PartsOfTensorsThatInterleave_FindTheirOwn) {
  CaptureBuilder builder;
  const TensorSpec a = named("a", 0), b = named("b", 1);
  builder.descriptor(a);
  builder.descriptor(b);
  const std::vector<uint8_t> bytes = CaptureBuilder::dense(a);
  for (const uint32_t index : {2u, 0u, 1u}) {
    for (uint64_t id = 0; id < 2; ++id) {
      PartSpec part;
      part.capture_id = id;
      part.part_index = index;
      part.part_count = 3;
      part.offset = index * 8;
      part.total = 24;
      part.raw_size = 8;
      part.data.assign(bytes.begin() + index * 8, bytes.begin() + index * 8 + 8);
      builder.part(id == 0 ? a : b, part);
    }
  }
  const auto capture = open_bytes(builder.bytes());
  ASSERT_TRUE(capture.ok());
  ASSERT_EQ(capture->tensors().size(), 2u);
  for (const CapturedTensor& tensor : capture->tensors()) {
    const auto loaded = capture->load(tensor);
    ASSERT_TRUE(loaded.ok()) << loaded.error().what;
    EXPECT_EQ(real_values(*loaded), kValues);
  }
}

TEST(Capture, MissingPart_IsTruncatedNeverWhole) {
  for (uint32_t missing = 0; missing < 3; ++missing) {
    CaptureBuilder builder;
    const TensorSpec tensor;
    builder.frame_begin(0);
    builder.descriptor(tensor);
    for (uint32_t index = 0; index < 3; ++index) {
      if (index == missing) continue;
      PartSpec part;
      part.part_index = index;
      part.part_count = 3;
      part.offset = index * 8;
      part.total = 24;
      part.raw_size = 8;
      part.data.assign(8, 1);
      builder.part(tensor, part);
    }
    builder.frame_end(0, 1, 1);
    const auto capture = open_bytes(builder.bytes());
    ASSERT_TRUE(capture.ok());
    const CapturedTensor& entry = capture->tensors().at(0);
    EXPECT_EQ(entry.state, TensorState::truncated);
    EXPECT_EQ(entry.why, "2 of 3 parts are here, 16 of 24 bytes");
    const auto loaded = capture->load(entry);
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().what.find("conv1"), std::string::npos);
    EXPECT_FALSE(capture->frames()[0].complete());
  }
}

TEST(Capture, PartsThatContradictEachOther_MakeItDamaged) {
  const auto with_second = [](const std::function<void(PartSpec&, TensorSpec&)>& change) {
    CaptureBuilder builder;
    TensorSpec tensor;
    builder.descriptor(tensor);
    PartSpec part;
    part.part_count = 2;
    part.total = 24;
    part.raw_size = 12;
    part.data.assign(12, 1);
    builder.part(tensor, part);
    part.part_index = 1;
    part.offset = 12;
    change(part, tensor);
    builder.part(tensor, part);
    auto capture = open_bytes(builder.bytes());
    return capture->tensors().at(0).state;
  };
  EXPECT_EQ(with_second([](PartSpec&, TensorSpec&) {}), TensorState::whole);
  EXPECT_EQ(with_second([](PartSpec& part, TensorSpec&) { part.offset = 8; }), TensorState::damaged);
  EXPECT_EQ(with_second([](PartSpec& part, TensorSpec&) { part.total = 28; }), TensorState::damaged);
  EXPECT_EQ(with_second([](PartSpec& part, TensorSpec&) { part.part_count = 3; }), TensorState::damaged);
}

TEST(Capture, TotalThatTheShapeDoesNotGive_IsDamaged) {
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.bytes.assign(20, 0);  // 2x3 floats need 24
  builder.tensor(tensor, 0);
  const auto capture = open_bytes(builder.bytes());
  EXPECT_EQ(capture->tensors().at(0).state, TensorState::damaged);
}

TEST(Capture, ImagesInPlanes_MayHoldMoreThanTheirShape) {
  CaptureBuilder builder;
  TensorSpec image = named("frame", 0);
  image.dtype = 14;  // u8
  image.layout = 6;  // NV12
  image.shape = {4, 4};
  image.planes = {{4, 4, 4}, {4, 4, 2}};
  image.bytes.assign(24, 128);
  builder.tensor(image, 0);
  const auto capture = open_bytes(builder.bytes());
  EXPECT_EQ(problem_of(*capture), "");
  EXPECT_EQ(capture->tensors().at(0).state, TensorState::whole);
  EXPECT_EQ(capture->load(capture->tensors()[0])->bytes.size(), 24u);
}

TEST(Capture, EmptyAndScalarTensors_AreWhole) {
  CaptureBuilder builder;
  TensorSpec empty = named("empty", 0), scalar = named("scalar", 1);
  empty.shape = {0, 4};
  scalar.shape = {};
  builder.tensor(empty, 0);
  builder.tensor(scalar, 0);
  const auto capture = open_bytes(builder.bytes());
  ASSERT_EQ(capture->tensors().size(), 2u);
  EXPECT_EQ(capture->load(capture->tensors()[0])->bytes.size(), 0u);
  EXPECT_EQ(capture->load(capture->tensors()[1])->bytes.size(), 4u);
}

TEST(Capture, WithoutDescriptor_NamesComeFromTheTopic) {
  CaptureBuilder builder;
  TensorSpec tensor = named("a/b%c", 0);
  PartSpec part;
  part.total = 24;
  part.raw_size = 24;
  part.data = CaptureBuilder::dense(tensor);
  builder.part(tensor, part);
  const auto capture = open_bytes(builder.bytes());
  const CapturedTensor& entry = capture->tensors().at(0);
  EXPECT_FALSE(entry.described);
  EXPECT_EQ(entry.name(), "a/b%c");
  EXPECT_EQ(entry.model(), "net");
  EXPECT_EQ(real_values(*capture->load(entry)), kValues);
}

TEST(Capture, QuantizationTravels) {
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.dtype = 13;  // i8
  tensor.shape = {2, 2};
  tensor.bytes = {1, 2, 3, 4};
  tensor.scale = {0.5f, 2};
  tensor.zero_point = {0, 1};
  tensor.axis = 1;
  tensor.attributes = {{"precision_mode", "int8"}};
  builder.tensor(tensor, 0);
  const auto capture = open_bytes(builder.bytes());
  EXPECT_EQ(problem_of(*capture), "");
  const auto loaded = capture->load(capture->tensors().at(0));
  EXPECT_EQ(real_values(*loaded), (std::vector<double>{0.5, 2, 1.5, 6}));
  EXPECT_EQ(loaded->descriptor.attributes.at("precision_mode"), "int8");
}

TEST(Capture, QuantizationThatDoesNotFit_IsLeftOutAndTold) {
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.dtype = 13;
  tensor.shape = {2, 2};
  tensor.bytes = {1, 2, 3, 4};
  tensor.scale = {0.5f, 2, 3};
  tensor.axis = 1;
  builder.tensor(tensor, 0);
  const auto capture = open_bytes(builder.bytes());
  EXPECT_NE(problem_of(*capture).find("quantization"), std::string::npos);
  EXPECT_EQ(real_values(*capture->load(capture->tensors().at(0))), (std::vector<double>{1, 2, 3, 4}));
}

TEST(Capture, StatisticsAndDigestsOnly_AreNotWhole) {
  CaptureBuilder builder;
  builder.statistics(named("a", 0), 0, -1, 2);
  builder.digest(named("b", 1), 0, 99);
  const auto capture = open_bytes(builder.bytes());
  ASSERT_EQ(capture->tensors().size(), 2u);
  EXPECT_EQ(capture->tensors()[0].state, TensorState::statistics);
  EXPECT_EQ(capture->tensors()[0].statistics->max, 2);
  EXPECT_EQ(capture->tensors()[1].state, TensorState::digest);
  EXPECT_EQ(capture->tensors()[1].digest, 99u);
  EXPECT_FALSE(capture->load(capture->tensors()[0]).ok());
}

TEST(Capture, DigestThatDoesNotHold_IsAnErrorOfLoad) {
  CaptureBuilder builder;
  const TensorSpec tensor;
  builder.descriptor(tensor);
  PartSpec part;
  part.total = part.raw_size = 24;
  part.data = CaptureBuilder::dense(tensor);
  part.with_digest = true;
  part.digest = 12345;
  builder.part(tensor, part);
  const auto capture = open_bytes(builder.bytes());
  const auto loaded = capture->load(capture->tensors().at(0));
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().what.find("digest"), std::string::npos);
}

TEST(Capture, Lz4ThatDoesNotDecode_IsAnErrorOfLoad) {
  CaptureBuilder builder;
  const TensorSpec tensor;
  builder.descriptor(tensor);
  PartSpec part;
  part.total = part.raw_size = 24;
  part.codec = 1;
  part.data.assign(20, 0xFF);
  builder.part(tensor, part);
  const auto capture = open_bytes(builder.bytes());
  EXPECT_EQ(capture->tensors().at(0).state, TensorState::whole);
  EXPECT_FALSE(capture->load(capture->tensors()[0]).ok());
}

TEST(Capture, RepeatsByStreamSeq_AreIgnored_AlsoAcrossFiles) {
  CaptureBuilder first;
  first.graph("net", {{"n", "Conv", {"x"}, {"conv1"}}});  // seq 1
  first.tensor(TensorSpec{}, 0);                          // 2, 3
  const uint64_t next = first.next_seq();
  CaptureBuilder::Options options;
  options.stream = 1;
  options.next_seq = next;
  CaptureBuilder second(options);
  second.graph("net", {{"n", "Conv", {"x"}, {"conv1"}}}, 1);
  second.descriptor(TensorSpec{}, 2);
  second.tensor(TensorSpec{}, 1);
  const std::string folder = scratch_folder() + "/segments";
  std::filesystem::create_directory(folder);
  write_file(folder + "/b.mcap", second.bytes());
  write_file(folder + "/a.mcap", first.bytes());
  const auto capture = Capture::open(folder);
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(problem_of(*capture), "");
  EXPECT_EQ(capture->sessions().size(), 1u);
  EXPECT_EQ(capture->streams().size(), 2u);
  EXPECT_EQ(capture->streams()[1].repeats, 2u);
  EXPECT_EQ(capture->tensors().size(), 2u);
  EXPECT_EQ(capture->graphs().size(), 1u);
  EXPECT_TRUE(capture->sessions()[0].gaps.empty());
  EXPECT_EQ(capture->sessions()[0].first_seq, 1u);
}

TEST(Capture, LaterSegmentAlone_HasNoGapsButIsNotConfirmed) {
  CaptureBuilder::Options options;
  options.stream = 3;
  options.next_seq = 1000;
  CaptureBuilder builder(options);
  builder.descriptor(TensorSpec{}, 5);
  builder.tensor(TensorSpec{}, 1);
  builder.counters({1, 1, 0, {}, true});
  const auto capture = open_bytes(builder.bytes());
  EXPECT_TRUE(capture->sessions()[0].gaps.empty());
  EXPECT_EQ(capture->sessions()[0].first_seq, 1000u);
  EXPECT_FALSE(capture->sessions()[0].confirmed());
  EXPECT_TRUE(capture->tensors().at(0).described);
}

// What the board said before somebody listened was for nobody, and what it lost thereby is counted.
TEST(Capture, FirstStreamOfABoardThatWasEarlier_IsConfirmed) {
  CaptureBuilder::Options options;
  options.next_seq = 1000;
  CaptureBuilder builder(options);
  builder.tensor(TensorSpec{}, 1);
  builder.counters({1, 1, 0, {}, true});
  const auto capture = open_bytes(builder.bytes());
  EXPECT_EQ(capture->sessions()[0].first_seq, 1000u);
  EXPECT_TRUE(capture->sessions()[0].confirmed());
}

TEST(Capture, SessionAttributes_SetLater_AreAttributes_TheNewestHolds) {
  CaptureBuilder builder;
  builder.config_change("attr.fusion = on");
  builder.config_change("include = conv*");
  builder.config_change("attr.note = two\nlines = 2");
  builder.config_change("attr.fusion = off");
  const auto capture = open_bytes(builder.bytes());
  const CaptureSession& session = capture->sessions()[0];
  EXPECT_EQ(session.attributes.at("fusion"), "off");
  EXPECT_EQ(session.attributes.at("note"), "two\nlines = 2");
  EXPECT_EQ(session.attributes.count("include"), 0u);
  EXPECT_EQ(session.config_changes.size(), 4u);
}

TEST(Capture, GapsInStreamSeq_AreRecorded) {
  CaptureBuilder builder;
  builder.frame_begin(0);  // 1
  builder.skip_seq(3);     // 2, 3, 4
  builder.frame_end(0, 0, 0);
  builder.counters({0, 0, 0, {}, true});
  const auto capture = open_bytes(builder.bytes());
  const CaptureSession& session = capture->sessions()[0];
  ASSERT_EQ(session.gaps.size(), 1u);
  EXPECT_EQ(session.gaps[0].first, 2u);
  EXPECT_EQ(session.gaps[0].last, 4u);
  EXPECT_FALSE(session.confirmed());
}

TEST(Capture, DamagedMessage_IsAProblemAndAGap) {
  CaptureBuilder builder;
  builder.tensor(named("a", 0), 0);
  builder.tensor(named("b", 1), 0);
  builder.tensor(named("c", 2), 0);
  std::string bytes = builder.bytes();
  size_t offset = 0;
  for (const auto& record : builder.records()) {
    if (record.stream_seq == 4) offset = record.offset;  // b's part
  }
  bytes[offset + 100] = static_cast<char>(bytes[offset + 100] ^ 0x10);
  const auto capture = open_bytes(bytes);
  ASSERT_TRUE(capture.ok());
  ASSERT_EQ(capture->problems().kept().size(), 1u);
  EXPECT_EQ(capture->problems().kept()[0].offset, offset);
  EXPECT_NE(problem_of(*capture).find("/net/b"), std::string::npos);
  EXPECT_EQ(capture->tensors().size(), 2u);
  ASSERT_EQ(capture->sessions()[0].gaps.size(), 1u);
  EXPECT_EQ(capture->sessions()[0].gaps[0].first, 4u);
}

TEST(Capture, TwoSessionsInOneFile_AreKeptApart) {
  CaptureBuilder builder;
  builder.tensor(TensorSpec{}, 0);
  CaptureBuilder::Options options;
  options.session = std::string(32, 'f');
  builder.begin_stream(options);
  builder.tensor(TensorSpec{}, 0);
  const auto capture = open_bytes(builder.bytes());
  EXPECT_EQ(capture->sessions().size(), 2u);
  EXPECT_EQ(capture->tensors().size(), 2u);
  EXPECT_EQ(capture->frames().size(), 2u);
}

TEST(Capture, MissingMetadata_IsToldAndTheRestIsRead) {
  CaptureBuilder::Options options;
  options.metadata = false;
  CaptureBuilder builder(options);
  builder.tensor(TensorSpec{}, 0);
  const auto capture = open_bytes(builder.bytes());
  ASSERT_TRUE(capture.ok());
  EXPECT_NE(problem_of(*capture).find("session"), std::string::npos);
  EXPECT_EQ(capture->tensors().size(), 1u);
}

TEST(Capture, MissingChannels_AreGuessedFromTheUsualNumbers) {
  CaptureBuilder::Options options;
  options.channels_first = false;
  CaptureBuilder builder(options);
  builder.frame_begin(3);
  builder.tensor(TensorSpec{}, 3);
  builder.frame_end(3, 1, 1);
  const auto capture = open_bytes(builder.bytes());
  ASSERT_EQ(capture->problems().kept().size(), 1u);
  EXPECT_EQ(capture->problems().kept()[0].severity, Severity::warning);
  EXPECT_TRUE(capture->frames().at(0).complete());
}

TEST(Capture, LossesCountersLogs_AreThere) {
  CaptureBuilder builder;
  builder.descriptor(named("a", 0));
  builder.loss({{0, 0, 1, 3, 3}, {0xFFFFFFFF, 2, 0, 9, 10}});
  builder.counters({10, 5, 2, {{0, 3}}, false});
  builder.counters({20, 17, 0, {{0, 3}}, true});
  builder.log(1, "disk nearly full");
  const auto capture = open_bytes(builder.bytes());
  const CaptureSession& session = capture->sessions()[0];
  ASSERT_EQ(session.losses.size(), 2u);
  EXPECT_EQ(session.tensor_names.at(*session.losses[0].tensor_id), "a");
  EXPECT_FALSE(session.losses[1].tensor_id);
  EXPECT_EQ(session.lost().at(LossReason::pool_full), 3u);
  EXPECT_EQ(session.counters->seen, 20u);
  EXPECT_TRUE(session.counters->closing);
  EXPECT_EQ(session.log.at(0).text, "disk nearly full");
}

TEST(Capture, ExecutionOrder_FollowsTheGraph) {
  CaptureBuilder builder;
  builder.graph("net", {{"n0", "Conv", {"in"}, {"a"}}, {"n1", "Relu", {"a"}, {"b"}}, {"n2", "Add", {"b"}, {"c"}}});
  builder.frame_begin(0);
  uint32_t id = 0;
  for (const char* name : {"c", "extra", "a", "in", "b"}) builder.tensor(named(name, id++), 0);
  const auto capture = open_bytes(builder.bytes());
  std::string order;
  for (const size_t index : capture->execution_order(0, 0)) order += capture->tensors()[index].name() + " ";
  EXPECT_EQ(order, "in a b c extra ");
  EXPECT_TRUE(capture->execution_order(0, 5).empty());
}

TEST(Capture, OccurrencesOfATensor_AreOfTheirOwn) {
  CaptureBuilder builder;
  builder.tensor(TensorSpec{}, 0, 1 << 20, 0);
  builder.tensor(TensorSpec{}, 0, 1 << 20, 1);
  const auto capture = open_bytes(builder.bytes());
  ASSERT_EQ(capture->tensors().size(), 2u);
  EXPECT_EQ(capture->tensors()[1].occurrence, 1u);
}

TEST(Capture, FileThatGrows_IsReadOnByRefresh) {
  CaptureBuilder builder;
  builder.frame_begin(0);
  builder.tensor(TensorSpec{}, 0, 8);
  builder.frame_end(0, 1, 1);
  const std::string bytes = builder.bytes();
  const std::string path = scratch_folder() + "/live.mcap";
  write_file(path, "");
  OpenOptions options;
  options.follow = true;
  auto capture = Capture::open(path, options);
  ASSERT_TRUE(capture.ok());
  std::ofstream file(path, std::ios::binary);
  for (size_t at = 0; at < bytes.size(); at += 100) {
    file.write(bytes.data() + at, static_cast<std::streamsize>(std::min<size_t>(100, bytes.size() - at))).flush();
    ASSERT_TRUE(capture->refresh().ok());
  }
  EXPECT_EQ(problem_of(*capture), "");
  EXPECT_EQ(capture->tensors().at(0).state, TensorState::whole);
  EXPECT_TRUE(capture->frames().at(0).complete());
  EXPECT_FALSE(*capture->refresh());
}

TEST(Capture, WhatIsNoCapture_IsAnErrorThatSaysSo) {
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string(100000, '\0'), std::string(5000, 'x')}) {
    const auto capture = open_bytes(bytes, "none.mcap");
    ASSERT_FALSE(capture.ok());
    EXPECT_NE(capture.error().what.find("none.mcap"), std::string::npos);
  }
  EXPECT_FALSE(Capture::open(scratch_folder() + "/missing.mcap").ok());
}

}  // namespace
}  // namespace dumphook
