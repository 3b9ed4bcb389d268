// SPDX-License-Identifier: Apache-2.0
// Captures damaged in every way: nothing crashes, and what lies before the damage is all there.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "capture_builder.h"
#include "decode/coverage.h"
#include "decode/real_values.h"

namespace dumphook {
namespace {

using dumphook_test::CaptureBuilder;
using dumphook_test::scratch_folder;
using dumphook_test::TensorSpec;
using dumphook_test::write_file;

struct Built {
  std::string bytes;
  std::vector<CaptureBuilder::RecordAt> records;
};

Built build(bool chunked) {
  CaptureBuilder::Options options;
  options.chunked = chunked;
  CaptureBuilder builder(options);
  builder.graph("net", {{"n0", "Conv", {"in"}, {"a"}}, {"n1", "Relu", {"a"}, {"b"}}});
  for (uint64_t frame = 0; frame < 2; ++frame) {
    builder.frame_begin(frame);
    TensorSpec a, b;
    a.name = "a";
    a.shape = {40};
    b.name = "b";
    b.tensor_id = 1;
    b.dtype = 13;
    b.shape = {3, 7};
    b.scale = {1, 2, 3};
    b.zero_point = {0, 0, 1};
    b.axis = 0;
    b.attributes = {{"key", "value"}};
    builder.tensor(a, frame, 64);
    builder.tensor(b, frame);
    builder.frame_end(frame, 2, 2);
  }
  builder.loss({{0, 3, 5, 6, 2}});
  builder.counters({4, 4, 0, {{3, 2}}, true});
  builder.seal();
  return {builder.bytes(), builder.records()};
}

std::string path_of_test() { return scratch_folder() + "/hostile.mcap"; }

// Everything a user can ask for; returns the seqs of whole messages as (frame, name) of whole tensors.
std::set<std::string> exercise(const std::string& bytes, std::vector<Problem>* problems = nullptr) {
  write_file(path_of_test(), bytes);
  const auto capture = Capture::open(path_of_test());
  std::set<std::string> whole;
  if (!capture.ok()) return whole;
  for (const CapturedTensor& tensor : capture->tensors()) {
    const auto loaded = capture->load(tensor);
    if (!loaded.ok()) continue;
    const std::vector<double> values = real_values(*loaded);
    EXPECT_LE(values.size(), 1000u);
    if (loaded->bytes.size() == (tensor.name() == "a" ? 160u : 21u))
      whole.insert(tensor.name() + std::to_string(tensor.frame));
  }
  for (const CapturedFrame& frame : capture->frames()) capture->execution_order(frame.session, frame.number);
  coverage(*capture).lines();
  if (problems != nullptr) *problems = capture->problems().kept();
  return whole;
}

// Tensors all of whose messages (and the descriptor) end before `size`.
std::set<std::string> whole_before(const Built& built, size_t size) {
  // seq: 1 graph; 2 frame_begin, 3 a's descriptor, 4-6 its parts, 7 b's descriptor, 8 its part, 9 frame_end; 10, 11-13,
  // 14, 15
  const std::map<std::string, uint64_t> last_seq = {{"a0", 6}, {"b0", 8}, {"a1", 13}, {"b1", 14}};
  std::set<std::string> whole;
  for (const auto& [name, seq] : last_seq) {
    for (const auto& record : built.records) {
      if (record.stream_seq == seq && record.offset + record.bytes <= size) whole.insert(name);
    }
  }
  return whole;
}

class HostileCapture : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Chunks, HostileCapture, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Chunked" : "Flat"; });

TEST_P(HostileCapture, Undamaged_IsAllThere) {
  const Built built = build(GetParam());
  std::vector<Problem> problems;
  EXPECT_EQ(exercise(built.bytes, &problems), (std::set<std::string>{"a0", "a1", "b0", "b1"}));
  EXPECT_TRUE(problems.empty()) << problems[0].what;
}

TEST_P(HostileCapture, CutAtEveryByte_KeepsWhatIsWhole) {
  const Built built = build(GetParam());
  for (size_t size = 0; size <= built.bytes.size(); ++size) {
    ASSERT_EQ(exercise(built.bytes.substr(0, size)), whole_before(built, size)) << "cut at " << size;
  }
}

// One bit anywhere: what lies before it is there, and the first problem is not before the record that was hit.
TEST_P(HostileCapture, EveryFlippedBit_LeavesWhatLiesBefore) {
  const Built built = build(GetParam());
  for (size_t bit = 0; bit < built.bytes.size() * 8; bit += 1 + bit % 5) {
    const size_t byte = bit / 8;
    std::string damaged = built.bytes;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit % 8));
    std::vector<Problem> problems;
    const std::set<std::string> got = exercise(damaged, &problems);
    const CaptureBuilder::RecordAt* hit = nullptr;
    for (const auto& record : built.records) {
      if (record.offset <= byte && byte < record.offset + record.bytes && (hit == nullptr || record.bytes < hit->bytes))
        hit = &record;
    }
    if (hit == nullptr || hit->opcode != 0x05) continue;  // preamble, indexes, summary: only that nothing crashes
    for (const std::string& name : whole_before(built, hit->offset)) {
      ASSERT_TRUE(got.count(name) == 1) << name << " with byte " << byte << " bit " << bit % 8;
    }
    // The record's channel, sequence and times are not covered by the message's CRC, and a private record is nobody's
    // fault.
    const size_t within = byte - hit->offset;
    if ((within >= 9 && within < 31) || (within == 0 && bit % 8 == 7)) continue;
    ASSERT_FALSE(problems.empty()) << "byte " << byte << " bit " << bit % 8 << " in the record at " << hit->offset;
    bool told = false;
    for (const Problem& problem : problems) told = told || problem.offset == hit->offset;
    ASSERT_TRUE(told) << "byte " << byte << " bit " << bit % 8 << " in " << hit->offset << ": " << problems[0].offset
                      << " " << problems[0].what;
  }
}

TEST_P(HostileCapture, EveryByteReplaced_NeverCrashes) {
  const Built built = build(GetParam());
  for (size_t byte = 0; byte < built.bytes.size(); ++byte) {
    for (const char value : {'\0', '\xFF'}) {
      std::string damaged = built.bytes;
      damaged[byte] = value;
      exercise(damaged);
    }
  }
}

TEST_P(HostileCapture, SeveralDamages_NeverCrash) {
  const Built built = build(GetParam());
  std::mt19937 random(GetParam() ? 1 : 2);
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = built.bytes;
    for (auto i = random() % 20; i > 0; --i) {
      const size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged.erase(at, random() % 40); break;
        case 2: damaged.insert(at, std::string(random() % 40, static_cast<char>(random() % 3))); break;
        case 3: damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 300)); break;
      }
      if (damaged.empty()) break;
    }
    exercise(damaged);
  }
}

// The CRC is right, the message is not: bits flipped inside messages, sealed anew.
TEST(HostileMessages, FlippedBitsUnderAValidCrc_NeverCrash) {
  CaptureBuilder builder;
  TensorSpec tensor;
  tensor.scale = {0.5f};
  tensor.attributes = {{"k", "v"}};
  builder.graph("net", {{"n0", "Conv", {"in"}, {"conv1"}}});
  builder.frame_begin(0);
  builder.tensor(tensor, 0, 16);
  builder.statistics(tensor, 0, 0, 1);
  builder.frame_end(0, 1, 1, {{0, 3}});
  builder.loss({{0, 0, 0, 1, 1}});
  builder.counters({1, 1, 0, {{2, 2}}, true});
  const std::string bytes = builder.bytes();
  for (const auto& record : builder.records()) {
    if (record.opcode != 0x05) continue;
    const size_t begin = record.offset + 31, size = record.bytes - 31;
    for (size_t bit = 0; bit < size * 8; bit += 1 + bit % 2) {
      std::string damaged = bytes;
      damaged[begin + bit / 8] = static_cast<char>(damaged[begin + bit / 8] ^ (1 << bit % 8));
      dumphook_test::seal_message(damaged, begin, size);
      exercise(damaged);
    }
  }
}

}  // namespace
}  // namespace dumphook
