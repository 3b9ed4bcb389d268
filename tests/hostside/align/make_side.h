// SPDX-License-Identifier: Apache-2.0
// Sides and tensors made by hand, for the tests of align, compare and report.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "align/side.h"

namespace dumphook {

template <class T>
Tensor make_tensor(const std::string& name, Shape shape, const std::vector<T>& values) {
  Tensor tensor;
  tensor.descriptor.name = name;
  tensor.descriptor.shape = std::move(shape);
  if constexpr (std::is_same_v<T, float>)
    tensor.descriptor.dtype = DType::f32;
  else if constexpr (std::is_same_v<T, int8_t>)
    tensor.descriptor.dtype = DType::i8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    tensor.descriptor.dtype = DType::u8;
  else if constexpr (std::is_same_v<T, int64_t>)
    tensor.descriptor.dtype = DType::i64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    tensor.descriptor.dtype = DType::u64;
  tensor.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

inline Tensor make_tensor(const std::string& name, const std::vector<float>& values = {1, 2, 3}) {
  return make_tensor<float>(name, {static_cast<int64_t>(values.size())}, values);
}

inline Tensor make_text(const std::string& name, const std::string& text) {
  Tensor tensor = make_tensor<uint8_t>(name, {static_cast<int64_t>(text.size())}, {text.begin(), text.end()});
  tensor.descriptor.layout = Layout::text;
  return tensor;
}

inline SideTensor make_side_tensor(Tensor tensor) {
  SideTensor result;
  result.descriptor = tensor.descriptor;
  result.load = [tensor = std::move(tensor)] { return tensor; };
  return result;
}

inline Side make_side(std::vector<Tensor> tensors, bool order_known = false) {
  Side side;
  side.order_known = order_known;
  side.label = "made";
  side.coverage.frame_state = "complete";
  side.coverage.seen = side.coverage.captured = tensors.size();
  for (Tensor& tensor : tensors) side.tensors.push_back(make_side_tensor(std::move(tensor)));
  return side;
}

}  // namespace dumphook
