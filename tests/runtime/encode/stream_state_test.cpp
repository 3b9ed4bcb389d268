// SPDX-License-Identifier: Apache-2.0
#include "encode/stream_state.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dumphook {
namespace {

class StreamStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Arena measure = Arena::measuring();
    StreamState().open(measure, 8, nullptr);
    memory_.assign(measure.used_bytes() / 8 + 16, ~uint64_t{0});
    auto* base = reinterpret_cast<uint8_t*>(memory_.data());
    base += 64 - reinterpret_cast<uintptr_t>(base) % 64;
    Arena arena{Bytes(base, measure.used_bytes())};
    text_.assign(512, 0);
    strings_ = Arena(Bytes(reinterpret_cast<uint8_t*>(text_.data()), 4096));
    ASSERT_TRUE(state_.open(arena, 8, &strings_));
    SessionInfo info;
    snprintf(info.uuid, sizeof info.uuid, "0123456789abcdef0123456789abcdef");
    state_.set_info(info);
  }
  std::string item(uint32_t index) {
    const StreamItem item = state_.item(index, 0, 1, 0);
    return std::string(reinterpret_cast<const char*>(item.head.data), item.head.size) +
           std::string(reinterpret_cast<const char*>(item.body.data), item.body.size);
  }
  size_t count(const std::string& text, const std::string& what) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  }

  std::vector<uint64_t> memory_, text_;
  Arena strings_{Bytes()};
  StreamState state_;
};

TEST_F(StreamStateTest, EveryDeclarationHasBytes) {
  EXPECT_TRUE(state_.add_channel(3, "m", "t"));
  for (uint32_t i = 0; i < state_.declaration_count(); ++i) EXPECT_FALSE(item(i).empty()) << i;
  EXPECT_NE(item(state_.declaration_count() - 1).find("/m/t"), std::string::npos);
  EXPECT_TRUE(item(state_.declaration_count()).empty()) << "its descriptor is still to come";
}

TEST_F(StreamStateTest, AnAttributesLaterValueReplacesTheEarlier) {
  EXPECT_TRUE(state_.add_attribute("k", "first"));
  EXPECT_TRUE(state_.add_attribute("k", "second"));
  EXPECT_EQ(count(item(1), "attr.k"), 1u);
  EXPECT_EQ(count(item(1), "second"), 1u);
}

TEST_F(StreamStateTest, AttributesBeyond64AreRefused) {
  static char keys[80][8];
  int taken = 0;
  for (int i = 0; i < 80; ++i) {
    snprintf(keys[i], sizeof keys[i], "k%d", i);
    taken += state_.add_attribute(keys[i], "v");
  }
  EXPECT_EQ(taken, 64);
  EXPECT_TRUE(state_.add_attribute("k5", "w")) << "a known key can still change";
}

TEST_F(StreamStateTest, TextsTooLongForTheMetadataAreLeftOut_NotTheMetadata) {
  const std::string huge(20000, 'x');
  SessionInfo info = state_.info();
  info.board = huge.c_str();
  info.soc = "soc7";
  state_.set_info(info);
  EXPECT_TRUE(state_.add_attribute("k", huge.c_str()));
  EXPECT_NE(item(1).find("0123456789abcdef0123456789abcdef"), std::string::npos);
  EXPECT_NE(item(1).find("soc7"), std::string::npos);
}

TEST_F(StreamStateTest, WhatDoesNotFitIsRefused_AndSmallerThingsStillFit) {
  EXPECT_TRUE(state_.add_channel(0, "m", "t"));
  EXPECT_FALSE(state_.reserve_descriptor(0, 5000));
  EXPECT_TRUE(state_.reserve_descriptor(0, 100));
  EXPECT_TRUE(state_.add_channel(1, "m", "u"));
}

}  // namespace
}  // namespace dumphook
