// SPDX-License-Identifier: Apache-2.0
#include "capture/trigger.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <string>
#include <vector>

namespace dumphook {
namespace {

TriggerList parsed(const std::string& text) {
  TriggerList list;
  TriggerList::Item wrong;
  EXPECT_TRUE(list.parse(text.c_str(), wrong)) << text << ": " << wrong;
  return list;
}

std::string refused(const std::string& text) {
  TriggerList list;
  TriggerList::Item wrong = {};
  return list.parse(text.c_str(), wrong) ? "" : wrong;
}

TensorStatistics statistics_of(const std::vector<float>& values) {
  StatisticsMeter meter;
  meter.begin(DH_F32, values.size());
  meter.update(values.data(), values.size() * sizeof(float));
  TensorStatistics out;
  meter.finish(&out);
  return out;
}

bool fires(const std::string& trigger, const std::vector<float>& values, const StoredScale& scale = {}) {
  return holds(parsed(trigger).triggers[0], statistics_of(values), scale);
}

TEST(Trigger, ReadsEveryForm) {
  const TriggerList list =
      parsed("nan, inf@conv*,saturated>0.01,range:-6..6@op:Relu ,constant,event:door open,after:12");
  ASSERT_EQ(list.count, 6u);
  EXPECT_EQ(list.frames_after, 12u);
  EXPECT_EQ(list.triggers[0].argument(), nullptr);
  EXPECT_STREQ(list.triggers[1].argument(), "conv*");
  EXPECT_EQ(list.triggers[2].low, 0.01);
  EXPECT_EQ(list.triggers[3].low, -6);
  EXPECT_EQ(list.triggers[3].high, 6);
  EXPECT_STREQ(list.triggers[3].argument(), "op:Relu");
  EXPECT_TRUE(names_event("nan, event:door open", "door open"));
  EXPECT_FALSE(names_event("nan, event:door open", "door"));
  EXPECT_TRUE(list.looks_at_tensors());
  EXPECT_FALSE(parsed("event:x").looks_at_tensors());
  EXPECT_EQ(parsed("").count, 0u);
  // A copy does not point into its original.
  TriggerList copy = list;
  copy.triggers[1].text[4] = 'X';
  EXPECT_STREQ(copy.triggers[1].argument(), "Xonv*");
}

TEST(Trigger, ReadsNumbersAsWritten) {
  const struct {
    const char* text;
    double low, high;
  } kCases[] = {{"range:-1.5e-3..2.25E2", -1.5e-3, 225},
                {"range:..0.1", -INFINITY, 0.1},
                {"range:1..", 1, INFINITY},
                {"range:.5..+7", 0.5, 7},
                {"range:-65504..65504", -65504, 65504},
                {"range:1.2..3.4", 1.2, 3.4},
                {"range:1e-400..1e400", 0, INFINITY}};
  // A locale with a decimal comma, where there is one, changes nothing.
  const char* before = std::setlocale(LC_NUMERIC, nullptr);
  const std::string saved = before == nullptr ? "C" : before;
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  for (const auto& c : kCases) {
    const TriggerList list = parsed(c.text);
    EXPECT_DOUBLE_EQ(list.triggers[0].low, c.low) << c.text;
    EXPECT_DOUBLE_EQ(list.triggers[0].high, c.high) << c.text;
  }
  std::setlocale(LC_NUMERIC, saved.c_str());
}

TEST(Trigger, RefusesWhatItCannotRead) {
  for (const char* wrong :
       {"nans", "range:", "range:5..1", "range:1,2", "range:a..b", "saturated>", "saturated>2", "saturated",
        "event:", "after:", "after:-1", "after:1x", "nan@", "constant@", "range:1e..2", "inf x", "after:99999999999"}) {
    EXPECT_NE(refused(wrong), "") << wrong;
  }
  EXPECT_EQ(refused("nan,bogus,inf"), "bogus");
  std::string many;
  for (int i = 0; i < 17; ++i) many += "event:e" + std::to_string(i) + ",";
  EXPECT_EQ(refused(many), "event:e16");
  EXPECT_NE(refused("event:" + std::string(200, 'x')), "");
}

TEST(Trigger, HoldsForWhatItNames) {
  EXPECT_TRUE(fires("nan", {1, NAN}));
  EXPECT_FALSE(fires("nan", {1, INFINITY}));
  EXPECT_TRUE(fires("inf", {1, -INFINITY}));
  EXPECT_FALSE(fires("inf", {1, NAN}));
  EXPECT_TRUE(fires("constant", {2, 2, 2}));
  EXPECT_FALSE(fires("constant", {2, 2, 3}));
  EXPECT_TRUE(fires("range:-6..6", {0, 6.001f}));
  EXPECT_FALSE(fires("range:-6..6", {-6, 6}));
  EXPECT_TRUE(fires("range:..6", {-1e30f, INFINITY}));
  EXPECT_FALSE(fires("range:-6..", {0, INFINITY})) << "no upper end";
  EXPECT_TRUE(fires("saturated>0.2", {3.4028234663852886e38f, 1, 2, 3}));
  EXPECT_FALSE(fires("saturated>0.25", {3.4028234663852886e38f, 1, 2, 3})) << "exactly the share";
}

TEST(Trigger, RangesAreOfRealValues) {
  StoredScale scale;
  scale.scale = 0.5;
  scale.zero_point = 10;
  EXPECT_TRUE(fires("range:-6..6", {23}, scale)) << "6.5";
  EXPECT_FALSE(fires("range:-6..6", {22, -2}, scale)) << "6 and -6";
  scale.scale = -0.5;
  EXPECT_TRUE(fires("range:..6", {-3}, scale)) << "6.5";
  EXPECT_FALSE(fires("range:..6", {23}, scale)) << "-6.5";
}

}  // namespace
}  // namespace dumphook
