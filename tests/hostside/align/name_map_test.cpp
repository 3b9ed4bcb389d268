// SPDX-License-Identifier: Apache-2.0
#include "align/name_map.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

using Map = NameMap;

std::string error_of(const std::string& text) {
  try {
    parse_name_map(text, "map.txt");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(NameMap, Lines_WithCommentsAndBlanks) {
  EXPECT_EQ(parse_name_map("# target golden\n\n  a/b  c:0\nd\te f\r\n", "map.txt"),
            (Map{{"a/b", "c:0"}, {"d", "e f"}}));
}

TEST(NameMap, JsonObject_IsTheSame) {
  EXPECT_EQ(parse_name_map("\n {\"a\": \"b\", \"x y\": \"z\"}", "map.txt"), (Map{{"a", "b"}, {"x y", "z"}}));
}

TEST(NameMap, EmptyFile_MapsNothing) { EXPECT_TRUE(parse_name_map("", "map.txt").empty()); }

TEST(NameMap, BadLine_NamesFileAndLine) {
  EXPECT_EQ(error_of("a b\nlonely\n").substr(0, 9), "map.txt:2");
  EXPECT_EQ(error_of("a b c\n").substr(0, 9), "map.txt:1");
  EXPECT_EQ(error_of("a b\na c\n").substr(0, 9), "map.txt:2");
}

TEST(NameMap, BadJson_SaysWhatToWrite) {
  EXPECT_NE(error_of("{\"a\": ").find("golden name"), std::string::npos);
  EXPECT_NE(error_of("{\"a\": 3}").find("\"a\""), std::string::npos);
}

TEST(NameMap, MissingFile_IsNamed) {
  try {
    read_name_map("/nonexistent/map.txt");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/map.txt"), std::string::npos);
  }
}

TEST(NameMap, ByteOrderMark_IsSkipped) {
  EXPECT_EQ(parse_name_map("\xEF\xBB\xBF"
                           "a b\n",
                           "map.txt")
                .at("a"),
            "b");
  EXPECT_EQ(parse_name_map("\xEF\xBB\xBF{\"a\": \"b\"}", "map.json").at("a"), "b");
}

TEST(NameMap, Folder_IsSaid) {
  try {
    read_name_map("/tmp");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("is a folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace dumphook
