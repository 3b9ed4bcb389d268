// SPDX-License-Identifier: Apache-2.0
#include "sink/make_sink.h"

#include <cstdlib>
#include <memory>

#include "board.h"
#include "walk.h"

namespace dumphook {
namespace {

class MakeSinkTest : public ::testing::Test {
 protected:
  Status open(const char* uri, uint32_t flags = 0) {
    options_.sink = uri;
    options_.flags = flags;
    options_.max_tensors = board_.max_tensors();
    options_.index_bytes = 1 << 16;
    options_.chunk_bytes = 1 << 20;
    Arena measuring = Arena::measuring();
    holder_.carve(measuring, options_);
    memory_.reset(static_cast<uint8_t*>(aligned_alloc(64, (measuring.used_bytes() + 127) & ~size_t{63})));
    Arena arena(Bytes(memory_.get(), measuring.used_bytes() + 64));
    holder_.carve(arena, options_);
    EXPECT_TRUE(arena.ok());
    return holder_.open(board_.context, options_);
  }

  Board board_;
  dh_options options_ = dh_options_default();
  std::unique_ptr<uint8_t, void (*)(void*)> memory_{nullptr, free};
  SinkHolder holder_;
};

TEST_F(MakeSinkTest, PlainTcpOffTheMachine_NeedsInsecure) {
  EXPECT_EQ(open("tcp://192.0.2.1:9000"), DH_ERR_SECURITY);
  EXPECT_NE(board_.log.find("insecure"), std::string::npos) << board_.log;
  EXPECT_EQ(open("tcp://192.0.2.1:9000", DH_FLAG_INSECURE), DH_OK);
  EXPECT_EQ(open("tcp://127.0.0.1:9000"), DH_OK);
  EXPECT_EQ(open("tcp://[::1]:9000"), DH_OK);
}

TEST_F(MakeSinkTest, SaysWhatIsWrongWithTheUri) {
  const struct {
    const char* uri;
    Status status;
    const char* says;
  } cases[] = {
      {"", DH_ERR_OPTION, "none is named"},
      {"tcp://pc", DH_ERR_ADDRESS, "port is missing"},
      {"tcp://127.0.0.1:0", DH_ERR_ADDRESS, "port 0"},
      {"tls://127.0.0.1:9000", DH_ERR_UNSUPPORTED, "tls://"},
      {"tcp-listen://127.0.0.1:9000", DH_ERR_UNSUPPORTED, "tcp-listen://"},
      {"udp://127.0.0.1:9000", DH_ERR_OPTION, "none of"},
      {"callback:", DH_ERR_OPTION, "on_bytes"},
      {"file:", DH_ERR_OPTION, "empty"},
      {"file:x?overwrite=2", DH_ERR_OPTION, "0 or 1"},
      {"/no/such/folder/x.mcap", DH_ERR_SINK, "No such file"},
  };
  for (const auto& bad : cases) {
    board_.log.clear();
    EXPECT_EQ(open(bad.uri), bad.status) << bad.uri;
    EXPECT_NE(board_.log.find(bad.says), std::string::npos) << bad.uri << ": " << board_.log;
    EXPECT_EQ(holder_.get()->state(), SinkState::failed);
    holder_.get()->abandon();
  }
}

TEST_F(MakeSinkTest, MakesFilesAndCallbacks) {
  char folder[] = "/tmp/dumphook_make_sink_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/a.mcap";
  for (const std::string& uri : {path, "file:" + path + "?overwrite=1", "file://" + path + "?overwrite=1"}) {
    ASSERT_EQ(open(uri.c_str()), DH_OK) << board_.log;
    holder_.get()->finish();
    board_.step(*holder_.get());
    EXPECT_TRUE(walk(read_file(path)).sealed) << uri;
  }
  EXPECT_EQ(system(("rm -r " + std::string(folder)).c_str()), 0);

  std::string got;
  options_.on_bytes_user = &got;
  options_.on_bytes = [](void* user, const void* data, size_t bytes) -> int64_t {
    static_cast<std::string*>(user)->append(static_cast<const char*>(data), bytes);
    return static_cast<int64_t>(bytes);
  };
  ASSERT_EQ(open("callback:"), DH_OK);
  board_.emit(0, 100);
  holder_.get()->finish();
  for (int i = 0; i < 10; ++i) board_.step(*holder_.get());
  EXPECT_EQ(holder_.get()->state(), SinkState::finished);
  const Walked walked = walk(got);
  EXPECT_EQ(walked.wrong, "");
  EXPECT_TRUE(walked.sealed);
  EXPECT_EQ(walked.seqs.size(), 1u);
}

}  // namespace
}  // namespace dumphook
