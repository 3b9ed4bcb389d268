// SPDX-License-Identifier: Apache-2.0
// What the stream says, read back by an independent reader.
#include "open_session.h"

#include <numeric>

namespace {

using test_reader::Stream;
using test_reader::Tensor;

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override { options_ = callback_options(&collector_); }
  void open() { ASSERT_EQ(dh_open(&options_, &session_), DH_OK) << collector_.log(); }
  Stream close() {
    EXPECT_EQ(dh_close(session_), DH_OK) << collector_.log();
    Stream stream = test_reader::read_stream(collector_.bytes());
    EXPECT_EQ(joined(stream.wrong), "");
    EXPECT_TRUE(stream.sealed);
    EXPECT_EQ(stream.first_seq, 1u);
    return stream;
  }
  void capture(dh_frame frame, const dh_tensor& tensor) {
    ASSERT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_OK);
  }

  Collector collector_;
  dh_options options_;
  dh_session* session_ = nullptr;
};

TEST_F(StreamTest, OfNothing_IsComplete) {
  open();
  const Stream stream = close();
  EXPECT_EQ(stream.metadata.at("session").size(), 32u);
  EXPECT_EQ(stream.metadata.at("stream"), "0");
  EXPECT_EQ(stream.metadata.at("first_stream_seq"), "1");
  EXPECT_TRUE(stream.counters.back().closing);
  EXPECT_EQ(stream.counters.back().seen, 0u);
}

TEST_F(StreamTest, HoldsEveryTensorBitForBit_OfEverySize) {
  options_.flags = DH_FLAG_DIGEST;
  options_.policy = DH_POLICY_BLOCK;
  open();
  const size_t part = options_.part_bytes;
  const std::vector<size_t> sizes = {0,        1,    7,        4095,     4096,         4097,
                                     part - 1, part, part + 1, 3 * part, 3 * part + 5, 700000};
  for (uint64_t f = 0; f < 4; ++f) {
    const dh_frame frame = begin_frame(session_, f);
    for (const size_t size : sizes) {
      const std::string name = "t" + std::to_string(size);
      const std::string bytes = content(name, f, size);
      capture(frame, u8_tensor(name.c_str(), bytes));
    }
    EXPECT_EQ(dh_frame_end(session_, frame), DH_OK);
  }
  const Stream stream = close();
  EXPECT_EQ(stream.tensors.size(), 4 * sizes.size());
  for (const auto& [id, tensor] : stream.tensors) {
    EXPECT_TRUE(tensor.whole()) << tensor.name;
    EXPECT_TRUE(tensor.has_digest);
    EXPECT_EQ(tensor.bytes, content(tensor.name, tensor.frame, tensor.total)) << tensor.name << " of " << tensor.frame;
    for (size_t i = 0; i + 1 < tensor.part_sizes.size(); ++i) EXPECT_EQ(tensor.part_sizes[i], part);
    EXPECT_EQ(tensor.parts, tensor.part_count);
  }
  EXPECT_EQ(stream.descriptors, sizes.size());
  for (const auto& [number, frame] : stream.frames) {
    EXPECT_EQ(frame.begins, 1u);
    EXPECT_EQ(frame.ends, 1u);
    EXPECT_EQ(frame.state, 0u);
    EXPECT_EQ(frame.accepted, sizes.size());
  }
  EXPECT_EQ(stream.counters.back().seen, 4 * sizes.size());
  EXPECT_EQ(stream.counters.back().lost_sum(), 0u);
  EXPECT_EQ(stream.counters.back().frames_ended, 4u);
}

TEST_F(StreamTest, WithoutCompression_IsTheSame) {
  options_.flags = DH_FLAG_NO_COMPRESSION;
  open();
  const std::string bytes = content("t", 1, 200000);
  const dh_frame frame = begin_frame(session_, 1);
  capture(frame, u8_tensor("t", bytes));
  dh_frame_end(session_, frame);
  EXPECT_EQ(close().tensors.at(0).bytes, bytes);
}

TEST_F(StreamTest, DescribesATensorCompletely) {
  open();
  float data[2][3][4];
  std::iota(&data[0][0][0], &data[0][0][0] + 24, 0.0f);
  const float scale[3] = {0.5f, 0.25f, 1.0f};
  const int32_t zero_point[3] = {1, -2, 3};
  const char* origins[] = {"a/conv", "a/bn"};
  dh_tensor tensor = dh_tensor_default();
  tensor.name = "odd/name %\x01\xFF";
  tensor.model = "net";
  tensor.op = "Conv2D";
  tensor.origin_names = origins;
  tensor.origin_count = 2;
  tensor.dtype = DH_F32;
  tensor.role = DH_ROLE_OUTPUT;
  tensor.layout = DH_LAYOUT_NCHW;
  tensor.rank = 3;
  tensor.shape[0] = 2, tensor.shape[1] = 3, tensor.shape[2] = 2;
  tensor.strides[0] = 48, tensor.strides[1] = 16, tensor.strides[2] = 8;
  tensor.logical_rank = 1;
  tensor.logical_shape[0] = 11;
  tensor.data = data;
  tensor.quant.kind = DH_QUANT_PER_AXIS;
  tensor.quant.axis = 1;
  tensor.quant.count = 3;
  tensor.quant.scale = scale;
  tensor.quant.zero_point = zero_point;
  tensor.node_index = 4;
  tensor.output_slot = 1;
  tensor.instance = 9;
  const dh_frame frame = begin_frame(session_, 3);
  capture(frame, tensor);
  dh_frame_end(session_, frame);
  const Stream stream = close();
  ASSERT_EQ(stream.tensors.size(), 1u);
  const Tensor& got = stream.tensors.begin()->second;
  EXPECT_EQ(got.name, tensor.name);
  EXPECT_EQ(got.model, "net");
  EXPECT_EQ(got.op, "Conv2D");
  EXPECT_EQ(got.origin_names, (std::vector<std::string>{"a/conv", "a/bn"}));
  EXPECT_EQ(got.role, uint32_t{DH_ROLE_OUTPUT});
  EXPECT_EQ(got.layout, uint32_t{DH_LAYOUT_NCHW});
  EXPECT_EQ(got.shape, (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(got.logical_shape, (std::vector<int64_t>{11}));
  EXPECT_EQ(got.strides, (std::vector<int64_t>{48, 16, 8}));
  EXPECT_EQ(got.scale, (std::vector<float>{0.5f, 0.25f, 1.0f}));
  EXPECT_EQ(got.zero_point, (std::vector<int32_t>{1, -2, 3}));
  EXPECT_EQ(got.quant_axis, 1);
  EXPECT_EQ(got.node_index, 4);
  EXPECT_EQ(got.output_slot, 1);
  EXPECT_EQ(got.instance, 9u);
  const float* values = reinterpret_cast<const float*>(got.bytes.data());
  const std::vector<float> expected = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22};
  EXPECT_EQ(std::vector<float>(values, values + 12), expected);
}

TEST_F(StreamTest, DescribesAgainWhenSomethingChanges_AndOnlyThen) {
  open();
  const std::string bytes(4096, 'x');
  for (uint64_t f = 0; f < 12; ++f) {
    dh_tensor tensor = u8_tensor("t", bytes);
    tensor.shape[0] = f < 4 ? 100 : f < 8 ? 200 : 100;
    const dh_frame frame = begin_frame(session_, f);
    capture(frame, tensor);
    dh_frame_end(session_, frame);
  }
  const Stream stream = close();
  EXPECT_EQ(stream.descriptors, 3u);
  EXPECT_EQ(stream.tensors.size(), 12u);
}

TEST_F(StreamTest, ManyScalesTravel_AndTheLargestNumberOfThem) {
  open();
  for (const uint32_t count : {1u, 1000u, 8192u}) {
    std::vector<float> scale(count);
    std::vector<int32_t> zero(count);
    for (uint32_t i = 0; i < count; ++i) scale[i] = static_cast<float>(i + 1), zero[i] = static_cast<int32_t>(i) - 5;
    const std::string bytes(count, 'q');
    const std::string name = "q" + std::to_string(count);
    dh_tensor tensor = u8_tensor(name.c_str(), bytes);
    tensor.quant = {DH_QUANT_PER_AXIS, 0, count, 0, scale.data(), zero.data()};
    const dh_frame frame = begin_frame(session_, count);
    capture(frame, tensor);
    dh_frame_end(session_, frame);
  }
  const Stream stream = close();
  for (const auto& [id, tensor] : stream.tensors) {
    ASSERT_EQ(tensor.scale.size(), tensor.total);
    EXPECT_EQ(tensor.scale.back(), static_cast<float>(tensor.total));
    EXPECT_EQ(tensor.zero_point.back(), static_cast<int32_t>(tensor.total) - 6);
  }
}

TEST_F(StreamTest, TellsRepeatsOfANameInAFrameApart) {
  open();
  const std::string bytes = "abc";
  for (uint64_t f = 0; f < 3; ++f) {
    const dh_frame frame = begin_frame(session_, f << 20);
    for (int i = 0; i < 5; ++i) capture(frame, u8_tensor("loop", bytes));
    dh_frame_end(session_, frame);
  }
  const Stream stream = close();
  ASSERT_EQ(stream.tensors.size(), 15u);
  uint64_t n = 0;
  for (const auto& [id, tensor] : stream.tensors) {
    EXPECT_EQ(id, n);
    EXPECT_EQ(tensor.occurrence, n % 5) << "frame " << tensor.frame;
    ++n;
  }
}

TEST_F(StreamTest, FrameNumbersMayBeNanoseconds) {
  open();
  const std::string bytes = "abc";
  for (uint64_t f = 0; f < 200; ++f) {
    const dh_frame frame = begin_frame(session_, 1763725000000000000u + f * 33333333u);
    capture(frame, u8_tensor("t", bytes));
    EXPECT_EQ(dh_frame_end(session_, frame), DH_OK);
    if (f % 32 == 0) dh_flush(session_, 2000);
  }
  const Stream stream = close();
  ASSERT_EQ(stream.tensors.size(), 200u);
  for (const auto& [id, tensor] : stream.tensors) {
    EXPECT_EQ(tensor.frame, 1763725000000000000u + id * 33333333u);
    EXPECT_EQ(tensor.occurrence, 0u);
  }
}

TEST_F(StreamTest, FramesOverlap) {
  open();
  const std::string bytes = "abc";
  std::vector<dh_frame> frames;
  for (uint64_t f = 0; f < 60; ++f) frames.push_back(begin_frame(session_, f));
  for (int round = 0; round < 3; ++round) {
    for (const dh_frame frame : frames) capture(frame, u8_tensor("t", bytes));
  }
  for (size_t i = frames.size(); i-- > 0;) EXPECT_EQ(dh_frame_end(session_, frames[i]), DH_OK);
  const Stream stream = close();
  ASSERT_EQ(stream.frames.size(), 60u);
  for (const auto& [number, frame] : stream.frames) EXPECT_EQ(frame.accepted, 3u);
}

TEST_F(StreamTest, TheOldestOfTooManyFramesIsAbandoned_AndWhatComesLateIsCounted) {
  open();
  const std::string bytes = "abc";
  std::vector<dh_frame> frames;
  for (uint64_t f = 0; f < 65; ++f) {
    frames.push_back(begin_frame(session_, f));
    capture(frames.back(), u8_tensor("t", bytes));
  }
  const dh_tensor late = u8_tensor("t", bytes);
  EXPECT_EQ(dh_capture_by_name(session_, frames[0], &late), DH_DROPPED);
  EXPECT_EQ(dh_capture_by_name(session_, frames[1], &late), DH_OK);
  for (size_t i = 1; i < frames.size(); ++i) dh_frame_end(session_, frames[i]);
  EXPECT_EQ(dh_capture_by_name(session_, frames[5], &late), DH_DROPPED);
  const Stream stream = close();
  EXPECT_EQ(stream.frames.at(0).state, 1u);
  EXPECT_EQ(stream.frames.at(1).state, 0u);
  EXPECT_EQ(stream.counters.back().lost.at(DH_LOSS_ABANDONED), 2u);
  EXPECT_TRUE(stream.lost_in(stream.id_of("t"), 0));
  EXPECT_TRUE(stream.lost_in(stream.id_of("t"), 5));
}

TEST_F(StreamTest, OpenFramesAreAbandonedAtClose) {
  open();
  const std::string bytes = "abc";
  capture(begin_frame(session_, 1), u8_tensor("t", bytes));
  const Stream stream = close();
  EXPECT_EQ(stream.frames.at(1).state, 1u);
  EXPECT_EQ(stream.frames.at(1).accepted, 1u);
}

TEST_F(StreamTest, SelectsFrames_AndSaysNothingOfTheOthers) {
  options_.every_nth = 3;
  options_.first_n = 4;
  open();
  const std::string bytes = "abc";
  for (uint64_t f = 0; f < 30; ++f) {
    const dh_frame frame = begin_frame(session_, f);
    const dh_tensor tensor = u8_tensor("t", bytes);
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), f % 3 == 0 && f < 12 ? DH_OK : DH_SKIPPED) << f;
    EXPECT_EQ(dh_frame_end(session_, frame), DH_OK);
  }
  const Stream stream = close();
  EXPECT_EQ(stream.frames.size(), 4u);
  EXPECT_EQ(stream.counters.back().seen, 4u);
  EXPECT_EQ(stream.counters.back().frames_begun, 4u);
}

TEST_F(StreamTest, TooManyNamesAreCountedForNobody) {
  options_.max_tensors = 4;
  open();
  const std::string bytes = "abc";
  const dh_frame frame = begin_frame(session_, 7);
  for (int i = 0; i < 10; ++i) {
    const std::string name = "t" + std::to_string(i);
    const dh_tensor tensor = u8_tensor(name.c_str(), bytes);
    EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), i < 4 ? DH_OK : DH_DROPPED);
  }
  dh_frame_end(session_, frame);
  const Stream stream = close();
  EXPECT_EQ(stream.tensors.size(), 4u);
  EXPECT_EQ(stream.frames.at(7).lost.at(DH_LOSS_TOO_MANY_TENSORS), 6u);
  EXPECT_EQ(stream.lost(0xFFFFFFFFu), 6u);
}

TEST_F(StreamTest, TooBigTensorsAreNamed_WithThePoolTheyNeed) {
  open();
  const std::string bytes(options_.raw_pool_bytes + 1, 'x');
  const dh_frame frame = begin_frame(session_, 7);
  const dh_tensor tensor = u8_tensor("big", bytes);
  EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_DROPPED);
  dh_frame_end(session_, frame);
  const Stream stream = close();
  ASSERT_EQ(stream.losses.size(), 1u);
  EXPECT_EQ(stream.losses[0].reason, uint32_t{DH_LOSS_TOO_BIG});
  EXPECT_EQ(stream.losses[0].pool_bytes_needed, options_.raw_pool_bytes + 1);
  EXPECT_EQ(stream.frames.at(7).state, 2u);
}

TEST_F(StreamTest, UnderBlock_TensorsFarLargerThanThePoolAreWhole) {
  options_.policy = DH_POLICY_BLOCK;
  options_.block_timeout_ms = 20000;
  options_.raw_pool_bytes = 256 << 10;
  options_.flags = DH_FLAG_DIGEST;
  open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this, t] {
      for (uint64_t f = 0; f < 5; ++f) {
        const dh_frame frame = begin_frame(session_, f * 3 + static_cast<uint64_t>(t));
        const std::string name = "big" + std::to_string(t);
        const std::string bytes = content(name, f * 3 + static_cast<uint64_t>(t), 1500000);
        std::vector<float> scale(1, 0.5f);
        dh_tensor tensor = u8_tensor(name.c_str(), bytes);
        tensor.quant = {DH_QUANT_PER_TENSOR, 0, 1, 0, scale.data(), nullptr};
        capture(frame, tensor);
        dh_frame_end(session_, frame);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Stream stream = close();
  ASSERT_EQ(stream.tensors.size(), 15u);
  for (const auto& [id, tensor] : stream.tensors) {
    EXPECT_TRUE(tensor.whole());
    EXPECT_EQ(tensor.bytes, content(tensor.name, tensor.frame, 1500000));
    EXPECT_EQ(tensor.scale, std::vector<float>{0.5f});
    EXPECT_EQ(stream.frames.at(tensor.frame).accepted, 1u);
  }
}

TEST_F(StreamTest, UnderBlock_ATensorThatMeetsItsDeadlineIsTruncated_AndCounted) {
  options_.policy = DH_POLICY_BLOCK;
  options_.block_timeout_ms = 60;
  options_.raw_pool_bytes = 256 << 10;
  options_.spool_bytes = 256 << 10;
  open();
  collector_.stalled = true;
  const std::string bytes = content("big", 1, 3000000);
  const dh_frame frame = begin_frame(session_, 1);
  const dh_tensor tensor = u8_tensor("big", bytes);
  const uint64_t before = now_ms();
  EXPECT_EQ(dh_capture_by_name(session_, frame, &tensor), DH_DROPPED);
  EXPECT_LT(now_ms() - before, 1000u);
  dh_frame_end(session_, frame);
  collector_.stalled = false;
  const std::string small = "abc";
  const dh_frame next = begin_frame(session_, 2);
  ASSERT_TRUE(soon([&] { return dh_flush(session_, 10) == DH_OK; }));
  capture(next, u8_tensor("small", small));
  dh_frame_end(session_, next);
  const Stream stream = close();
  EXPECT_EQ(stream.counters.back().lost.at(DH_LOSS_POOL_FULL), 1u);
  EXPECT_EQ(stream.frames.at(1).accepted, 0u);
  EXPECT_EQ(stream.frames.at(1).state, 2u);
  for (const Tensor* part : stream.of("big")) {
    EXPECT_FALSE(part->whole());
    EXPECT_EQ(part->bytes.compare(0, part->have, bytes, 0, part->have), 0) << "what there is, is right";
  }
  EXPECT_EQ(stream.of("small").size(), 1u);
}

TEST_F(StreamTest, IsTheSameHoweverTheSinkTakesIt) {
  collector_.most_at_once = 13;
  open();
  const std::string bytes = content("t", 1, 20000);
  const dh_frame frame = begin_frame(session_, 1);
  capture(frame, u8_tensor("t", bytes));
  dh_frame_end(session_, frame);
  const Stream stream = close();
  ASSERT_EQ(stream.tensors.size(), 1u);
  EXPECT_EQ(stream.tensors.at(0).bytes, bytes);
}

TEST_F(StreamTest, ASelectorThatMatchesNothingIsReported) {
  options_.include = "t, conv[0-9]";
  open();
  const std::string bytes = "abc";
  const dh_frame frame = begin_frame(session_, 1);
  capture(frame, u8_tensor("t", bytes));
  dh_frame_end(session_, frame);
  const Stream stream = close();
  ASSERT_EQ(stream.logs.size(), 1u);
  EXPECT_NE(stream.logs[0].find("conv[0-9]"), std::string::npos);
}

TEST_F(StreamTest, ClosingCountersOfManyTensorsCloseOnce) {
  options_.max_tensors = 300;
  open();
  const std::string bytes = "abc";
  const dh_frame frame = begin_frame(session_, 1);
  for (int i = 0; i < 200; ++i) capture(frame, u8_tensor(("t" + std::to_string(i)).c_str(), bytes));
  dh_frame_end(session_, frame);
  const Stream stream = close();
  size_t closing = 0, tensors = 0;
  for (const auto& counters : stream.counters) closing += counters.closing, tensors += counters.tensors;
  EXPECT_EQ(closing, 1u);
  EXPECT_EQ(tensors, 200u);
  EXPECT_TRUE(stream.counters.back().closing);
}

}  // namespace
