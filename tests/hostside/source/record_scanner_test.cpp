// SPDX-License-Identifier: Apache-2.0
#include "source/record_scanner.h"

#include <gtest/gtest.h>

#include <fstream>

#include "capture_builder.h"

namespace dumphook {
namespace {

using dumphook_test::CaptureBuilder;
using dumphook_test::scratch_folder;
using dumphook_test::TensorSpec;
using dumphook_test::write_file;

struct Scan {
  std::vector<McapRecord> records;       // content is gone
  std::vector<uint64_t> sound_messages;  // offsets
  std::vector<uint64_t> streams;
  size_t sealed = 0;
  ProblemList problems;
  bool cut = false;
  uint64_t zero_tail = 0;
};

std::shared_ptr<FileSource> source_of(const std::string& bytes) {
  const std::string path = scratch_folder() + "/scan.mcap";
  write_file(path, bytes);
  auto source = FileSource::open(path);
  EXPECT_TRUE(source.ok());
  return *source;
}

void scan_on(RecordScanner& scanner, Scan& scan, bool final) {
  for (;;) {
    const RecordScanner::Step step = scanner.next(final);
    if (step == RecordScanner::Step::end) break;
    if (step == RecordScanner::Step::stream) scan.streams.push_back(scanner.stream_offset());
    if (step == RecordScanner::Step::sealed) ++scan.sealed;
    if (step == RecordScanner::Step::record) {
      scan.records.push_back(scanner.record());
      if (scanner.record().is(McapOp::kMessage) && scanner.record().sound)
        scan.sound_messages.push_back(scanner.record().offset);
    }
  }
  scan.cut = scanner.cut();
  scan.zero_tail = scanner.zero_tail_bytes();
}

Scan scan_of(const std::string& bytes) {
  Scan scan;
  RecordScanner scanner(source_of(bytes), 0, scan.problems);
  scan_on(scanner, scan, true);
  return scan;
}

std::vector<uint64_t> messages_of(CaptureBuilder& builder) {
  std::vector<uint64_t> offsets;
  for (const auto& record : builder.records()) {
    if (record.opcode == 0x05) offsets.push_back(record.offset);
  }
  return offsets;
}

void fill(CaptureBuilder& builder, size_t frames = 3) {
  for (uint64_t frame = 0; frame < frames; ++frame) {
    builder.frame_begin(frame);
    builder.tensor(TensorSpec{}, frame, 8);
    builder.frame_end(frame, 1, 1);
  }
}

CaptureBuilder::Options chunked() {
  CaptureBuilder::Options options;
  options.chunked = true;
  return options;
}

class BothKinds : public testing::TestWithParam<bool> {
 protected:
  static CaptureBuilder::Options options() {
    CaptureBuilder::Options options;
    options.chunked = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Chunks, BothKinds, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Chunked" : "Flat"; });

TEST_P(BothKinds, WholeFile_GivesEveryRecordAndNoProblem) {
  CaptureBuilder builder(options());
  fill(builder);
  builder.seal();
  const Scan scan = scan_of(builder.bytes());
  EXPECT_EQ(scan.problems.kept().size(), 0u);
  EXPECT_EQ(scan.sound_messages, messages_of(builder));
  EXPECT_EQ(scan.streams, std::vector<uint64_t>{0});
  EXPECT_EQ(scan.sealed, 1u);
  EXPECT_FALSE(scan.cut);
}

TEST_P(BothKinds, MessagesAreAligned) {
  CaptureBuilder builder(options());
  fill(builder);
  ProblemList problems;
  RecordScanner scanner(source_of(builder.bytes()), 0, problems);
  for (RecordScanner::Step step; (step = scanner.next(true)) != RecordScanner::Step::end;) {
    if (step != RecordScanner::Step::record || !scanner.record().is(McapOp::kMessage)) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scanner.record().content.data + kMessageFieldsBytes) % 16, 0u);
  }
}

TEST_P(BothKinds, CutAtEveryByte_GivesWhatIsWholeBefore) {
  CaptureBuilder builder(options());
  fill(builder);
  builder.seal();
  const std::string bytes = builder.bytes();
  const auto& records = builder.records();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Scan scan = scan_of(bytes.substr(0, size));
    std::vector<uint64_t> expected;
    bool at_boundary = size == 8 || size == 0;
    for (const auto& record : records) {
      if (record.opcode == 0x05 && record.offset + record.bytes <= size) expected.push_back(record.offset);
      at_boundary = at_boundary || (!record.in_chunk && record.offset + record.bytes == size);
    }
    EXPECT_EQ(scan.sound_messages, expected) << "cut at " << size;
    EXPECT_TRUE(!at_boundary || scan.problems.kept().empty()) << "cut at " << size;
    EXPECT_EQ(scan.problems.errors(), 0u)
        << "cut at " << size << ": " << (scan.problems.errors() ? scan.problems.kept()[0].what : "");
    if (testing::Test::HasFailure()) return;
  }
}

// The message whose length is damaged is lost; all others come.
TEST_P(BothKinds, DamagedLengthOfAnyMessage_LosesThatMessageOnly) {
  CaptureBuilder builder(options());
  fill(builder);
  builder.seal();
  const std::string bytes = builder.bytes();
  const std::vector<uint64_t> messages = messages_of(builder);
  for (size_t victim = 0; victim < messages.size(); ++victim) {
    for (size_t byte = 1; byte <= 8; ++byte) {
      for (const int bit : {0, 3, 7}) {
        std::string damaged = bytes;
        damaged[messages[victim] + byte] = static_cast<char>(damaged[messages[victim] + byte] ^ (1 << bit));
        const Scan scan = scan_of(damaged);
        std::vector<uint64_t> expected = messages;
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(victim));
        ASSERT_EQ(scan.sound_messages, expected) << "message " << victim << " byte " << byte << " bit " << bit;
      }
    }
  }
}

TEST_P(BothKinds, DamagedOpcode_IsReportedWhereItIs) {
  CaptureBuilder builder(options());
  fill(builder);
  const std::vector<uint64_t> messages = messages_of(builder);
  std::string damaged = builder.bytes();
  damaged[messages[4]] = 0x55;
  const Scan scan = scan_of(damaged);
  ASSERT_GE(scan.problems.kept().size(), 1u);
  EXPECT_EQ(scan.problems.kept()[0].offset, messages[4]);
  EXPECT_EQ(scan.sound_messages.size(), messages.size() - 1);
}

TEST_P(BothKinds, FileThatGrowsByteByByte_GivesTheSame) {
  CaptureBuilder builder(options());
  fill(builder, 2);
  builder.seal();
  const std::string bytes = builder.bytes();
  const std::string path = scratch_folder() + "/grow.mcap";
  write_file(path, "");
  auto source = FileSource::open(path);
  ASSERT_TRUE(source.ok());
  Scan scan;
  RecordScanner scanner(*source, 0, scan.problems);
  std::ofstream file(path, std::ios::binary);
  for (const char byte : bytes) {
    file.put(byte).flush();
    ASSERT_TRUE((*source)->refresh(0).ok());
    scan_on(scanner, scan, false);
  }
  EXPECT_EQ(scan.sound_messages, messages_of(builder));
  EXPECT_EQ(scan.problems.kept().size(), 0u);
  EXPECT_EQ(scan.sealed, 1u);
  EXPECT_FALSE(scan.cut);
}

TEST_P(BothKinds, StreamsOneAfterTheOther_AreAllRead) {
  CaptureBuilder builder(options());
  fill(builder, 1);
  builder.seal();
  const size_t second = builder.bytes().size();
  builder.begin_stream(options());
  fill(builder, 1);
  const size_t third = builder.bytes().size();
  builder.begin_stream(options());
  fill(builder, 1);
  const Scan scan = scan_of(builder.bytes());
  EXPECT_EQ(scan.streams, (std::vector<uint64_t>{0, second, third}));
  EXPECT_EQ(scan.sealed, 1u);
  EXPECT_EQ(scan.sound_messages, messages_of(builder));
  EXPECT_EQ(scan.problems.kept().size(), 0u);
}

TEST_P(BothKinds, StreamThatWasCutOffBeforeTheNext_LosesItsLastRecordOnly) {
  CaptureBuilder first(options()), second(options());
  fill(first, 2);
  fill(second, 2);
  const auto expected_first = messages_of(first);
  const std::string head = first.bytes().substr(0, first.records().back().offset - 3);
  const Scan scan = scan_of(head + second.bytes());
  std::vector<uint64_t> expected;
  for (const auto& record : first.records()) {
    if (record.opcode == 0x05 && record.offset + record.bytes <= head.size()) expected.push_back(record.offset);
  }
  for (const uint64_t offset : messages_of(second)) expected.push_back(head.size() + offset);
  EXPECT_EQ(scan.sound_messages, expected);
  EXPECT_EQ(scan.streams, (std::vector<uint64_t>{0, head.size()}));
}

TEST_P(BothKinds, ZerosAtTheEnd_AreNoDamage) {
  CaptureBuilder builder(options());
  fill(builder);
  for (const size_t zeros : {1u, 8u, 9u, 10u, 4096u, 1000000u}) {
    const Scan scan = scan_of(builder.bytes() + std::string(zeros, '\0'));
    EXPECT_EQ(scan.sound_messages, messages_of(builder)) << zeros;
    EXPECT_EQ(scan.zero_tail, zeros);
    EXPECT_EQ(scan.problems.kept().size(), 0u) << zeros;
  }
}

TEST_P(BothKinds, MissingHead_IsReportedAndTheRestIsRead) {
  CaptureBuilder builder(options());
  fill(builder);
  const std::string bytes = builder.bytes();
  const std::vector<uint64_t> messages = messages_of(builder);
  const Scan scan = scan_of(bytes.substr(messages[2] + 5));
  EXPECT_EQ(scan.sound_messages.size(), messages.size() - 3);
  ASSERT_GE(scan.problems.kept().size(), 1u);
  EXPECT_EQ(scan.problems.kept()[0].offset, 0u);
}

TEST(RecordScanner, CompressedChunk_IsAProblemThatSaysWhatToDo) {
  CaptureBuilder::Options options = chunked();
  CaptureBuilder builder(options);
  fill(builder, 1);
  options.chunk_compression = "zstd";
  builder.begin_stream(options);
  fill(builder, 1);
  const Scan scan = scan_of(builder.bytes());
  ASSERT_GE(scan.problems.kept().size(), 1u);
  EXPECT_NE(scan.problems.kept()[0].what.find("zstd"), std::string::npos);
  EXPECT_FALSE(scan.problems.kept()[0].todo.empty());
}

TEST(RecordScanner, DamageInAChunk_ShowsInItsCrcAndLeavesTheOthers) {
  CaptureBuilder builder(chunked());
  fill(builder);
  const std::vector<uint64_t> messages = messages_of(builder);
  std::string damaged = builder.bytes();
  damaged[messages[3] + 60] = static_cast<char>(damaged[messages[3] + 60] ^ 1);
  const Scan scan = scan_of(damaged);
  EXPECT_EQ(scan.sound_messages.size(), messages.size() - 1);
  ASSERT_EQ(scan.problems.kept().size(), 1u);
  EXPECT_EQ(scan.problems.kept()[0].severity, Severity::warning);
  EXPECT_LT(scan.problems.kept()[0].offset, messages[3]);
}

TEST(RecordScanner, DamagedChunkLengths_LeaveTheMessages) {
  CaptureBuilder builder(chunked());
  fill(builder);
  builder.seal();
  const std::string bytes = builder.bytes();
  for (const auto& record : builder.records()) {
    if (record.opcode != 0x06) continue;
    for (const size_t byte :
         {1u, 2u, 3u, 5u, 8u, 25u, 26u, 41u, 42u, 44u, 46u}) {  // lengths of record, uncompressed, compression, records
      std::string damaged = bytes;
      damaged[record.offset + byte] = static_cast<char>(damaged[record.offset + byte] ^ 4);
      const Scan scan = scan_of(damaged);
      EXPECT_EQ(scan.sound_messages, messages_of(builder)) << "chunk at " << record.offset << " byte " << byte;
      EXPECT_GE(scan.problems.kept().size(), 1u);
    }
  }
}

TEST(RecordScanner, PrivateAndAttachedRecords_ArePassedOver) {
  CaptureBuilder builder;
  fill(builder, 1);
  builder.record(0x90, "anything");
  builder.record(0x91, "");
  builder.record(0x09, std::string(16, '\0') + std::string("\x01\0\0\0n\x01\0\0\0m\x02\0\0\0\0\0\0\0ab\0\0\0\0", 24));
  fill(builder, 1);
  const Scan scan = scan_of(builder.bytes());
  EXPECT_EQ(scan.problems.kept().size(), 0u) << scan.problems.kept()[0].what;
  EXPECT_EQ(scan.sound_messages, messages_of(builder));
}

TEST(RecordScanner, RecordsOfALaterMcap_ArePassedOverAndTold) {
  CaptureBuilder builder;
  fill(builder, 1);
  const uint64_t offset = builder.bytes().size();
  builder.record(0x42, std::string(100, 'x'));
  fill(builder, 1);
  const Scan scan = scan_of(builder.bytes());
  ASSERT_EQ(scan.problems.kept().size(), 1u);
  EXPECT_EQ(scan.problems.kept()[0].severity, Severity::warning);
  EXPECT_EQ(scan.problems.kept()[0].offset, offset);
  EXPECT_EQ(scan.sound_messages, messages_of(builder));
}

// Records overlapping each other, all vouching for one another by their lengths.
TEST(RecordScanner, HostileOverlaps_CostAFixedMultipleOfTheFile) {
  std::string hostile("\x89MCAP0\r\n", 8);
  const size_t size = 3000000;
  while (hostile.size() < size) {
    const uint64_t length = size - hostile.size() - 9;
    hostile += '\x05';
    hostile.append(reinterpret_cast<const char*>(&length), 8);
    hostile.append(31, '\x11');
  }
  hostile.resize(size);
  const Scan scan = scan_of(hostile);
  EXPECT_TRUE(scan.sound_messages.empty());
  EXPECT_LE(scan.problems.kept().size(), ProblemList::kMaxKept);
}

}  // namespace
}  // namespace dumphook
