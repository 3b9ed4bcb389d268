// SPDX-License-Identifier: Apache-2.0
// A libdumphook that only remembers what it was told, for tests of adapters: link it instead of the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dumphook/dumphook.h"

namespace dumphook::test {

struct RecordedTensor {
  dh_frame frame = 0;
  const dh_tap* tap = nullptr;
  std::string model, name, op, raw_type;
  std::vector<std::string> origins;
  dh_role role = DH_ROLE_INTERMEDIATE;
  dh_dtype dtype = DH_RAW;
  dh_layout layout = DH_LAYOUT_ANY;
  std::vector<int64_t> shape;
  dh_quant_kind quant_kind = DH_QUANT_NONE;
  int axis = 0;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  int node_index = -1;
  int slot = 0;
  uint32_t instance = 0;
  std::vector<uint8_t> bytes;
};

// The first of this name, or NULL.
inline const RecordedTensor* find(const std::vector<RecordedTensor>& all, const std::string& name) {
  for (const RecordedTensor& tensor : all) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

struct RecordedNode {
  int index = -1;
  std::string op, backend;
  dh_visibility visibility = DH_VISIBLE;
  std::vector<std::string> inputs, outputs;
};

struct RecordedModel {
  std::string name;
  std::vector<RecordedNode> nodes;
};

}  // namespace dumphook::test

// Complete here, so that a test makes one on its stack.
struct dh_session {
  std::vector<dumphook::test::RecordedTensor> tensors;
  std::vector<dumphook::test::RecordedModel> models;
  bool keep = true;  // false: count only, without allocating
  uint64_t captures = 0;
};
