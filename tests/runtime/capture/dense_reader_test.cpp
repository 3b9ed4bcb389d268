// SPDX-License-Identifier: Apache-2.0
#include "capture/dense_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace dumphook {
namespace {

dh_tensor tensor_of(uint32_t dtype, const std::vector<int64_t>& shape, const void* data,
                    const std::vector<int64_t>& strides = {}) {
  dh_tensor tensor = dh_tensor_default();
  tensor.name = "t";
  tensor.dtype = dtype;
  tensor.rank = static_cast<uint32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  std::copy(strides.begin(), strides.end(), tensor.strides);
  tensor.data = data;
  return tensor;
}

// In steps of random length, as blocks would ask for it.
std::string read_all(const dh_tensor& tensor, unsigned seed = 0) {
  DenseReader reader;
  EXPECT_EQ(reader.open(tensor), DH_OK);
  std::string out(reader.total_bytes(), '?');
  std::mt19937 random(seed);
  for (size_t at = 0; at < out.size();) {
    const size_t step = std::min<size_t>(1 + random() % 50, out.size() - at);
    reader.read(reinterpret_cast<uint8_t*>(&out[at]), step);
    at += step;
  }
  return out;
}

Status open_status(const dh_tensor& tensor) { return DenseReader().open(tensor); }

// One element after the other, each by its own address.
std::string naive_gather(const dh_tensor& tensor, size_t element_bytes) {
  std::string out;
  int64_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  for (int64_t n = 0; n < count; ++n) {
    int64_t rest = n, offset = 0;
    for (uint32_t i = tensor.rank; i-- > 0;) {
      offset += rest % tensor.shape[i] * tensor.strides[i];
      rest /= tensor.shape[i];
    }
    out.append(static_cast<const char*>(tensor.data) + offset, element_bytes);
  }
  return out;
}

TEST(DenseReader, ReadsADenseTensorAsItIs) {
  std::vector<float> data(60);
  std::iota(data.begin(), data.end(), 1.0f);
  const dh_tensor tensor = tensor_of(DH_F32, {3, 4, 5}, data.data());
  EXPECT_EQ(read_all(tensor), std::string(reinterpret_cast<char*>(data.data()), 240));
}

TEST(DenseReader, GathersRandomStrides_AsANaiveLoopDoes) {
  std::mt19937 random(7);
  std::vector<uint8_t> memory(1 << 16);
  for (auto& byte : memory) byte = static_cast<uint8_t>(random());
  const std::pair<uint32_t, int64_t> types[] = {{DH_U8, 1}, {DH_F16, 2}, {DH_F32, 4}, {DH_F64, 8}, {DH_RAW, 1}};
  for (int round = 0; round < 3000; ++round) {
    const auto [dtype, bytes] = types[random() % 5];
    const size_t rank = 1 + random() % 5;
    std::vector<int64_t> shape(rank), strides(rank);
    // A dense layout in a random order of axes, with padding, some axes backwards, some broadcast.
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    int64_t step = bytes, start = 0;
    for (const size_t axis : order) {
      shape[axis] = 1 + static_cast<int64_t>(random() % 5);
      strides[axis] = step;
      step *= shape[axis];
      if (random() % 3 == 0) step += bytes * static_cast<int64_t>(random() % 4);
      if (random() % 4 == 0) {
        start += strides[axis] * (shape[axis] - 1);
        strides[axis] = -strides[axis];
      } else if (random() % 8 == 0) {
        strides[axis] = 0;
      }
    }
    if (std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; })) continue;  // means dense
    ASSERT_LT(step, static_cast<int64_t>(memory.size()));
    const dh_tensor tensor = tensor_of(dtype, shape, memory.data() + start, strides);
    ASSERT_EQ(read_all(tensor, static_cast<unsigned>(round)), naive_gather(tensor, static_cast<size_t>(bytes)))
        << "round " << round;
  }
}

TEST(DenseReader, IgnoresTheStrideOfAnAxisOfOneElement) {
  const char data[] = "abcdefgh";
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(read_all(tensor_of(DH_U8, {1, 2, 1, 2}, data, {kAny, 4, -kAny, 1})), "abef");
}

TEST(DenseReader, OfNoElementsReadsNothing_WithoutData) {
  DenseReader reader;
  EXPECT_EQ(reader.open(tensor_of(DH_F32, {3, 0, 5}, nullptr)), DH_OK);
  EXPECT_EQ(reader.total_bytes(), 0u);
  DenseReader strided;
  EXPECT_EQ(strided.open(tensor_of(DH_F32, {0, 2}, nullptr, {8, 4})), DH_OK);
  EXPECT_EQ(strided.total_bytes(), 0u);
}

TEST(DenseReader, OfRankZeroReadsOneElement) {
  const double value = 2.5;
  EXPECT_EQ(read_all(tensor_of(DH_F64, {}, &value)), std::string(reinterpret_cast<const char*>(&value), 8));
}

TEST(DenseReader, RoundsFourBitTensorsUp_AndRefusesStridesForThem) {
  const uint8_t data[] = {0x21, 0x43, 0x05};
  EXPECT_EQ(read_all(tensor_of(DH_I4, {5}, data)), std::string("\x21\x43\x05"));
  EXPECT_EQ(open_status(tensor_of(DH_U4, {5}, data, {1})), DH_ERR_TENSOR);
}

TEST(DenseReader, ReadsThePlanesOfNv12WithoutRowPadding) {
  const uint32_t w = 6, h = 4, pitch = 16;
  std::vector<uint8_t> y(pitch * h, 0xEE), uv(pitch * h / 2, 0xEE);
  std::string expected;
  for (uint32_t r = 0; r < h; ++r) {
    for (uint32_t c = 0; c < w; ++c) y[r * pitch + c] = static_cast<uint8_t>(r * 10 + c);
    expected.append(reinterpret_cast<char*>(&y[r * pitch]), w);
  }
  for (uint32_t r = 0; r < h / 2; ++r) {
    for (uint32_t c = 0; c < w; ++c) uv[r * pitch + c] = static_cast<uint8_t>(100 + r * 10 + c);
    expected.append(reinterpret_cast<char*>(&uv[r * pitch]), w);
  }
  dh_tensor tensor = tensor_of(DH_U8, {h * 3 / 2, w}, nullptr);
  tensor.layout = DH_LAYOUT_NV12;
  tensor.plane_count = 2;
  tensor.planes[0] = {y.data(), pitch, w, h};
  tensor.planes[1] = {uv.data(), pitch, w, h / 2};
  for (unsigned seed = 0; seed < 20; ++seed) EXPECT_EQ(read_all(tensor, seed), expected);
}

TEST(DenseReader, SkipsEmptyPlanes) {
  const char data[] = "xyz";
  dh_tensor tensor = tensor_of(DH_U8, {3}, nullptr);
  tensor.plane_count = 3;
  tensor.planes[0] = {nullptr, 0, 0, 5};
  tensor.planes[1] = {data, 0, 1, 3};
  tensor.planes[2] = {nullptr, 8, 8, 0};
  EXPECT_EQ(read_all(tensor), "xyz");
}

TEST(DenseReader, RefusesWhatContradictsItself) {
  const float data[64] = {};
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(open_status(tensor_of(DH_F32, {2, -1}, data)), DH_ERR_TENSOR);
  EXPECT_EQ(open_status(tensor_of(DH_F32, {huge, huge}, data)), DH_ERR_TENSOR);
  EXPECT_EQ(open_status(tensor_of(DH_F64, {huge / 4}, data)), DH_ERR_TENSOR);
  EXPECT_EQ(open_status(tensor_of(DH_F32, {4}, nullptr)), DH_ERR_TENSOR);
  EXPECT_EQ(open_status(tensor_of(DH_F32, {3, 3}, data, {huge, 4})), DH_ERR_TENSOR);

  dh_tensor short_data = tensor_of(DH_F32, {4}, data);
  short_data.data_bytes = 15;
  EXPECT_EQ(open_status(short_data), DH_ERR_TENSOR);
  short_data.data_bytes = 16;
  EXPECT_EQ(open_status(short_data), DH_OK);

  dh_tensor strided = tensor_of(DH_F32, {4, 2}, data, {16, 4});
  strided.data_bytes = 55;
  EXPECT_EQ(open_status(strided), DH_ERR_TENSOR);
  strided.data_bytes = 56;
  EXPECT_EQ(open_status(strided), DH_OK);
  strided.strides[0] = -16;
  EXPECT_EQ(open_status(strided), DH_ERR_TENSOR) << "data_bytes are counted from data on";

  dh_tensor plane = tensor_of(DH_U8, {4}, nullptr);
  plane.plane_count = 1;
  plane.planes[0] = {data, 3, 4, 1};
  EXPECT_EQ(open_status(plane), DH_ERR_TENSOR) << "rows overlap";
  plane.planes[0] = {nullptr, 0, 4, 1};
  EXPECT_EQ(open_status(plane), DH_ERR_TENSOR);
  plane.planes[0] = {data, 0, UINT64_MAX / 2, 3};
  EXPECT_EQ(open_status(plane), DH_ERR_TENSOR);

  dh_tensor logical = tensor_of(DH_F32, {4}, data);
  logical.logical_rank = 1;
  logical.logical_shape[0] = -4;
  EXPECT_EQ(open_status(logical), DH_ERR_TENSOR);
}

TEST(DenseReader, RefusesValuesThatAreNotOfTheirEnumeration) {
  const float data[4] = {};
  EXPECT_EQ(open_status(tensor_of(18, {4}, data)), DH_ERR_ARGUMENT);
  dh_tensor tensor = tensor_of(DH_F32, {4}, data);
  tensor.rank = DH_MAX_RANK + 1;
  EXPECT_EQ(open_status(tensor), DH_ERR_ARGUMENT);
  tensor = tensor_of(DH_F32, {4}, data);
  tensor.logical_rank = DH_MAX_RANK + 1;
  EXPECT_EQ(open_status(tensor), DH_ERR_ARGUMENT);
  tensor = tensor_of(DH_F32, {4}, data);
  tensor.plane_count = DH_MAX_PLANES + 1;
  EXPECT_EQ(open_status(tensor), DH_ERR_ARGUMENT);
  tensor = tensor_of(DH_F32, {4}, data);
  tensor.role = 5;
  EXPECT_EQ(open_status(tensor), DH_ERR_ARGUMENT);
  tensor = tensor_of(DH_F32, {4}, data);
  tensor.layout = 11;
  EXPECT_EQ(open_status(tensor), DH_ERR_ARGUMENT);
  tensor = tensor_of(DH_F32, {4}, data);
  tensor.quant.kind = 3;
  EXPECT_EQ(open_status(tensor), DH_ERR_ARGUMENT);
}

TEST(DenseReader, RefusesQuantizationThatDoesNotFitTheShape) {
  const uint8_t data[8] = {};
  const float scale[8] = {};
  dh_tensor tensor = tensor_of(DH_U8, {2, 4}, data);
  tensor.quant.kind = DH_QUANT_PER_AXIS;
  tensor.quant.axis = 1;
  tensor.quant.count = 4;
  tensor.quant.scale = scale;
  EXPECT_EQ(open_status(tensor), DH_OK);
  tensor.quant.axis = 0;
  EXPECT_EQ(open_status(tensor), DH_ERR_TENSOR);
  tensor.quant.axis = 2;
  EXPECT_EQ(open_status(tensor), DH_ERR_TENSOR);
  tensor.quant.axis = -1;
  EXPECT_EQ(open_status(tensor), DH_ERR_TENSOR);
  tensor.quant = {};
  tensor.quant.kind = DH_QUANT_PER_TENSOR;
  tensor.quant.count = 1;
  EXPECT_EQ(open_status(tensor), DH_ERR_TENSOR) << "no scale";
  tensor.quant.scale = scale;
  EXPECT_EQ(open_status(tensor), DH_OK);
  tensor.quant.count = 2;
  EXPECT_EQ(open_status(tensor), DH_ERR_TENSOR);
  tensor.quant.kind = DH_QUANT_PER_AXIS;
  tensor.quant.count = kMaxQuantCount + 1;
  EXPECT_EQ(open_status(tensor), DH_ERR_LIMIT);
}

}  // namespace
}  // namespace dumphook
