// SPDX-License-Identifier: Apache-2.0
#include "collect/session_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "board.h"
#include "collect/record_splitter.h"
#include "sink/stream_sink.h"
#include "walk.h"

namespace dumphook {
namespace {

constexpr const char* kUuid = "00000000000012340000000000005678";

std::vector<uint64_t> range(uint64_t first, uint64_t last) {
  std::vector<uint64_t> all(last - first + 1);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// A whole stream, as a board sends it.
std::string stream_of(uint32_t messages) {
  std::string got;
  CallbackTransport transport;
  transport.open(
      [](void* user, const void* data, size_t bytes) {
        static_cast<std::string*>(user)->append(static_cast<const char*>(data), bytes);
        return static_cast<int64_t>(bytes);
      },
      &got);
  Board board;
  auto sink = std::make_unique<StreamSink>();
  sink->open(board.context, &transport);
  for (uint32_t i = 0; i < messages; ++i) board.emit(i % 4, i * 11 % 200);
  sink->finish();
  while (sink->state() != SinkState::finished) board.step(*sink);
  return got;
}

class SessionFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/dumphook_session_XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Gives all records of the stream to the file; opens it with the first two.
  void feed(const std::string& stream, size_t most_messages = ~size_t{0}) {
    RecordSplitter splitter;
    splitter.add(ConstBytes(reinterpret_cast<const uint8_t*>(stream.data()), stream.size()));
    std::vector<uint8_t> header;
    size_t skipped = 0;
    for (RecordSplitter::Step step; (step = splitter.next()) != RecordSplitter::Step::more;) {
      if (step == RecordSplitter::Step::magic) continue;
      const ConstBytes whole = splitter.whole();
      if (splitter.is(McapOp::kHeader)) header.assign(whole.begin(), whole.end());
      if (splitter.is(McapOp::kMetadata) && !file_) {
        auto opened = SessionFile::open(folder_ + "/board", kUuid, ConstBytes(header.data(), header.size()), whole);
        ASSERT_TRUE(opened.ok()) << opened.error().what;
        file_ = std::move(*opened);
        file_->begin_stream(stream_, first_seq_);
      }
      if (splitter.is(McapOp::kSchema)) {
        EXPECT_NE(file_->add_schema(whole), SessionFile::Kept::refused);
      }
      if (splitter.is(McapOp::kChannel)) {
        EXPECT_NE(file_->add_channel(whole), SessionFile::Kept::refused);
      }
      if (splitter.is(McapOp::kMessage) && skipped++ < skip_messages_) continue;
      if (splitter.is(McapOp::kMessage) && most_messages-- > 0) {
        EXPECT_NE(file_->add_message(whole), SessionFile::Kept::refused);
      }
      if (most_messages == 0) return;
    }
  }

  std::string folder_;
  std::unique_ptr<SessionFile> file_;
  uint64_t stream_ = 0, first_seq_ = 1;  // as the stream says
  size_t skip_messages_ = 0;             // at its beginning
};

TEST_F(SessionFileTest, TheSameStreamTwice_IsStoredOnce) {
  const std::string stream = stream_of(30);
  feed(stream);
  feed(stream);
  ASSERT_TRUE(file_->sync().ok());
  EXPECT_EQ(file_->durable_seq(), 30u);
  const auto path = file_->seal(folder_ + "/run.mcap", false);
  ASSERT_TRUE(path.ok());
  const Walked walked = walk(read_file(*path));
  EXPECT_EQ(walked.wrong, "");
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.seqs, range(1, 30));
  EXPECT_FALSE(std::filesystem::exists(file_->part_path()));
}

TEST_F(SessionFileTest, FinalNamesNeverReplaceFiles) {
  std::ofstream(folder_ + "/run.mcap") << "precious";
  std::ofstream(folder_ + "/run-2.mcap") << "precious";
  feed(stream_of(1));
  const auto path = file_->seal(folder_ + "/run.mcap", false);
  ASSERT_TRUE(path.ok());
  EXPECT_EQ(*path, folder_ + "/run-3.mcap");
  EXPECT_EQ(read_file(folder_ + "/run.mcap"), "precious");
}

TEST_F(SessionFileTest, AFileCutAnywhere_IsTakenUpAtAWholeRecord) {
  const std::string stream = stream_of(8);
  feed(stream);
  ASSERT_TRUE(file_->sync().ok());
  const std::string part = file_->part_path(), bytes = read_file(part);
  const Walked complete = walk(bytes);
  for (size_t cut = complete.preamble_bytes; cut <= bytes.size(); cut += 7) {
    file_.reset();
    std::ofstream(part, std::ios::binary | std::ios::trunc) << bytes.substr(0, cut);
    const Walked before = walk(bytes.substr(0, cut));
    feed(stream, cut % 2 == 0 ? ~size_t{0} : 1);
    ASSERT_TRUE(file_->resumed());
    if (cut % 2 != 0) {
      ASSERT_EQ(file_->messages(), std::max<size_t>(before.seqs.size(), 1));
      continue;
    }
    ASSERT_TRUE(file_->sync().ok());
    const Walked walked = walk(read_file(part));
    ASSERT_EQ(walked.wrong, "") << cut;
    ASSERT_EQ(walked.seqs, range(1, 8)) << cut;
  }
}

TEST_F(SessionFileTest, AnotherSessionsPart_IsLeftAlone) {
  feed(stream_of(3));
  ASSERT_TRUE(file_->sync().ok());
  const std::string part = file_->part_path(), bytes = read_file(part);
  file_.reset();
  const std::string other = std::string(kUuid).substr(0, 8) + "ffffffffffffffffffffffff";
  const uint8_t record[9] = {1};
  auto opened = SessionFile::open(folder_ + "/board", other, record, record);
  ASSERT_TRUE(opened.ok());
  EXPECT_NE((*opened)->part_path(), part);
  EXPECT_EQ(read_file(part), bytes);
}

TEST_F(SessionFileTest, TwoCollectors_DoNotShareAFile) {
  feed(stream_of(3));
  const uint8_t record[9] = {1};
  const auto second = SessionFile::open(folder_ + "/board", kUuid, record, record);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().what.find("in use"), std::string::npos);
}

TEST_F(SessionFileTest, DamagedMessagesAreCounted_NotStored) {
  std::string stream = stream_of(5);
  const Walked walked = walk(stream);
  stream[walked.preamble_bytes + kMessageHeaderBytes + 30] ^= 1;
  RecordSplitter splitter;
  feed(stream_of(0));
  splitter.add(ConstBytes(reinterpret_cast<const uint8_t*>(stream.data()), stream.size()));
  for (RecordSplitter::Step step; (step = splitter.next()) != RecordSplitter::Step::more;) {
    if (step == RecordSplitter::Step::magic) continue;
    if (splitter.is(McapOp::kChannel)) {
      EXPECT_NE(file_->add_channel(splitter.whole()), SessionFile::Kept::refused);
    }
    if (splitter.is(McapOp::kMessage)) file_->add_message(splitter.whole());
  }
  EXPECT_EQ(file_->damaged(), 1u);
  EXPECT_EQ(file_->missing(), 1u);
  EXPECT_EQ(file_->messages(), 4u);
}

TEST_F(SessionFileTest, ContradictionsAreRefused) {
  feed(stream_of(4));
  uint8_t out[256];
  size_t bytes = write_tensor_channel_record(out, 0, "/another/name");
  EXPECT_EQ(file_->add_channel(ConstBytes(out, bytes)), SessionFile::Kept::refused);
  bytes = write_channel_record(out, 777, 4242, "/t", "flatbuffer", {});
  EXPECT_EQ(file_->add_channel(ConstBytes(out, bytes)), SessionFile::Kept::refused) << "its schema is not there";
  bytes = write_schema_record(out, 1, "dumphook.Other", "flatbuffer", {});
  EXPECT_EQ(file_->add_schema(ConstBytes(out, bytes)), SessionFile::Kept::refused);
  bytes = write_schema_record(out, 0, "dumphook.Other", "flatbuffer", {});
  EXPECT_EQ(file_->add_schema(ConstBytes(out, bytes)), SessionFile::Kept::refused);
}

TEST_F(SessionFileTest, BeginningThatNeverCame_IsMissing) {
  stream_ = 2;
  first_seq_ = 21;
  skip_messages_ = 20;
  feed(stream_of(30));
  EXPECT_EQ(file_->missing(), 20u);
  EXPECT_EQ(file_->messages(), 10u);
}

TEST_F(SessionFileTest, FirstStreamOfTheSession_LacksNothingBeforeIt) {
  first_seq_ = 21;  // what came before it, the board itself counts as lost
  skip_messages_ = 20;
  feed(stream_of(30));
  EXPECT_EQ(file_->missing(), 0u);
}

TEST_F(SessionFileTest, MissingIsKnownAgain_AfterTheFileIsTakenUp) {
  skip_messages_ = 20;
  feed(stream_of(30));
  EXPECT_EQ(file_->missing(), 20u);
  ASSERT_TRUE(file_->sync().ok());
  file_.reset();
  feed(stream_of(30));
  ASSERT_TRUE(file_->resumed());
  EXPECT_EQ(file_->missing(), 20u);
  skip_messages_ = 0;
  feed(stream_of(30));
  EXPECT_EQ(file_->missing(), 0u) << "what comes late is there";
}

}  // namespace
}  // namespace dumphook
