// SPDX-License-Identifier: Apache-2.0
#include "cli/slice.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace dumphook {
namespace {

struct Axis {
  int64_t first = 0, step = 1, count = 0;
  bool kept = true;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.push_back(trimmed(text.substr(begin, end == std::string_view::npos ? end : end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// An absent number is nothing; false when it is no number.
bool read_number(std::string_view text, std::optional<int64_t>* out) {
  if (text.empty()) return true;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *out = value;
  return true;
}

Expected<Axis> read_axis(std::string_view text, int64_t size) {
  const auto wrong = [&text](const std::string& why) {
    return Error{"the slice '" + std::string(text) + "' " + why, "e.g. --slice \"0,:,1:3\""};
  };
  const std::vector<std::string_view> parts = split(text, ':');
  std::optional<int64_t> numbers[3];
  if (parts.size() > 3) return wrong("has too many colons");
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!read_number(parts[i], &numbers[i])) return wrong("is not a number or a range");
  }
  Axis axis;
  if (parts.size() == 1) {
    if (!numbers[0]) return wrong("is empty");
    axis.first = *numbers[0] < 0 ? *numbers[0] + size : *numbers[0];
    if (axis.first < 0 || axis.first >= size) return wrong("lies outside an axis of " + std::to_string(size));
    axis.count = 1;
    axis.kept = false;
    return axis;
  }
  axis.step = numbers[2].value_or(1);
  if (axis.step == 0) return wrong("has the step 0");
  const bool forward = axis.step > 0;
  const int64_t lowest = forward ? 0 : -1, highest = forward ? size : size - 1;
  const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, lowest, highest); };
  axis.first = numbers[0] ? place(*numbers[0]) : (forward ? lowest : highest);
  const int64_t last = numbers[1] ? place(*numbers[1]) : (forward ? highest : lowest);
  const int64_t span = forward ? last - axis.first : axis.first - last;
  // Steps beyond the axis reach one element; without this, -INT64_MIN.
  const int64_t stride = std::clamp(axis.step, -size - 1, size + 1);
  axis.step = stride;
  axis.count = span <= 0 ? 0 : (span - 1) / (forward ? stride : -stride) + 1;
  return axis;
}

}  // namespace

Expected<Slice> parse_slice(const std::string& text, const Shape& shape) {
  std::vector<std::string_view> parts = split(text, ',');
  if (trimmed(text).empty()) parts.clear();
  const size_t named =
      static_cast<size_t>(std::count_if(parts.begin(), parts.end(), [](auto part) { return part != "..."; }));
  if (parts.size() > named + 1) return Error{"a slice has one '...' at most", ""};
  if (named > shape.size()) {
    return Error{"the slice '" + text + "' names " + std::to_string(named) + " axes, and the tensor has " +
                     std::to_string(shape.size()),
                 ""};
  }
  std::vector<Axis> axes;
  const auto whole = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) axes.push_back(Axis{0, 1, shape[axes.size()], true});
  };
  for (const std::string_view part : parts) {
    if (part == "...") {
      whole(shape.size() - named);
      continue;
    }
    Expected<Axis> axis = read_axis(part, shape[axes.size()]);
    if (!axis) return axis.error();
    axes.push_back(*axis);
  }
  whole(shape.size() - axes.size());

  Slice slice;
  uint64_t count = 1;
  for (const Axis& axis : axes) {
    if (axis.kept) slice.shape.push_back(axis.count);
    count *= static_cast<uint64_t>(axis.count);
  }
  slice.elements.reserve(static_cast<size_t>(count));
  // Unsigned: where an axis is empty, the strides of others may wrap.
  std::vector<uint64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<uint64_t>(shape[i]);
  std::vector<int64_t> index(axes.size(), 0);
  for (uint64_t done = 0; done < count; ++done) {
    uint64_t element = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      element += static_cast<uint64_t>(axes[i].first + index[i] * axes[i].step) * strides[i];
    }
    slice.elements.push_back(element);
    for (size_t i = axes.size(); i-- > 0;) {
      if (++index[i] < axes[i].count) break;
      index[i] = 0;
    }
  }
  return slice;
}

}  // namespace dumphook
