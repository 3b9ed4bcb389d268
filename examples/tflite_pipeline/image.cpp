// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_NO_SIMD  // one decoder for all machines
#include <stb_image.h>

namespace {

// The weighted sum over the source positions that one of `to` equal cells covers along one axis. A cell is `from` units
// long and a source position `to` units, so all overlaps are whole numbers.
struct Cell {
  int first;
  std::vector<int> weights;  // they add up to `from`
};

std::vector<Cell> cells(int from, int to) {
  std::vector<Cell> all;
  for (int64_t i = 0; i < to; ++i) {
    const int64_t begin = i * from, end = begin + from;
    Cell cell{static_cast<int>(begin / to), {}};
    for (int64_t at = cell.first; at * to < end; ++at) {
      cell.weights.push_back(static_cast<int>(std::min(end, (at + 1) * to) - std::max(begin, at * to)));
    }
    all.push_back(cell);
  }
  return all;
}

Image area_average(const Image& from, int width, int height) {
  Image to{width, height, {}};
  const std::vector<Cell> columns = cells(from.width, width), rows = cells(from.height, height);
  const uint64_t total = static_cast<uint64_t>(from.width) * static_cast<uint64_t>(from.height);
  for (const Cell& row : rows) {
    for (const Cell& column : columns) {
      uint64_t sum[3] = {0, 0, 0};
      for (size_t y = 0; y < row.weights.size(); ++y) {
        const size_t line = (static_cast<size_t>(row.first) + y) * static_cast<size_t>(from.width);
        const uint8_t* pixel = &from.rgb[3 * (line + static_cast<size_t>(column.first))];
        for (int weight : column.weights) {
          for (uint64_t& channel : sum) channel += static_cast<uint64_t>(weight * row.weights[y]) * *pixel++;
        }
      }
      for (uint64_t channel : sum) to.rgb.push_back(static_cast<uint8_t>((channel + total / 2) / total));
    }
  }
  return to;
}

}  // namespace

Image decode_jpeg(const std::string& path) {
  Image image;
  int channels = 0;
  stbi_uc* pixels = stbi_load(path.c_str(), &image.width, &image.height, &channels, 3);
  if (!pixels) throw std::runtime_error(path + ": " + stbi_failure_reason());
  image.rgb.assign(pixels, pixels + 3 * static_cast<size_t>(image.width) * static_cast<size_t>(image.height));
  stbi_image_free(pixels);
  return image;
}

Image fit_into_square(const Image& photo, int side, Fit* fit) {
  fit->scale = static_cast<double>(side) / std::max(photo.width, photo.height);
  const int width = std::max(1, static_cast<int>(std::lround(photo.width * fit->scale)));
  const int height = std::max(1, static_cast<int>(std::lround(photo.height * fit->scale)));
  fit->left = (side - width) / 2;
  fit->top = (side - height) / 2;

  const Image small = area_average(photo, width, height);
  Image square{side, side, std::vector<uint8_t>(3 * static_cast<size_t>(side * side), 0)};
  for (int y = 0; y < height; ++y) {
    std::copy_n(&small.rgb[3 * static_cast<size_t>(y * width)], 3 * width,
                &square.rgb[3 * static_cast<size_t>((fit->top + y) * side + fit->left)]);
  }
  return square;
}

std::vector<float> normalise(const Image& image) {
  std::vector<float> values;
  values.reserve(image.rgb.size());
  for (uint8_t value : image.rgb) values.push_back(static_cast<float>(value) / 127.5f - 1.0f);
  return values;
}
