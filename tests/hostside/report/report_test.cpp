// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../align/make_side.h"

namespace dumphook {
namespace {

using Json = nlohmann::json;

Comparison compared(Side target, Side golden, Preset preset = Preset::standard) {
  return compare(align(std::move(target), std::move(golden), {}), limits_of(preset));
}

Tensor with_op(Tensor tensor, const std::string& op) {
  tensor.descriptor.op = op;
  return tensor;
}

Tensor input(const std::string& name, const std::vector<float>& values) {
  Tensor tensor = make_tensor(name, values);
  tensor.descriptor.role = Role::input;
  return tensor;
}

// An input, a good layer, one 1.5 times too large, one that only the golden has.
Comparison example(Preset preset = Preset::standard) {
  return compared(make_side({input("data", {1, 2, 2}), with_op(make_tensor("conv1", {1, 2, 3}), "Conv"),
                             with_op(make_tensor("conv2", {1.5f, -3, 4.5f}), "Conv")}),
                  make_side({input("data", {1, 2, 2}), make_tensor("conv1", {1, 2, 3}),
                             make_tensor("conv2", {1, -2, 3}), make_tensor("prob", {1})}),
                  preset);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has_line_starting(const std::string& text, const std::string& start) {
  const auto lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.rfind(start, 0) == 0; });
}

TEST(Json, HasEveryKeyOfTheContract) {
  const Json report = Json::parse(json_report(example()));
  for (const char* key :
       {"format", "target", "golden", "coverage", "inputs", "layers", "first_bad", "worst", "trend", "findings"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report["format"], 1);
  for (const char* key :
       {"index", "name", "golden_name", "op", "dtype", "shape", "metrics", "verdict", "vendor_verdict", "reason"})
    EXPECT_TRUE(report["layers"][0].contains(key)) << key;
  EXPECT_EQ(report["inputs"].size(), 1u);
  EXPECT_EQ(report["layers"][1]["index"], 2);
  EXPECT_EQ(report["layers"][1]["verdict"], "fail");
  EXPECT_EQ(report["layers"][1]["dtype"], Json({"f32", "f32"}));
  EXPECT_EQ(report["layers"][2]["verdict"], "unmatched");
  EXPECT_EQ(report["layers"][2]["dtype"], Json({nullptr, "f32"}));
  EXPECT_TRUE(report["layers"][2]["metrics"].is_null());
  EXPECT_EQ(report["first_bad"], "conv2");
  EXPECT_EQ(report["worst"], "conv2");
  EXPECT_EQ(report["trend"], Json({{"kind", "sudden"}, {"at", "conv2"}}));
  EXPECT_EQ(report["coverage"]["complete"], false);
  EXPECT_EQ(report["coverage"]["only_in_golden"], Json({"prob"}));
}

TEST(Json, NumbersThatJsonLacks_AreStrings) {
  const Json report = Json::parse(json_report(compared(make_side({make_tensor("a", {1}), make_tensor("b", {NAN})}),
                                                       make_side({make_tensor("a", {1}), make_tensor("b", {NAN})}))));
  EXPECT_EQ(report["layers"][0]["metrics"]["sqnr_db"], "inf");
  EXPECT_EQ(report["layers"][1]["metrics"]["cosine"], "nan");
  EXPECT_EQ(report["layers"][1]["metrics"]["same_nonfinite"], 1);
}

TEST(Json, NothingBad_IsNull) {
  const Json report = Json::parse(json_report(compared(make_side({make_tensor("a")}), make_side({make_tensor("a")}))));
  EXPECT_TRUE(report["first_bad"].is_null());
  EXPECT_EQ(report["trend"]["kind"], "none");
  EXPECT_TRUE(report["trend"]["at"].is_null());
}

TEST(Json, InvalidUtf8InANameIsReplaced) {
  const Comparison c = compared(make_side({make_tensor("\xff\xfe")}), make_side({make_tensor("\xff\xfe")}));
  EXPECT_TRUE(Json::accept(json_report(c)));
}

TEST(Table, CoverageStandsAboveTheVerdicts_AndAHoleIsNeverPass) {
  const std::string text =
      table_report(compared(make_side({make_tensor("a")}), make_side({make_tensor("a"), make_tensor("b")})), {});
  EXPECT_LT(text.find("coverage"), text.find("verdict"));
  EXPECT_NE(text.find("DATA ARE MISSING"), std::string::npos);
  EXPECT_EQ(text.find("PASS"), std::string::npos);
  EXPECT_TRUE(has_line_starting(text, "verdict   INCOMPLETE"));
}

TEST(Table, UnmatchedAllowed_CanPass) {
  TableStyle style;
  style.unmatched_allowed = true;
  const std::string text =
      table_report(compared(make_side({make_tensor("a")}), make_side({make_tensor("a"), make_tensor("b")})), style);
  EXPECT_TRUE(has_line_starting(text, "verdict   PASS"));
}

TEST(Table, FirstBadWorstTrendAndCounts) {
  const std::string text = table_report(example(), {});
  EXPECT_TRUE(has_line_starting(text, "first bad 2 conv2 (norm_ratio 1.5 > 1.25)"));
  EXPECT_TRUE(has_line_starting(text, "worst     2 conv2"));
  EXPECT_TRUE(has_line_starting(text, "trend     sudden at conv2"));
  EXPECT_TRUE(has_line_starting(text, "counts    2 pass · 1 fail · 1 unmatched"));
  EXPECT_TRUE(has_line_starting(text, "verdict   FAIL, and data are missing"));
}

TEST(Table, DifferentInput_IsSaidBeforeTheRows) {
  const std::string text =
      table_report(compared(make_side({input("data", {3, 0, 0})}), make_side({input("data", {0, 0, 3})})), {});
  EXPECT_LT(text.find("INPUT DIFFERS: data"), text.find("MAXABS"));
}

TEST(Table, NarrowTerminal_KeepsEveryLineOfTheTableInside) {
  const std::string name = "backbone/stage3/block2/branch1/conv/BiasAdd_very_long_name_of_a_layer";
  const Comparison c = compared(make_side({with_op(make_tensor(name, {1.5f, 3}), "DepthwiseConv2dNative")}),
                                make_side({make_tensor(name, {1, 2})}));
  TableStyle style;
  style.width = 120;
  for (const std::string& line : lines_of(table_report(c, style)))
    if (line.find("fail") != std::string::npos && line.find("Depth") != std::string::npos) {
      EXPECT_LE(line.size(), 120u) << line;
      EXPECT_NE(line.find("of_a_layer"), std::string::npos);
    }
}

TEST(Table, ColourOnlyWhenAsked_AndTheWordStays) {
  EXPECT_EQ(table_report(example(), {}).find('\x1b'), std::string::npos);
  TableStyle style;
  style.colour = true;
  EXPECT_NE(table_report(example(), style).find("\x1b[1;31mfail\x1b[0m"), std::string::npos);
}

TEST(Table, ControlCharactersInNames_DoNotReachTheTerminal) {
  const std::string text = table_report(compared(make_side({make_tensor("a\x1b[2J\nb\xc2\x9b")}), make_side({})), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_NE(text.find("a?[2J?b?"), std::string::npos);
}

TEST(Table, Text_StandsSideBySide) {
  const std::string text = table_report(compared(make_side({make_text("boxes", "cat 0.9\ndog 0.5\n")}),
                                                 make_side({make_text("boxes", "cat 0.9\ndog 0.7\n")})),
                                        {});
  EXPECT_NE(text.find("boxes (different)"), std::string::npos);
  EXPECT_TRUE(has_line_starting(text, "    cat 0.9 | cat 0.9"));
  EXPECT_TRUE(has_line_starting(text, "  ! dog 0.5 | dog 0.7"));
}

TEST(SigmaStar, PrintsTheVendorsLines) {
  const auto lines = lines_of(sigmastar_report(example(Preset::sigmastar)));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "0) data MSE: 0.000000 COS: 1.000000 RMSE: 0.000000");
  EXPECT_EQ(lines[2], "2) conv2 MSE: 1.166667 COS: 1.000000 RMSE: 0.500000");
}

TEST(Csv, OneLinePerRow_QuotedWhereNeeded) {
  const auto lines =
      lines_of(csv_report(compared(make_side({make_tensor("a,\"b\"")}), make_side({make_tensor("a,\"b\"")}))));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].rfind("index,kind,op,name,golden_name", 0), 0u);
  EXPECT_EQ(lines[1].rfind("0,layer,,\"a,\"\"b\"\"\",\"a,\"\"b\"\"\",f32,f32,3,1,0,0,0", 0), 0u) << lines[1];
}

TEST(Reports, ControlCharactersInReasons_DoNotReachTheTerminal) {
  const std::string evil = "\x1b]0;pwned\x07\x1b[2J";
  Tensor target = input("data", {3, 0, 0});
  target.descriptor.origin_names = {evil};
  const Comparison c = compared(make_side({target}), make_side({input(evil, {0, 0, 3})}));
  for (const std::string& text :
       {table_report(c, {}), csv_report(c), sigmastar_report(c), summary_report(c, false, true)})
    for (const char byte : text) ASSERT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20) << text;
  EXPECT_NE(table_report(c, {}).find("INPUT DIFFERS"), std::string::npos);
}

TEST(Summary, CountsRowsThatAReportLeavesOut) {
  const std::string text = summary_report(example(), false, true);
  EXPECT_TRUE(has_line_starting(text, "coverage  3 of 4 rows judged · 1 unmatched · DATA ARE MISSING"));
  EXPECT_TRUE(has_line_starting(text, "left out  1 rows without numbers"));
  EXPECT_TRUE(has_line_starting(text, "verdict   FAIL, and data are missing"));
  EXPECT_EQ(summary_report(example(), false, false).find("left out"), std::string::npos);
}

}  // namespace
}  // namespace dumphook
