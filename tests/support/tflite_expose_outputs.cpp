// SPDX-License-Identifier: Apache-2.0
#include "tflite_expose_outputs.h"

#include <cstring>

namespace dumphook::test {
namespace {

// Field numbers in TFLite's schema.fbs.
constexpr int kModelSubgraphs = 2, kSubgraphOutputs = 2, kSubgraphOperators = 3, kOperatorOutputs = 2;

template <typename T>
T load(const std::vector<uint8_t>& file, size_t at) {
  T value;
  std::memcpy(&value, &file.at(at + sizeof(T) - 1) - (sizeof(T) - 1), sizeof value);
  return value;
}

size_t follow(const std::vector<uint8_t>& file, size_t at) { return at + load<uint32_t>(file, at); }

// Where the offset in this field of a table is stored.
size_t field(const std::vector<uint8_t>& file, size_t table, int number) {
  const size_t vtable = table - static_cast<size_t>(load<int32_t>(file, table));
  return table + load<uint16_t>(file, vtable + 4 + 2 * static_cast<size_t>(number));
}

size_t main_subgraph(const std::vector<uint8_t>& file) {
  const size_t subgraphs = follow(file, field(file, follow(file, 0), kModelSubgraphs));
  return follow(file, subgraphs + 4);
}

}  // namespace

std::vector<int32_t> node_outputs(const std::vector<uint8_t>& model) {
  std::vector<int32_t> all;
  const size_t operators = follow(model, field(model, main_subgraph(model), kSubgraphOperators));
  for (size_t i = 0; i < load<uint32_t>(model, operators); ++i) {
    const size_t outputs = follow(model, field(model, follow(model, operators + 4 + 4 * i), kOperatorOutputs));
    for (size_t slot = 0; slot < load<uint32_t>(model, outputs); ++slot) {
      all.push_back(load<int32_t>(model, outputs + 4 + 4 * slot));
    }
  }
  return all;
}

// Offsets in a FlatBuffer point forward, so the new vector goes at the end of the file.
std::vector<uint8_t> with_outputs(std::vector<uint8_t> model, const std::vector<int32_t>& outputs) {
  const size_t place = field(model, main_subgraph(model), kSubgraphOutputs);
  model.resize((model.size() + 3) / 4 * 4);
  const size_t vector_at = model.size();
  const auto count = static_cast<uint32_t>(outputs.size());
  const auto offset = static_cast<uint32_t>(vector_at - place);
  model.resize(vector_at + 4 + 4 * outputs.size());
  std::memcpy(&model[vector_at], &count, 4);
  std::memcpy(&model[vector_at + 4], outputs.data(), 4 * outputs.size());
  std::memcpy(&model[place], &offset, 4);
  return model;
}

}  // namespace dumphook::test
