// SPDX-License-Identifier: Apache-2.0
#include "source/capture_writer.h"

#include <gtest/gtest.h>

#include "capture_builder.h"
#include "source/record_scanner.h"

namespace dumphook {
namespace {

using dumphook_test::CaptureBuilder;

// Every record of an unchunked capture, through the writer.
struct Rewritten {
  std::string bytes;
  uint64_t messages = 0;
  bool failed = false;
};

Rewritten rewrite(CaptureBuilder& builder, size_t chunk_bytes, size_t room = SIZE_MAX) {
  Rewritten result;
  CaptureWriter writer(
      [&](ConstBytes more) -> Expected<bool> {
        if (more.size > room - result.bytes.size()) return Error{"the disk is full", ""};
        result.bytes.append(reinterpret_cast<const char*>(more.data), more.size);
        return true;
      },
      chunk_bytes);
  const std::string& in = builder.bytes();
  for (const auto& at : builder.records()) {
    const ConstBytes record(reinterpret_cast<const uint8_t*>(in.data()) + at.offset, at.bytes);
    const Expected<bool> added = at.opcode == 1    ? writer.add_header(record)
                                 : at.opcode == 3  ? writer.add_schema(record)
                                 : at.opcode == 4  ? writer.add_channel(record)
                                 : at.opcode == 5  ? writer.add_message(record)
                                 : at.opcode == 12 ? writer.add_metadata(record, "libdumphook")
                                                   : Expected<bool>(true);
    result.failed = result.failed || !added.ok();
  }
  result.failed = !writer.seal().ok() || result.failed;
  result.messages = writer.messages();
  return result;
}

CaptureBuilder twenty_frames() {
  CaptureBuilder builder;
  for (uint64_t frame = 0; frame < 20; ++frame) builder.frame_begin(frame);
  return builder;
}

TEST(CaptureWriter, MakesASealedStream_OfAnySizeOfChunk) {
  for (const size_t chunk_bytes : {size_t{1}, size_t{300}, size_t{1} << 20}) {
    CaptureBuilder builder = twenty_frames();
    const Rewritten made = rewrite(builder, chunk_bytes);
    ASSERT_FALSE(made.failed);
    const std::string path = dumphook_test::scratch_folder() + "/written.mcap";
    dumphook_test::write_file(path, made.bytes);
    Expected<std::shared_ptr<FileSource>> source = FileSource::open(path);
    ASSERT_TRUE(source.ok());
    ProblemList problems;
    RecordScanner scanner(*source, 0, problems);
    size_t messages = 0, indexes = 0;
    bool sealed = false;
    for (RecordScanner::Step step; (step = scanner.next(true)) != RecordScanner::Step::end;) {
      sealed = step == RecordScanner::Step::sealed;
      if (step != RecordScanner::Step::record) continue;
      messages += scanner.record().is(McapOp::kMessage) && scanner.record().sound;
      indexes += scanner.record().is(McapOp::kChunkIndex);
    }
    EXPECT_TRUE(sealed && problems.kept().empty());
    EXPECT_EQ(messages, 20u);
    EXPECT_EQ(made.messages, 20u);
    EXPECT_EQ(indexes, chunk_bytes == 1 ? 20u : chunk_bytes == 300 ? indexes : 1u);
    EXPECT_GE(indexes, 1u);
  }
}

TEST(CaptureWriter, AnErrorOfTheDisk_IsTheCallers) {
  CaptureBuilder builder = twenty_frames();
  const size_t all = rewrite(builder, 300).bytes.size();
  for (const size_t room : {size_t{0}, all / 3, all / 2, all - 1})
    EXPECT_TRUE(rewrite(builder, 300, room).failed) << room;
  EXPECT_FALSE(rewrite(builder, 300, all).failed);
}

}  // namespace
}  // namespace dumphook
