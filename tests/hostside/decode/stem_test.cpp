// SPDX-License-Identifier: Apache-2.0
#include "decode/stem.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dumphook {
namespace {

TEST(Stem, HarmlessNames_StayAsTheyAre) { EXPECT_EQ(stem_of_name("layer1.0.conv1-relu_3"), "layer1.0.conv1-relu_3"); }

TEST(Stem, Separators_AreEscaped) {
  EXPECT_EQ(stem_of_name("model/conv2d/BiasAdd;x:0"), "model%2Fconv2d%2FBiasAdd%3Bx%3A0");
  EXPECT_EQ(stem_of_name("a\\b c%d~"), "a%5Cb%20c%25d%7E");
  EXPECT_EQ(stem_of_name(std::string("nul\0", 4)), "nul%00");
}

TEST(Stem, NamesThatMeanFolders_DoNot) {
  EXPECT_EQ(stem_of_name("."), "%2E");
  EXPECT_EQ(stem_of_name(".."), "%2E%2E");
  EXPECT_EQ(stem_of_name("../../etc/passwd"), "%2E.%2F..%2Fetc%2Fpasswd");
  EXPECT_EQ(stem_of_name(""), "%");
  EXPECT_EQ(stem_of_name("-rf"), "%2Drf");
}

TEST(Stem, AnyName_ComesBack_AndDiffersFromOthers) {
  std::mt19937 random(3);
  std::set<std::string> names, stems;
  for (int i = 0; i < 20000; ++i) {
    std::string name(random() % 12, '\0');
    for (char& byte : name) byte = random() % 3 == 0 ? static_cast<char>(random() % 256) : "./%~ab"[random() % 6];
    const std::string stem = stem_of_name(name);
    EXPECT_EQ(name_of_stem(stem), name);
    EXPECT_EQ(stem.find('/'), std::string::npos);
    names.insert(name);
    stems.insert(stem);
  }
  EXPECT_EQ(names.size(), stems.size());
}

TEST(Stem, LongNames_AreShortenedAndStillDiffer) {
  const std::string name(512, '/');
  const std::string stem = stem_of_name(name), other = stem_of_name(name.substr(1));
  EXPECT_LE(stem.size(), kMaxStemBytes);
  EXPECT_NE(stem, other);
  EXPECT_EQ(stem, stem_of_name(name));
}

TEST(Stem, RunsOfAName_AreToldApartBehindIt) {
  EXPECT_EQ(stem_of("a/b", 0, 0), "a%2Fb");
  EXPECT_EQ(stem_of("a/b", 2, 0), "a%2Fb#2");
  EXPECT_EQ(stem_of("a/b", 2, 1), "a%2Fb#2!1");
  EXPECT_NE(stem_of("a#2", 0, 0), stem_of("a", 2, 0));
}

}  // namespace
}  // namespace dumphook
