// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "wire/mcap.h"

namespace dumphook {
namespace {

std::string topic(const char* model, const char* tensor) {
  char out[kMaxTopicBytes];
  const size_t length = escape_topic(out, model, tensor);
  EXPECT_EQ(length, strlen(out));
  return std::string(out, length);
}

TEST(Topic, PlainNames_StayAsTheyAre) {
  EXPECT_EQ("/yolo/conv1:0", topic("yolo", "conv1:0"));
  EXPECT_EQ("/m/a b.c-d_e", topic("m", "a b.c-d_e"));
  EXPECT_EQ("//", topic(nullptr, ""));
}

TEST(Topic, SlashPercentAndControls_AreEscaped) {
  EXPECT_EQ("/m/backbone%2Fconv%25", topic("m", "backbone/conv%"));
  EXPECT_EQ("/%0A%1F%7F/x", topic("\n\x1F\x7F", "x"));
}

TEST(Topic, ValidUtf8_StaysAsItIs) {
  EXPECT_EQ("/m/\xC3\xA9\xE5\xB1\x82\xF0\x9F\x98\x80", topic("m", "\xC3\xA9\xE5\xB1\x82\xF0\x9F\x98\x80"));
  EXPECT_EQ("/m/\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", topic("m", "\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"));
}

TEST(Topic, InvalidUtf8_IsEscapedByteByByte) {
  EXPECT_EQ("/m/%80", topic("m", "\x80"));
  EXPECT_EQ("/m/%C3", topic("m", "\xC3"));
  EXPECT_EQ("/m/%C3(", topic("m", "\xC3("));
  EXPECT_EQ("/m/%C0%AF", topic("m", "\xC0\xAF"));                // overlong
  EXPECT_EQ("/m/%E0%80%AF", topic("m", "\xE0\x80\xAF"));         // overlong
  EXPECT_EQ("/m/%E0%9F%BF", topic("m", "\xE0\x9F\xBF"));         // overlong
  EXPECT_EQ("/m/%ED%A0%80", topic("m", "\xED\xA0\x80"));         // surrogate
  EXPECT_EQ("/m/%F4%90%80%80", topic("m", "\xF4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_EQ("/m/%F0%8F%BF%BF", topic("m", "\xF0\x8F\xBF\xBF"));  // overlong
  EXPECT_EQ("/m/%E5%B1", topic("m", "\xE5\xB1"));                // cut short
  EXPECT_EQ("/m/%FF%FE", topic("m", "\xFF\xFE"));
}

TEST(Topic, LongestNames_Fit) {
  const std::string worst(kMaxNameBytes, '/');
  EXPECT_EQ(kMaxTopicBytes - 1, topic(worst.c_str(), worst.c_str()).size());
}

TEST(Topic, WithoutRoom_GivesZeroAndStaysInside) {
  const size_t needed = strlen("/m/a%2Fb") + 1;
  for (size_t room = 0; room <= needed; ++room) {
    char out[16];
    memset(out, 'G', sizeof out);
    const size_t length = escape_topic(Span<char>(out, room), "m", "a/b");
    EXPECT_EQ(room == needed ? needed - 1 : 0, length);
    for (size_t i = room; i < sizeof out; ++i) EXPECT_EQ('G', out[i]);
  }
}

}  // namespace
}  // namespace dumphook
