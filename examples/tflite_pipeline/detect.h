// SPDX-License-Identifier: Apache-2.0
// What the two outputs of face_detection_full_range mean; the numbers are those of its description in the assets.
#pragma once

#include <string>
#include <vector>

#include "image.h"

constexpr int kInputSide = 192;
constexpr const char* kScoresOutput = "reshaped_classifier_face_4";  // [1, 2304, 1]
constexpr const char* kBoxesOutput = "reshaped_regressor_face_4";    // [1, 2304, 16]

struct Face {
  float x0, y0, x1, y1;  // in photo pixels
  float score;           // 0..1
};

// Faces in order of their score; of those that overlap, the best.
std::vector<Face> find_faces(const std::vector<float>& scores, const std::vector<float>& boxes, const Fit& fit);

// One line per face.
std::string to_text(const std::vector<Face>& faces);
