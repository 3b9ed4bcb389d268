// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "decode/capture.h"
#include "tool.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

CaptureBuilder frames(uint64_t count, const CaptureBuilder::Options& options = {}) {
  CaptureBuilder builder(options);
  for (uint64_t frame = 0; frame < count; ++frame) {
    builder.frame_begin(frame);
    builder.tensor(quantized(), frame);
    builder.frame_end(frame, 1, 1);
  }
  return builder;
}

std::string kept(const std::string& bytes, const std::string& name) {
  const std::string path = scratch_folder() + "/" + name;
  write_file(path, bytes);
  return path;
}

Json recover(const std::string& in, const std::string& out, int exit_code) {
  const Ran run = tool("recover --json --force " + in + " -o " + out);
  EXPECT_EQ(run.exit_code, exit_code) << run.out << run.err;
  return Json::parse(run.out, nullptr, false);
}

// Of a sound capture: sealed, chunked, nothing damaged.
size_t whole_tensors(const std::string& path) {
  const Expected<Capture> capture = Capture::open(path);
  EXPECT_TRUE(capture.ok()) << path;
  if (!capture.ok()) return 0;
  EXPECT_TRUE(capture->problems().kept().empty()) << capture->problems().kept()[0].what;
  EXPECT_EQ(capture->streams().size(), 1u);
  EXPECT_TRUE(capture->streams()[0].sealed && capture->streams()[0].chunked);
  size_t whole = 0;
  for (const CapturedTensor& tensor : capture->tensors()) {
    whole += tensor.state == TensorState::whole && capture->load(tensor).ok();
  }
  return whole;
}

TEST(Recover, ACutStream_IsSealed_WithEveryWholeMessage) {
  CaptureBuilder builder = frames(5);
  const std::string bytes = builder.bytes();
  const std::string in = kept(bytes.substr(0, bytes.size() - 5), "cut.mcap"), out = scratch_folder() + "/cut-out.mcap";
  const Json report = recover(in, out, 3);
  EXPECT_EQ(report["sessions"].size(), 1u);
  EXPECT_EQ(report["sessions"][0]["messages"], builder.next_seq() - 2);
  EXPECT_EQ(whole_tensors(out), 5u);
  EXPECT_NE(report["problems"].dump().find("cut off here"), std::string::npos) << report;
  EXPECT_EQ(tool("doctor " + out).exit_code, 3) << "unconfirmed";
}

TEST(Recover, AHealthyCapture_StaysWhole) {
  CaptureBuilder builder = frames(3);
  builder.counters({3, 3, 0, {}, true});
  builder.seal();
  const std::string out = scratch_folder() + "/healthy-out.mcap";
  const Json report = recover(kept(builder.bytes(), "healthy.mcap"), out, 0);
  EXPECT_EQ(report["problems"], Json::array());
  EXPECT_EQ(whole_tensors(out), 3u);
  EXPECT_EQ(tool("doctor " + out).exit_code, 0);
}

TEST(Recover, ADamagedMessage_IsLeftOut_AndSaid) {
  CaptureBuilder::Options options;
  options.chunked = true;
  CaptureBuilder builder = frames(5, options);
  builder.counters({5, 5, 0, {}, true});
  builder.seal();
  std::string bytes = builder.bytes();
  for (const auto& record : builder.records()) {
    if (record.opcode == 5 && record.stream_seq == 6) bytes[record.offset + record.bytes - 20] ^= 1;
  }
  const std::string out = scratch_folder() + "/damaged-out.mcap";
  const Json report = recover(kept(bytes, "damaged.mcap"), out, 3);
  EXPECT_EQ(report["sessions"][0]["damaged"], 1);
  EXPECT_EQ(report["sessions"][0]["missing"], Json({{6, 6}}));
  EXPECT_EQ(whole_tensors(out), 4u);
}

TEST(Recover, ARecordOfNoSense_IsPassedOver_WithItsBytes) {
  CaptureBuilder builder = frames(4);
  std::string bytes = builder.bytes();
  size_t at = 0;
  for (const auto& record : builder.records()) {
    if (record.opcode == 5 && record.stream_seq == 5) at = record.offset;
  }
  bytes.insert(at, std::string(777, '\xEE'));
  const std::string out = scratch_folder() + "/noise-out.mcap";
  const Json report = recover(kept(bytes, "noise.mcap"), out, 3);
  EXPECT_EQ(whole_tensors(out), 4u);
  EXPECT_NE(report["problems"].dump().find("777 bytes were skipped"), std::string::npos) << report;
  EXPECT_EQ(report["problems"][0]["offset"], at);
}

TEST(Recover, ConnectionsOneAfterTheOther_BecomeOneStream_WithoutRepeats) {
  CaptureBuilder builder = frames(3);
  const uint64_t next = builder.next_seq();
  CaptureBuilder::Options second;
  second.stream = 1;
  second.next_seq = next;
  builder.begin_stream(second);
  builder.descriptor(quantized(), 2);  // again, as the first connection had it
  builder.frame_begin(9);
  builder.tensor(quantized(), 9);
  builder.frame_end(9, 1, 1);
  builder.counters({4, 4, 0, {}, true});
  builder.seal();
  const std::string out = scratch_folder() + "/joined-out.mcap";
  const Json report = recover(kept(builder.bytes(), "joined.mcap"), out, 0);
  EXPECT_EQ(report["sessions"][0]["streams"], 2);
  EXPECT_GE(report["sessions"][0]["repeats"], 1);
  EXPECT_EQ(whole_tensors(out), 4u);
}

TEST(Recover, SeveralSessions_GoToFilesOfTheirOwn) {
  CaptureBuilder builder = frames(2);
  CaptureBuilder::Options other;
  other.session = "ff112233445566778899aabbccddeeff";
  builder.begin_stream(other);
  builder.tensor(quantized(), 0);
  const std::string out = scratch_folder() + "/sessions-out.mcap";
  const Json report = recover(kept(builder.bytes(), "sessions.mcap"), out, 3);
  ASSERT_EQ(report["sessions"].size(), 2u);
  EXPECT_EQ(whole_tensors(report["sessions"][0]["path"]), 2u);
  EXPECT_EQ(whole_tensors(report["sessions"][1]["path"]), 1u);
  EXPECT_EQ(report["sessions"][1]["path"], scratch_folder() + "/sessions-out-2.mcap");
}

// Schemas, channels and metadata are at the front, where damage hits all that follows.
TEST(Recover, WithoutItsPreamble_TheUsualOneIsTaken) {
  CaptureBuilder builder = frames(3);
  const std::string bytes = builder.bytes();
  size_t first = 0;
  for (const auto& record : builder.records()) {
    if (record.opcode == 5 && first == 0) first = record.offset;
  }
  const std::string out = scratch_folder() + "/headless-out.mcap";
  const Json report = recover(kept("some noise" + bytes.substr(first), "headless.mcap"), out, 3);
  EXPECT_EQ(report["sessions"][0]["session"], "");
  const Expected<Capture> capture = Capture::open(out);
  ASSERT_TRUE(capture.ok());
  ASSERT_EQ(capture->tensors().size(), 3u);
  EXPECT_EQ(capture->tensors()[0].name(), quantized().name);
}

TEST(Recover, NeverReplacesAFile_UnlessToldTo_AndLeavesNothingBehind) {
  const std::string in = fine_capture(), out = kept("precious", "precious.mcap");
  const Ran refused = tool("recover " + in + " -o " + out);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_EQ(content_of(out), "precious");
  EXPECT_EQ(tool("recover " + in + " -o " + out + " --force").exit_code, 0);
  EXPECT_EQ(tool("recover " + in).exit_code, 0);
  EXPECT_TRUE(fs::exists(scratch_folder() + "/fine-recovered.mcap"));
  EXPECT_EQ(tool("recover " + kept("nothing of ours", "text.mcap")).exit_code, 1);
  for (const auto& file : fs::directory_iterator(scratch_folder())) {
    EXPECT_EQ(file.path().string().find(".part"), std::string::npos) << file.path();
  }
}

}  // namespace
}  // namespace dumphook
