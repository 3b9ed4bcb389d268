// SPDX-License-Identifier: Apache-2.0
#include "align/arrangement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "decode/dtype.h"

namespace dumphook {
namespace {

Shape without_ones(const Shape& shape) {
  Shape rest;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest), [](int64_t length) { return length != 1; });
  return rest;
}

Shape permuted(const Shape& shape, const std::vector<int>& axes) {
  Shape result;
  for (int axis : axes) result.push_back(shape[static_cast<size_t>(axis)]);
  return result;
}

// Of an image without its batch axis: HWC to CHW and back. `batch` axes stay in front.
std::vector<int> image_axes(size_t batch, bool to_channels_first) {
  std::vector<int> axes(batch);
  std::iota(axes.begin(), axes.end(), 0);
  const std::array<int, 3> order = to_channels_first ? std::array<int, 3>{2, 0, 1} : std::array<int, 3>{1, 2, 0};
  for (int axis : order) axes.push_back(static_cast<int>(batch) + axis);
  return axes;
}

bool is_image_layout(Layout layout) { return layout == Layout::nchw || layout == Layout::nhwc; }

const char* name_of(bool channels_first) { return channels_first ? "NCHW" : "NHWC"; }

// The target's axes for `channels_first` golden, if that makes the shapes agree.
std::optional<std::vector<int>> transposition(const Shape& target, const Shape& golden, bool golden_channels_first) {
  if (target.size() != 3 && target.size() != 4) return {};
  auto axes = image_axes(target.size() - 3, golden_channels_first);
  if (without_ones(permuted(target, axes)) != without_ones(golden)) return {};
  return axes;
}

// values of `shape`, cut to the leading `inner` corner.
std::vector<double> cut(const std::vector<double>& values, const Shape& shape, const Shape& inner) {
  std::vector<double> result;
  const size_t count = static_cast<size_t>(element_count(inner).value_or(0));
  if (count == 0) return result;
  result.reserve(count);
  Shape index(shape.size(), 0);
  for (;;) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) offset = offset * shape[axis] + index[axis];
    const int64_t run = shape.empty() ? 1 : inner.back();
    result.insert(result.end(), values.begin() + offset, values.begin() + offset + run);
    size_t axis = shape.empty() ? 0 : shape.size() - 1;
    while (axis > 0 && ++index[axis - 1] == inner[axis - 1]) index[--axis] = 0;
    if (axis == 0) return result;
  }
}

bool is_blocked(Layout layout, const Shape& shape) {
  return shape.size() == 5 && (layout == Layout::nc4hw4 || layout == Layout::nc1hwc2 || layout == Layout::nc1hwc0);
}

bool is_padded(const Shape& shape, const Shape& logical) {
  return !logical.empty() && logical != shape && logical.size() == shape.size() &&
         std::equal(logical.begin(), logical.end(), shape.begin(),
                    [](int64_t in, int64_t all) { return in >= 0 && in <= all; });
}

}  // namespace

Arrangement arrange(const Shape& target, Layout target_layout, const Shape& golden, Layout golden_layout) {
  Arrangement result;
  const bool declared =
      is_image_layout(target_layout) && is_image_layout(golden_layout) && target_layout != golden_layout;
  if (declared) {
    const bool golden_channels_first = golden_layout == Layout::nchw;
    if (auto axes = transposition(target, golden, golden_channels_first)) {
      result.target_axes = *axes;
      result.note = fmt::format("transposed {} to {}", name_of(!golden_channels_first), name_of(golden_channels_first));
      return result;
    }
  }
  if (without_ones(target) == without_ones(golden)) {
    if (declared) result.note = "declared layouts differ, shapes do not: compared as they lie";
    return result;
  }
  for (bool golden_channels_first : {true, false})
    if (auto axes = transposition(target, golden, golden_channels_first)) {
      result.target_axes = *axes;
      result.note = fmt::format("transposed {} to {}, judging by the shapes", name_of(!golden_channels_first),
                                name_of(golden_channels_first));
      return result;
    }
  result.possible = false;
  result.note =
      fmt::format("shape {} against {}{}", shape_text(target), shape_text(golden),
                  element_count(target) == element_count(golden) ? ", as many elements in another order" : "");
  return result;
}

std::vector<double> permute(const std::vector<double>& values, const Shape& shape, const std::vector<int>& axes) {
  const size_t rank = shape.size();
  Shape strides(rank, 1);
  for (size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  const Shape out_shape = permuted(shape, axes), step = permuted(strides, axes);
  std::vector<double> result;
  result.reserve(values.size());
  if (values.empty() || rank == 0) return values;
  Shape index(rank, 0);
  for (;;) {
    int64_t offset = 0;
    for (size_t axis = 0; axis + 1 < rank; ++axis) offset += index[axis] * step[axis];
    for (int64_t i = 0; i < out_shape[rank - 1]; ++i)
      result.push_back(values[static_cast<size_t>(offset + i * step[rank - 1])]);
    size_t axis = rank - 1;
    while (axis > 0 && ++index[axis - 1] == out_shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return result;
  }
}

bool lies_unpacked(const Descriptor& d, uint64_t count) {
  return element_count(d.shape) == count && !is_blocked(d.layout, d.shape) && !is_padded(d.shape, d.logical_shape);
}

Unpacked unpack(std::vector<double> values, const Descriptor& descriptor) {
  Unpacked out{std::move(values), descriptor.shape, descriptor.layout, {}};
  const Shape& logical = descriptor.logical_shape;
  if (element_count(out.shape) != out.values.size()) {
    out.note = fmt::format("shape {} does not fit {} values", shape_text(out.shape), out.values.size());
    out.shape = {static_cast<int64_t>(out.values.size())};
    return out;
  }
  if (is_blocked(out.layout, out.shape)) {
    const Shape s = out.shape;  // N, C1, H, W, C0
    out.values = permute(out.values, s, {0, 1, 4, 2, 3});
    out.shape = {s[0], s[1] * s[4], s[2], s[3]};
    out.layout = Layout::nchw;
    out.note = "channel blocks unpacked";
  }
  if (is_padded(out.shape, logical)) {
    out.values = cut(out.values, out.shape, logical);
    out.note += fmt::format("{}padding cut, {} to {}", out.note.empty() ? "" : "; ", shape_text(out.shape),
                            shape_text(logical));
    out.shape = logical;
  }
  return out;
}

}  // namespace dumphook
