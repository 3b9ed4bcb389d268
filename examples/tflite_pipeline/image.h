// SPDX-License-Identifier: Apache-2.0
// Photos to model input. All arithmetic is in integers until `normalise`, so every machine gets the same pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
};

// Where a photo lies in the square it was fitted into.
struct Fit {
  double scale;  // square pixels per photo pixel
  int left, top;
};

// Throws std::runtime_error.
Image decode_jpeg(const std::string& path);

// Averages the photo down (or repeats it up) to side x side, keeping its aspect, centred on black.
Image fit_into_square(const Image& photo, int side, Fit* fit);

// 0..255 to -1..1.
std::vector<float> normalise(const Image& image);
