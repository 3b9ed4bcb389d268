// SPDX-License-Identifier: Apache-2.0
// The activations that all benchmarks measure with: what run.sh captured from real models, as FOLDER/MODEL/*.npy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace bench {

struct Tensor {
  std::string model, name;
  uint32_t dtype;
  std::vector<uint8_t> bytes;

  dumphook::ConstBytes span() const { return {bytes.data(), bytes.size()}; }
};
using Tensors = std::vector<Tensor>;

// All tensors of DH_F32 and DH_I8 below `folder`, at most `model_bytes` of each model, spread over its layers. Ends the
// program with a message when there are none.
Tensors load_corpus(const std::string& folder, size_t model_bytes);
// A few numbers like activations, for runs that only show that a benchmark works.
Tensors made_up_corpus();

Tensors of_type(const Tensors& tensors, uint32_t dtype);
// Each DH_F32 tensor rounded to DH_F16 or DH_BF16, to nearest even.
Tensors rounded(const Tensors& tensors, uint32_t dtype);

size_t total_bytes(const Tensors& tensors);
size_t element_bytes(uint32_t dtype);

// What Google Benchmark left of the command line: --quick, or the corpus's folder.
Tensors corpus_of(int argc, char** argv, size_t model_bytes);

}  // namespace bench
