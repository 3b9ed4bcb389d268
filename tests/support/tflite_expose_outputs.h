// SPDX-License-Identifier: Apache-2.0
// The second way to see every layer of a .tflite model: make every node output an output of the model. Needs no hook,
// so it checks the hook; it changes the file and keeps all tensors in memory at once, so it does not replace it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dumphook::test {

// Outputs of all nodes of subgraph 0, in execution order, as tensor indices. `model` is a trusted .tflite file.
std::vector<int32_t> node_outputs(const std::vector<uint8_t>& model);

// The same model with `outputs` as the outputs of subgraph 0. Nothing else changes.
std::vector<uint8_t> with_outputs(std::vector<uint8_t> model, const std::vector<int32_t>& outputs);

}  // namespace dumphook::test
