// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/examination.h"
#include "cli/recovery.h"
#include "tool.h"

namespace dumphook {
namespace {

using Json = nlohmann::json;

// Chunked and sealed, two frames, closed by the app.
CaptureBuilder built(bool chunked = true) {
  CaptureBuilder::Options options;
  options.chunked = chunked;
  CaptureBuilder builder(options);
  for (uint64_t frame = 0; frame < 2; ++frame) {
    builder.frame_begin(frame);
    builder.tensor(quantized(), frame);
    TensorSpec big;
    big.name = "big";
    big.tensor_id = 1;
    big.shape = {64};
    builder.tensor(big, frame, 64);
    builder.frame_end(frame, 2, 2);
  }
  builder.counters({4, 4, 0, {}, true});
  builder.seal();
  return builder;
}

Json doctor(const std::string& bytes, int exit_code) {
  const std::string path = scratch_folder() + "/patient.mcap";
  write_file(path, bytes);
  const Ran run = tool("doctor --json " + path);
  EXPECT_EQ(run.exit_code, exit_code) << run.out << run.err;
  return Json::parse(run.out, nullptr, false);
}

bool tells(const Json& report, const std::string& words, const std::string& harm = "damaged") {
  for (const Json& finding : report["findings"]) {
    if (finding["harm"] == harm && finding["what"].get<std::string>().find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(Doctor, FindsNothingInHealthyCaptures) {
  for (const bool chunked : {false, true}) {
    const Json report = doctor(built(chunked).bytes(), 0);
    EXPECT_EQ(report["findings"], Json::array()) << report;
    EXPECT_EQ(report["verdict"], "healthy");
    EXPECT_EQ(report["tensors"], 4);
  }
  EXPECT_EQ(tool("doctor " + fine_capture()).exit_code, 0);
  for (const char* golden : {"tiny", "shapes"}) {
    const Ran run = tool(std::string("doctor '" DUMPHOOK_GOLDENS "/") + golden + ".mcap'");
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_EQ(run.out.rfind("healthy: 1 files", 0), 0u) << run.out;
  }
}

TEST(Doctor, NamesEachPlantedFault) {
  using Build = std::function<void(CaptureBuilder&)>;
  const struct {
    const char* says;
    const char* harm;
    int exit_code;
    Build build;
  } faults[] = {
      {"messages 2 to 4 are not here", "missing", 3,
       [](CaptureBuilder& b) { b.frame_begin(1), b.skip_seq(3), b.frame_end(1, 0, 0); }},
      {"descriptor does not come before it", "damaged", 1,
       [](CaptureBuilder& b) {
         dumphook_test::PartSpec part;
         part.total = part.raw_size = 6;
         part.data = quantized().bytes;
         b.part(quantized(), part);
       }},
      {"is truncated: 1 of 2 parts", "missing", 3,
       [](CaptureBuilder& b) {
         dumphook_test::PartSpec part;
         part.total = 6;
         part.raw_size = 3;
         part.part_count = 2;
         part.data = {0, 1, 2};
         b.part(quantized(), part, true);
       }},
      {"frame 7: 1 of its 3 tensors", "missing", 3,
       [](CaptureBuilder& b) { b.tensor(quantized(), 7), b.frame_end(7, 3, 3); }},
      {"the counters do not add up: seen 9", "damaged", 1,
       [](CaptureBuilder& b) {
         b.counters({9, 4, 2, {{0, 1}}});
       }},
      {"2 captures were lost on the board: pool_full", "note", 0,
       [](CaptureBuilder& b) {
         b.tensor(quantized(), 0), b.loss({{0, 0, 1, 2, 2}});
       }},
      {"channel 900, which does not come before it", "damaged", 1,
       [](CaptureBuilder& b) { b.message(900, std::vector<uint8_t>(64), 1); }},
      {"not a valid FlatBuffer", "damaged", 1,
       [](CaptureBuilder& b) {
         // A table with a crc32 that holds, whose stream_seq lies outside.
         std::vector<uint8_t> bytes{16, 0, 0, 0, 8, 0, 8, 0, 4, 0, 200, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0};
         std::string text(bytes.begin(), bytes.end());
         dumphook_test::seal_message(text, 0, text.size());
         b.message(1, std::vector<uint8_t>(text.begin(), text.end()), 1);
       }},
      {"channel 77 is of schema 66", "damaged", 1, [](CaptureBuilder& b) { b.channel(77, 66, "/x"); }},
  };
  for (const auto& fault : faults) {
    for (const bool chunked : {false, true}) {
      CaptureBuilder::Options options;
      options.chunked = chunked;
      CaptureBuilder builder(options);
      fault.build(builder);
      builder.counters({0, 0, 0, {}, true});
      builder.seal();
      const Json report = doctor(builder.bytes(), fault.exit_code);
      EXPECT_TRUE(tells(report, fault.says, fault.harm)) << fault.says << " in\n" << report.dump(2);
    }
  }
}

size_t place_of(CaptureBuilder& builder, uint8_t opcode) {
  for (const auto& record : builder.records()) {
    if (record.opcode == opcode) return record.offset;
  }
  ADD_FAILURE() << "no such record " << int{opcode};
  return 0;
}

// The first record of that kind behind `from`.
size_t find_record(const std::string& bytes, uint8_t opcode, size_t from) {
  while (from + 9 <= bytes.size() && bytes[from] != static_cast<char>(opcode)) {
    uint64_t length = 0;
    memcpy(&length, &bytes[from + 1], 8);
    from += 9 + static_cast<size_t>(length);
  }
  return from;
}

TEST(Doctor, NamesDamagedBytes_WithTheirPlace) {
  CaptureBuilder builder = built();
  const std::string good = builder.bytes();
  const size_t chunk = find_record(good, 6, 8), index = find_record(good, 7, 8), end = find_record(good, 15, 8);
  const size_t statistics = find_record(good, 11, end);
  const struct {
    size_t at;
    const char* says;
  } flips[] = {
      {place_of(builder, 5) + 60, "is damaged: its CRC does not match"},
      {place_of(builder, 5) + 12, "the record's sequence"},
      {place_of(builder, 5) + 12, "this chunk's CRC does not match"},
      {chunk + 9, "this chunk's times"},
      {index + 20, "message index of channel"},
      {statistics + 9, "the statistics say"},
      {find_record(good, 2, end) + 9, "the footer does not say where the summary is"},
  };
  for (const auto& flip : flips) {
    if (flip.at + 1 >= good.size()) continue;  // the builder writes no such record
    std::string bad = good;
    bad[flip.at] = static_cast<char>(bad[flip.at] ^ 4);
    const Json report = doctor(bad, 1);
    EXPECT_TRUE(tells(report, flip.says)) << flip.says << " in\n" << report.dump(2);
  }
}

TEST(Doctor, ACutCapture_LacksSomething_AndIsNotCalledDamaged) {
  const std::string good = built(false).bytes();
  const Json report = doctor(good.substr(0, good.size() / 2), 3);
  EXPECT_TRUE(tells(report, "not closed by its writer", "missing")) << report;
  EXPECT_TRUE(tells(report, "cut off in mid-record", "missing")) << report;
  EXPECT_FALSE(tells(report, "", "damaged")) << report;
  const Json zeros = doctor(good.substr(0, good.size() - 37) + std::string(512, '\0'), 3);
  EXPECT_TRUE(tells(zeros, "bytes of zeros at the end", "missing")) << zeros;
}

TEST(Doctor, WhatIsNoCapture_IsSaid) {
  for (const std::string& bytes : {std::string(), std::string("hello"), std::string(1000, 'x')}) {
    const Json report = doctor(bytes, 1);
    EXPECT_FALSE(report["findings"].empty());
  }
  EXPECT_EQ(tool("doctor /no/such/file.mcap").exit_code, 1);
  EXPECT_EQ(tool("doctor").exit_code, 2);
}

// Examines and recovers without the process around it, so that sanitizers look on.
void survive(const std::string& bytes) {
  const std::string path = scratch_folder() + "/hostile.mcap";
  write_file(path, bytes);
  const Expected<Examination> found = examine({path});
  ASSERT_TRUE(found.ok());
  Expected<Recovery> recovery = Recovery::open(path);
  if (!recovery.ok()) return;
  for (size_t i = 0; i < recovery->sessions().size(); ++i) {
    std::string out;
    CaptureWriter writer([&out](ConstBytes more) -> Expected<bool> {
      out.append(reinterpret_cast<const char*>(more.data), more.size);
      return true;
    });
    ASSERT_TRUE(recovery->write(i, writer).ok());
    const std::string again = scratch_folder() + "/again.mcap";
    write_file(again, out);
    const Expected<Examination> checked = examine({again});
    ASSERT_TRUE(checked.ok());
    for (const Finding& finding : checked->findings) {
      const bool structure = finding.problem.what.find("index") != std::string::npos ||
                             finding.problem.what.find("statistics") != std::string::npos ||
                             finding.problem.what.find("CRC") != std::string::npos;
      ASSERT_FALSE(structure) << "what recover writes is sound: " << finding.problem.what;
    }
  }
}

TEST(Hostile, TruncatedAtEveryByte) {
  for (const bool chunked : {false, true}) {
    const std::string good = built(chunked).bytes();
    // The schemas are long and all alike.
    const size_t step = good.size() > 20000 ? 37 : 1;
    for (size_t size = 0; size <= good.size(); size += size > good.size() - 3000 ? 1 : step) {
      survive(good.substr(0, size));
      if (::testing::Test::HasFatalFailure()) FAIL() << "cut after " << size;
    }
  }
}

TEST(Hostile, FlippedBits_AndShuffledPieces) {
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    std::minstd_rand random(seed);
    const auto below = [&random](size_t n) { return static_cast<size_t>(random()) % n; };
    std::string bytes = built(seed % 2 == 0).bytes();
    for (size_t i = below(4) + 1; i != 0; --i) {
      const size_t at = below(3) == 0 ? below(bytes.size()) : bytes.size() - 1 - below(3000);
      if (below(8) == 0) {
        const size_t from = below(bytes.size()), size = below(std::min<size_t>(bytes.size() - from, 2000) + 1);
        bytes.insert(at, bytes.substr(from, size));
      } else {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      }
    }
    survive(bytes);
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace dumphook
