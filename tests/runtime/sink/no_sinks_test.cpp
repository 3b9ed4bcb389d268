// SPDX-License-Identifier: Apache-2.0
// Built with DUMPHOOK_FILE and DUMPHOOK_TCP off.
#include "board.h"
#include "sink/make_sink.h"

namespace dumphook {
namespace {

TEST(NoSinks, WhatIsNotBuiltIn_IsNamedAndUnsupported) {
  const struct {
    const char* uri;
    const char* says;
  } cases[] = {{"file:x.mcap", "no file:"}, {"x.mcap", "no file:"}, {"tcp://127.0.0.1:9000", "no tcp://"}};
  for (const auto& absent : cases) {
    Board board;
    SinkHolder holder;
    dh_options options = dh_options_default();
    options.sink = absent.uri;
    Arena arena = Arena::measuring();
    holder.carve(arena, options);
    EXPECT_EQ(arena.used_bytes(), 0u);
    EXPECT_EQ(holder.open(board.context, options), DH_ERR_UNSUPPORTED);
    EXPECT_NE(board.log.find(absent.says), std::string::npos) << board.log;
    EXPECT_EQ(holder.get()->state(), SinkState::failed);
  }
}

TEST(NoSinks, TheCallbackRemains) {
  Board board;
  SinkHolder holder;
  dh_options options = dh_options_default();
  options.sink = "callback:";
  options.on_bytes = [](void*, const void*, size_t bytes) -> int64_t { return static_cast<int64_t>(bytes); };
  EXPECT_EQ(holder.open(board.context, options), DH_OK);
}

}  // namespace
}  // namespace dumphook
