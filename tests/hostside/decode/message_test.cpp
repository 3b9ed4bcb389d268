// SPDX-License-Identifier: Apache-2.0
// FORMAT.md section 9, invariant by invariant: messages whose CRC is right and whose content is not.
#include "decode/message.h"

#include <gtest/gtest.h>

#include <functional>

#include "capture_builder.h"

namespace dumphook {
namespace {

using dumphook_test::CaptureBuilder;
using dumphook_test::PartSpec;
using dumphook_test::scratch_folder;
using dumphook_test::TensorSpec;
using dumphook_test::write_file;

struct Outcome {
  std::string problem;
  size_t tensors;
};

Outcome outcome_of(CaptureBuilder& builder) {
  const std::string path = scratch_folder() + "/message.mcap";
  write_file(path, builder.bytes());
  const auto capture = Capture::open(path);
  if (!capture.ok()) return {capture.error().what, 0};
  return {capture->problems().kept().empty() ? "" : capture->problems().kept()[0].what, capture->tensors().size()};
}

Outcome with_part(const std::function<void(PartSpec&)>& change, TensorSpec tensor = {}) {
  CaptureBuilder builder;
  PartSpec part;
  part.total = part.raw_size = 24;
  part.data.assign(24, 0);
  change(part);
  builder.part(tensor, part, true);
  return outcome_of(builder);
}

void expect_refused(const Outcome& outcome, const std::string& why) {
  EXPECT_NE(outcome.problem.find(why), std::string::npos) << outcome.problem;
  EXPECT_EQ(outcome.tensors, 0u) << why;
}

TEST(Message, GoodPart_IsTaken) {
  const Outcome outcome = with_part([](PartSpec&) {});
  EXPECT_EQ(outcome.problem, "");
  EXPECT_EQ(outcome.tensors, 1u);
}

TEST(Message, PartNumbers_AreChecked) {
  expect_refused(with_part([](PartSpec& part) { part.part_count = 0; }), "number");
  expect_refused(with_part([](PartSpec& part) { part.part_index = 1; }), "number");
}

TEST(Message, PartBeyondItsTensor_IsRefused_AlsoWhereTheSumWraps) {
  expect_refused(with_part([](PartSpec& part) { part.offset = 4; }), "beyond");
  expect_refused(with_part([](PartSpec& part) { part.offset = ~uint64_t{3}; }), "beyond");
  expect_refused(with_part([](PartSpec& part) { part.total = 20; }), "beyond");
}

TEST(Message, PartInsideAnElement_IsRefused) {
  expect_refused(with_part([](PartSpec& part) { part.offset = 2, part.total = 26; }), "inside an element");
}

TEST(Message, RawPartOfAnotherSize_IsRefused) {
  expect_refused(with_part([](PartSpec& part) { part.data.pop_back(); }), "another number");
}

TEST(Message, Lz4Bomb_IsRefusedBeforeItIsUnpacked) {
  expect_refused(with_part([](PartSpec& part) {
                   part.codec = 1;
                   part.total = part.raw_size = 16 << 20;
                   part.data.assign(100, 0);
                 }),
                 "cannot decode");
  expect_refused(with_part([](PartSpec& part) {
                   part.codec = 1;
                   part.total = part.raw_size = (16 << 20) + 1;
                   part.data.assign(1 << 20, 0);
                 }),
                 "16 MiB");
}

TEST(Message, UnknownCodecAndType_AreRefused) {
  expect_refused(with_part([](PartSpec& part) { part.codec = 9; }), "codec");
  TensorSpec tensor;
  tensor.dtype = 18;
  CaptureBuilder builder;
  tensor.bytes.assign(24, 0);
  PartSpec part;
  part.total = part.raw_size = 24;
  part.data.assign(24, 0);
  builder.part(tensor, part);
  expect_refused(outcome_of(builder), "element type");
}

TEST(Message, ShapesThatCannotBe_AreRefused) {
  TensorSpec negative;
  negative.shape = {2, -3};
  negative.bytes.assign(24, 0);
  expect_refused(with_part([](PartSpec&) {}, negative), "negative");
  TensorSpec deep;
  deep.shape.assign(9, 1);
  deep.bytes.assign(24, 0);
  expect_refused(with_part([](PartSpec&) {}, deep), "dimensions");
}

TEST(Message, LongName_IsRefused) {
  TensorSpec tensor;
  tensor.name.assign(513, 'n');
  expect_refused(with_part([](PartSpec&) {}, tensor), "512");
}

// `total` alone must not make us allocate: this says an exabyte.
TEST(Message, HugeTotal_IsTruncatedNotAllocated) {
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.shape = {int64_t{1} << 58};
  tensor.bytes.assign(8, 0);
  PartSpec part;
  part.part_count = 1000;
  part.total = uint64_t{1} << 60;
  part.raw_size = 24;
  part.data.assign(24, 0);
  builder.part(tensor, part, true);
  const std::string path = scratch_folder() + "/huge.mcap";
  write_file(path, builder.bytes());
  const auto capture = Capture::open(path);
  ASSERT_TRUE(capture.ok());
  EXPECT_EQ(capture->tensors().at(0).state, TensorState::truncated);
  EXPECT_FALSE(capture->load(capture->tensors()[0]).ok());
}

TEST(Message, NoFlatBufferAtAll_IsAProblem) {
  CaptureBuilder builder;
  builder.message(1, {1, 2, 3}, 1);
  builder.message(1, std::vector<uint8_t>(64, 0xFF), 2);
  builder.message(1, {}, 3);
  EXPECT_NE(outcome_of(builder).problem, "");
}

TEST(Message, SchemaNames_AreKnown) {
  EXPECT_EQ(message_kind("dumphook.TensorMessage"), MessageKind::tensor);
  EXPECT_EQ(message_kind("dumphook.RunReply"), MessageKind::run_reply);
  EXPECT_FALSE(message_kind("dumphook.tensormessage"));
}

}  // namespace
}  // namespace dumphook
