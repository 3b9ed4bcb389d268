// SPDX-License-Identifier: Apache-2.0
// NumPy's basic slices: "0,:,1:3", "...,-1", "::2".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decode/tensor.h"
#include "source/problem.h"

namespace dumphook {

struct Slice {
  Shape shape;  // of the result; axes taken at one index are gone
  // The result's elements in C order, as positions in the tensor's.
  std::vector<uint64_t> elements;
};

// Of a tensor of this shape; missing axes at the end are taken whole. The error says which part cannot be understood or
// lies outside.
Expected<Slice> parse_slice(const std::string& text, const Shape& shape);

}  // namespace dumphook
