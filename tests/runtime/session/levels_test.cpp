// SPDX-License-Identifier: Apache-2.0
// Levels below full, and policy degrade: what is kept of a tensor whose bytes stay on the board.
#include <cmath>

#include "measure/xxh64.h"
#include "open_session.h"

namespace {

using test_reader::Stream;

dh_tensor f32_tensor(const char* name, const std::vector<float>& values) {
  dh_tensor tensor = dh_tensor_default();
  tensor.name = name;
  tensor.dtype = DH_F32;
  tensor.rank = 1;
  tensor.shape[0] = static_cast<int64_t>(values.size());
  tensor.data = values.data();
  return tensor;
}

class LevelsTest : public ::testing::Test {
 protected:
  void SetUp() override { options_ = callback_options(&collector_); }
  void open() { ASSERT_EQ(dh_open(&options_, &session_), DH_OK) << collector_.log(); }
  Stream close() {
    EXPECT_EQ(dh_close(session_), DH_OK);
    Stream stream = test_reader::read_stream(collector_.bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    return stream;
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

TEST_F(LevelsTest, EachTensorIsKeptAsItsPatternSays) {
  options_.levels = "hashed*=hash,measured=stats,nothing=off";
  open();
  const std::vector<float> values = {1, -2, 0, 4, NAN, 0.5f};
  const dh_frame frame = begin_frame(session_, 1);
  for (const char* name : {"hashed", "measured", "nothing", "whole"}) {
    const dh_tensor tensor = f32_tensor(name, values);
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), std::string(name) == "nothing" ? DH_SKIPPED : DH_OK);
  }
  // Every second element: the digest is of the dense bytes.
  dh_tensor strided = f32_tensor("hashed_strided", values);
  strided.shape[0] = 3;
  strided.strides[0] = 8;
  EXPECT_EQ(dh_capture_by_name(session_, frame, &strided), DH_OK);
  dh_tensor empty = f32_tensor("hashed_empty", values);
  empty.shape[0] = 0;
  EXPECT_EQ(dh_capture_by_name(session_, frame, &empty), DH_OK);
  dh_frame_end(session_, frame);
  const Stream stream = close();

  EXPECT_EQ(stream.tensors.size(), 1u);
  std::map<std::string, test_reader::Summary> kept;
  for (const auto& summary : stream.summaries) kept[summary.name] = summary;
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept["hashed"].digest, dumphook::xxh64(values.data(), values.size() * 4, 0));
  const float dense[] = {1, 0, NAN};
  EXPECT_EQ(kept["hashed_strided"].digest, dumphook::xxh64(dense, sizeof dense, 0));
  EXPECT_EQ(kept["hashed_empty"].digest, dumphook::xxh64(nullptr, 0, 0));
  const test_reader::Summary& measured = kept["measured"];
  EXPECT_TRUE(measured.has_statistics);
  EXPECT_EQ(measured.count, 6u);
  EXPECT_EQ(measured.sampled, 6u);
  EXPECT_EQ(measured.nan, 1u);
  EXPECT_EQ(measured.zeros, 1u);
  EXPECT_EQ(measured.min, -2);
  EXPECT_EQ(measured.max, 4);
  EXPECT_DOUBLE_EQ(measured.mean, 0.7);
  EXPECT_DOUBLE_EQ(measured.variance, (0.09 + 7.29 + 0.49 + 10.89 + 0.04) / 5);
  EXPECT_EQ(stream.frames.at(1).accepted, 5u);
  EXPECT_EQ(stream.frames.at(1).state, 0u);
  EXPECT_EQ(stream.counters.back().seen, 5u);
  EXPECT_EQ(stream.counters.back().shipped + stream.counters.back().in_flight, 5u);
  EXPECT_EQ(stream.counters.back().lost_sum(), 0u);
}

TEST_F(LevelsTest, AnOddNumberOfFourBitElements_IsNotOneMore) {
  options_.level = DH_LEVEL_STATS;
  open();
  const uint8_t nibbles[] = {0x11, 0x03};  // 1, 1, 3
  dh_tensor tensor = dh_tensor_default();
  tensor.name = "t";
  tensor.dtype = DH_U4;
  tensor.rank = 1;
  tensor.shape[0] = 3;
  tensor.data = nibbles;
  const dh_frame frame = begin_frame(session_, 1);
  EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
  dh_frame_end(session_, frame);
  const Stream stream = close();
  ASSERT_EQ(stream.summaries.size(), 1u);
  EXPECT_EQ(stream.summaries[0].count, 3u);
  EXPECT_EQ(stream.summaries[0].zeros, 0u);
  EXPECT_EQ(stream.summaries[0].min, 1);
}

TEST_F(LevelsTest, QuantizationTravelsAlsoWithoutBytes) {
  options_.levels = "hash_*=hash,stats_*=stats";
  open();
  const std::vector<int8_t> values = {3, 3, -128, 127, 5, 3};
  const float scales[] = {0.5f, 0.25f};
  const int32_t zeros[] = {3, 5};
  const dh_frame frame = begin_frame(session_, 1);
  for (const char* name : {"hash_tensor", "stats_tensor", "hash_axis", "stats_axis"}) {
    dh_tensor tensor = dh_tensor_default();
    tensor.name = name;
    tensor.dtype = DH_I8;
    tensor.rank = 2;
    tensor.shape[0] = 3;
    tensor.shape[1] = 2;
    tensor.data = values.data();
    const bool per_axis = std::string(name).find("axis") != std::string::npos;
    tensor.quant.kind = per_axis ? DH_QUANT_PER_AXIS : DH_QUANT_PER_TENSOR;
    tensor.quant.axis = 1;
    tensor.quant.count = per_axis ? 2 : 1;
    tensor.quant.scale = scales;
    tensor.quant.zero_point = zeros;
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
  }
  dh_frame_end(session_, frame);
  const Stream stream = close();
  ASSERT_EQ(stream.summaries.size(), 4u);
  for (const auto& summary : stream.summaries) {
    const bool per_axis = summary.name.find("axis") != std::string::npos;
    EXPECT_EQ(summary.scale, per_axis ? std::vector<float>({0.5f, 0.25f}) : std::vector<float>({0.5f})) << summary.name;
    if (!summary.has_statistics) {
      EXPECT_EQ(summary.digest, dumphook::xxh64(values.data(), values.size(), 0));
      continue;
    }
    EXPECT_EQ(summary.zeros, per_axis ? 0u : 3u) << "equal to the zero point";
    EXPECT_EQ(summary.saturated, 2u);
  }
}

TEST_F(LevelsTest, UnderDegrade_WhatFindsNoRoomIsMeasuredInstead_AndCountedAsDegraded) {
  options_.policy = DH_POLICY_DEGRADE;
  collector_.stalled = true;
  open();
  std::vector<float> values(50000, 1.5f);
  const uint64_t frames = 40;
  uint64_t dropped = 0;
  for (uint64_t f = 0; f < frames; ++f) {
    const dh_frame frame = begin_frame(session_, f);
    const dh_tensor tensor = f32_tensor("t", values);
    dropped += dh_capture_by_name(session_, frame, &tensor) == DH_DROPPED;
    dh_frame_end(session_, frame);
  }
  EXPECT_GT(dropped, 5u);
  EXPECT_LT(dropped, frames);
  const dh_counter_values values_now = counters_of(session_);
  EXPECT_EQ(values_now.seen, values_now.shipped + values_now.in_flight + lost_sum(values_now));
  EXPECT_EQ(values_now.lost[DH_LOSS_DEGRADED], dropped);
  collector_.stalled = false;
  const Stream stream = close();
  EXPECT_EQ(stream.tensors.size(), frames - dropped);
  EXPECT_EQ(stream.summaries.size(), dropped);
  for (const auto& summary : stream.summaries) {
    EXPECT_EQ(summary.count, values.size());
    EXPECT_GT(summary.sampled, 0u);
    EXPECT_EQ(summary.mean, 1.5);
    EXPECT_TRUE(stream.lost_in(stream.id_of("t"), summary.frame));
    EXPECT_EQ(stream.frames.at(summary.frame).state, 2u) << "incomplete";
  }
  EXPECT_EQ(stream.counters.back().lost.at(DH_LOSS_DEGRADED), dropped);
  EXPECT_EQ(stream.counters.back().lost_sum(), dropped);
}

}  // namespace
