// SPDX-License-Identifier: Apache-2.0
#include "detect.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace {

constexpr int kGrid = 48, kStride = 4, kBoxValues = 16;  // anchors: one per cell, in its middle
constexpr float kMinScore = 0.5f, kMaxOverlap = 0.3f;

float area(const Face& face) { return (face.x1 - face.x0) * (face.y1 - face.y0); }

float overlap(const Face& a, const Face& b) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (area(a) + area(b) - width * height);
}

Face to_face(int anchor, const float* box, float score, const Fit& fit) {
  const double x = kStride * (anchor % kGrid + 0.5) + box[0], y = kStride * (anchor / kGrid + 0.5) + box[1];
  const auto photo_x = [&fit](double at) { return static_cast<float>((at - fit.left) / fit.scale); };
  const auto photo_y = [&fit](double at) { return static_cast<float>((at - fit.top) / fit.scale); };
  return {photo_x(x - box[2] / 2), photo_y(y - box[3] / 2), photo_x(x + box[2] / 2), photo_y(y + box[3] / 2), score};
}

}  // namespace

std::vector<Face> find_faces(const std::vector<float>& scores, const std::vector<float>& boxes, const Fit& fit) {
  constexpr size_t kAnchors = kGrid * kGrid;
  if (scores.size() != kAnchors || boxes.size() != kAnchors * kBoxValues) {
    throw std::runtime_error("the outputs do not have the shape that this detector expects");
  }
  std::vector<Face> candidates;
  for (int anchor = 0; anchor < kGrid * kGrid; ++anchor) {
    const float score = 1.0f / (1.0f + std::exp(-scores[static_cast<size_t>(anchor)]));
    if (score >= kMinScore)
      candidates.push_back(to_face(anchor, &boxes[static_cast<size_t>(anchor * kBoxValues)], score, fit));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Face& a, const Face& b) { return a.score > b.score; });

  std::vector<Face> faces;
  for (const Face& candidate : candidates) {
    const auto covers = [&candidate](const Face& kept) { return overlap(kept, candidate) >= kMaxOverlap; };
    if (std::none_of(faces.begin(), faces.end(), covers)) faces.push_back(candidate);
  }
  return faces;
}

std::string to_text(const std::vector<Face>& faces) {
  std::string text;
  for (const Face& face : faces) {
    char line[96];
    std::snprintf(line, sizeof line, "face %.3f  [%.0f %.0f %.0f %.0f]\n", face.score, face.x0, face.y0, face.x1,
                  face.y1);
    text += line;
  }
  return text;
}
