// SPDX-License-Identifier: Apache-2.0
#include "capture/selection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace dumphook {
namespace {

Selection selecting(const char* include, const char* exclude = "", const char* levels = "") {
  Selection selection;
  std::strcpy(selection.include, include);
  std::strcpy(selection.exclude, exclude);
  std::strcpy(selection.levels, levels);
  return selection;
}

bool takes(const Selection& selection, const char* name, const char* op = nullptr, const char* model = "m") {
  return selection.level_of(model, name, op, DH_ROLE_INTERMEDIATE) != DH_LEVEL_OFF;
}

std::vector<std::string> items(const char* list, size_t item_bytes = 64) {
  std::vector<std::string> all;
  std::vector<char> item(item_bytes);
  while (next_list_item(&list, item.data(), item_bytes)) all.emplace_back(item.data());
  return all;
}

TEST(Selection, OfNothingTakesNothing) { EXPECT_FALSE(takes(Selection(), "a")); }

TEST(Selection, TakesWhatAnIncludeMatchesAndNoExcludeDoes) {
  const Selection selection = selecting("conv*, fc?", "*_w, conv9");
  EXPECT_TRUE(takes(selection, "conv1"));
  EXPECT_TRUE(takes(selection, "conv/1/out"));
  EXPECT_TRUE(takes(selection, "fc1"));
  EXPECT_FALSE(takes(selection, "fc10"));
  EXPECT_FALSE(takes(selection, "conv1_w"));
  EXPECT_FALSE(takes(selection, "conv9"));
  EXPECT_FALSE(takes(selection, "relu"));
}

TEST(Selection, MatchesOpsAndModelsByPrefix) {
  EXPECT_TRUE(takes(selecting("op:Conv*"), "x", "Conv2D"));
  EXPECT_FALSE(takes(selecting("op:Conv*"), "Conv", nullptr));
  EXPECT_FALSE(takes(selecting("op:*"), "Conv", nullptr)) << "an unknown op matches no op glob";
  EXPECT_TRUE(takes(selecting("model:face"), "x", "", "face"));
  EXPECT_FALSE(takes(selecting("*", "model:face"), "x", "", "face"));
}

TEST(Selection, KeepsToRoles) {
  Selection selection = selecting("*");
  selection.role_mask = 1u << DH_ROLE_INPUT | 1u << DH_ROLE_OUTPUT;
  EXPECT_NE(selection.level_of("m", "x", "", DH_ROLE_INPUT), DH_LEVEL_OFF);
  EXPECT_NE(selection.level_of("m", "x", "", DH_ROLE_OUTPUT), DH_LEVEL_OFF);
  EXPECT_EQ(selection.level_of("m", "x", "", DH_ROLE_INTERMEDIATE), DH_LEVEL_OFF);
  EXPECT_EQ(selection.level_of("m", "x", "", 4000000000u), DH_LEVEL_OFF);
}

TEST(Selection, TakesTheFirstLevelRuleThatMatches_ElseTheDefault) {
  Selection selection = selecting("*", "", "a*=off, op:Add=hash ,a1=full,k=v=stats");
  selection.level = DH_LEVEL_FULL;
  EXPECT_EQ(selection.level_of("m", "a1", "", 0), DH_LEVEL_OFF);
  EXPECT_EQ(selection.level_of("m", "b", "Add", 0), DH_LEVEL_HASH);
  EXPECT_EQ(selection.level_of("m", "k=v", "", 0), DH_LEVEL_STATS);
  EXPECT_EQ(selection.level_of("m", "b", "", 0), DH_LEVEL_FULL);
  selection.level = DH_LEVEL_DEFAULT;
  EXPECT_EQ(selection.level_of("m", "b", "", 0), DH_LEVEL_FULL);
  selection.level = DH_LEVEL_OFF;
  EXPECT_EQ(selection.level_of("m", "b", "", 0), DH_LEVEL_OFF);
}

TEST(Selection, PicksFrames) {
  Selection selection;
  EXPECT_TRUE(selection.selects_frame(0, 1000000));
  selection.every_nth = 3;
  EXPECT_TRUE(selection.selects_frame(0, 0));
  EXPECT_FALSE(selection.selects_frame(1, 0));
  EXPECT_TRUE(selection.selects_frame(3, 0));
  selection.frame_first = 4;
  selection.frame_last = 9;
  EXPECT_FALSE(selection.selects_frame(3, 0));
  EXPECT_TRUE(selection.selects_frame(6, 0));
  EXPECT_TRUE(selection.selects_frame(9, 0));
  EXPECT_FALSE(selection.selects_frame(12, 0));
  selection.first_n = 2;
  EXPECT_TRUE(selection.selects_frame(6, 1));
  EXPECT_FALSE(selection.selects_frame(6, 2));
}

TEST(Selection, ListsAreSplitAtCommasOutsideBrackets) {
  EXPECT_EQ(items(""), std::vector<std::string>{});
  EXPECT_EQ(items(" , ,\t,\n"), std::vector<std::string>{});
  EXPECT_EQ(items(" a , b c,,d "), (std::vector<std::string>{"a", "b c", "d"}));
  EXPECT_EQ(items("a[x,y]z,b"), (std::vector<std::string>{"a[x,y]z", "b"}));
  EXPECT_EQ(items("a[x,b"), (std::vector<std::string>{"a[x", "b"}));
  EXPECT_EQ(items("abcdef,g", 4), (std::vector<std::string>{"abc", "g"}));
}

TEST(Selection, LevelsHaveFourNames) {
  dh_level level = DH_LEVEL_DEFAULT;
  EXPECT_TRUE(parse_level("stats", &level));
  EXPECT_EQ(level, DH_LEVEL_STATS);
  for (const char* wrong : {"", "FULL", "full ", "default", "0"}) EXPECT_FALSE(parse_level(wrong, &level)) << wrong;
}

}  // namespace
}  // namespace dumphook
