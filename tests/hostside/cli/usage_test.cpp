// SPDX-License-Identifier: Apache-2.0
// What the tool refuses, before it does anything.
#include <gtest/gtest.h>

#include <filesystem>

#include "tool.h"

namespace dumphook {
namespace {

TEST(Usage, Errors_ExitWithTwo) {
  for (const char* arguments : {"", "nonsense", "info", "info --nonsense x", "export x --to y --format zip"}) {
    EXPECT_EQ(tool(arguments).exit_code, 2) << arguments;
  }
  EXPECT_EQ(tool("--help").exit_code, 0);
  EXPECT_EQ(tool("export --help").exit_code, 0);
  EXPECT_EQ(tool("--version").out.substr(0, 8), "dumphook");
}

TEST(Usage, UnknownVerb_IsNamed) {
  EXPECT_NE(tool("shw x.mcap").err.find("there is no verb 'shw'"), std::string::npos);
}

TEST(Usage, NegativeCounts_AreRefusedInAFewWords) {
  for (const char* arguments : {"record --boards -1", "record --timeout=-3", "info --problems -4 x.mcap"}) {
    const Ran run = tool(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_NE(run.err.find("must not be negative"), std::string::npos) << run.err;
    EXPECT_LT(run.err.size(), 100u) << run.err;
  }
}

TEST(Usage, OptionsThatDoNotGoTogether_AreRefused) {
  const std::string capture = fine_capture(), folder = scratch_folder() + "/never";
  for (const std::string& arguments :
       {"export " + capture + " --one-per-row --to " + folder, "export " + capture + " --deflate --to " + folder,
        "show " + capture + " out --json --one-per-row", std::string("record --once --boards 2"),
        std::string("record --force"), std::string("record --boards 2 --out ") + folder + ".mcap",
        "compare " + capture + " " + capture + " --format csv --json",
        "compare " + capture + " " + capture + " --json " + folder + " --out " + folder}) {
    EXPECT_EQ(tool(arguments).exit_code, 2) << arguments;
    EXPECT_FALSE(std::filesystem::exists(folder)) << arguments;
  }
}

TEST(Usage, ReadyFile_SaysThatItReplaces) {
  EXPECT_NE(tool("record --help").out.find("replaces a file that is there"), std::string::npos);
}

}  // namespace
}  // namespace dumphook
