// SPDX-License-Identifier: Apache-2.0
#include "base/glob.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace dumphook {
namespace {

TEST(Glob, LiteralText_MatchesItself) {
  EXPECT_TRUE(glob_match("conv1", "conv1"));
  EXPECT_FALSE(glob_match("conv1", "conv12"));
  EXPECT_FALSE(glob_match("conv1", "conv"));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match(nullptr, nullptr));
}

TEST(Glob, Star_MatchesAnythingAlsoSlashes) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*", "backbone/conv1"));
  EXPECT_TRUE(glob_match("back*/conv?", "backbone/block/conv1"));
  EXPECT_TRUE(glob_match("**a**", "bab"));
  EXPECT_FALSE(glob_match("*a", "ab"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
}

TEST(Glob, QuestionMark_MatchesExactlyOneByte) {
  EXPECT_TRUE(glob_match("a?c", "a/c"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
}

TEST(Glob, Set_MatchesOneByteOfIt) {
  EXPECT_TRUE(glob_match("conv[0-9]", "conv7"));
  EXPECT_FALSE(glob_match("conv[0-9]", "convx"));
  EXPECT_TRUE(glob_match("conv[!0-9]", "convx"));
  EXPECT_FALSE(glob_match("conv[!0-9]", "conv7"));
  EXPECT_TRUE(glob_match("[abx-z]", "b"));
  EXPECT_TRUE(glob_match("[abx-z]", "y"));
  EXPECT_FALSE(glob_match("[abx-z]", "-"));
  EXPECT_TRUE(glob_match("[a-]", "-"));
  EXPECT_TRUE(glob_match("[-a]", "-"));
}

TEST(Glob, Set_BracketThatComesFirstIsAMember) {
  EXPECT_TRUE(glob_match("[]]", "]"));
  EXPECT_TRUE(glob_match("[]a]", "a"));
  EXPECT_FALSE(glob_match("[!]]", "]"));
}

TEST(Glob, SetThatIsNeverClosed_IsLiteral) {
  EXPECT_TRUE(glob_match("a[b", "a[b"));
  EXPECT_FALSE(glob_match("a[b", "ab"));
  EXPECT_TRUE(glob_match("[", "["));
  EXPECT_TRUE(glob_match("[!", "[!"));
  EXPECT_TRUE(glob_match("[]", "[]"));
}

TEST(Glob, HighBytes_CompareUnsigned) {
  EXPECT_TRUE(glob_match("[\x80-\xFF]", "\xC3"));
  EXPECT_FALSE(glob_match("[\x80-\xFF]", "a"));
}

TEST(Glob, ManyStars_DoNotBlowUp) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  pattern += "b";
  EXPECT_FALSE(glob_match(pattern.c_str(), std::string(5000, 'a').c_str()));
}

// The definition itself, exponential and all.
bool matches(const char* p, const char* t) {
  if (*p == '\0') return *t == '\0';
  if (*p == '*') return matches(p + 1, t) || (*t != '\0' && matches(p, t + 1));
  return *t != '\0' && (*p == '?' || *p == *t) && matches(p + 1, t + 1);
}

TEST(Glob, AgreesWithTheDefinition) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string pattern, text;
    for (size_t n = random() % 8; n > 0; --n) pattern += "ab?*"[random() % 4];
    for (size_t n = random() % 8; n > 0; --n) text += "ab"[random() % 2];
    ASSERT_EQ(matches(pattern.c_str(), text.c_str()), glob_match(pattern.c_str(), text.c_str()))
        << pattern << " " << text;
  }
}

}  // namespace
}  // namespace dumphook
