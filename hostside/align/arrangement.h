// SPDX-License-Identifier: Apache-2.0
// Arrangement: how the target's axes lie against the golden's, so that element i of one belongs to element i of the
// other.
#pragma once

#include <string>
#include <vector>

#include "decode/tensor.h"

namespace dumphook {

struct Arrangement {
  bool possible = true;
  std::vector<int> target_axes;  // permutation that brings the target into the golden's order; empty: as it lies
  std::string note;              // what was done, or why it is not possible; empty: nothing worth a word
};

// Shapes are those of unpack()ed values. Declared layouts (NCHW, NHWC) decide first; where they are silent, equal
// shapes lie alike, and shapes that are NHWC and NCHW of each other are transposed. Axes of length 1 are ignored.
Arrangement arrange(const Shape& target, Layout target_layout, const Shape& golden, Layout golden_layout);

struct Unpacked {
  std::vector<double> values;  // C order of shape
  Shape shape;
  Layout layout = Layout::any;  // nchw where the bytes were channel-blocked
  std::string note;
};

// Real values without what only the board needs: channel blocks (NC4HW4, NC1HWC2, NC1HWC0) become NCHW, and what lies
// outside logical_shape is cut off. Where there are more or fewer values than the shape says, the shape is [count].
Unpacked unpack(std::vector<double> values, const Descriptor& descriptor);
// unpack() would give the values as they are, in the descriptor's shape.
bool lies_unpacked(const Descriptor& descriptor, uint64_t count);

std::vector<double> permute(const std::vector<double>& values, const Shape& shape, const std::vector<int>& axes);

}  // namespace dumphook
