// SPDX-License-Identifier: Apache-2.0
// What of a capture a verb looks at: which frame, which tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/capture.h"

namespace dumphook {

struct FrameKey {
  uint32_t session = 0;
  uint64_t frame = 0;
};

// `text`: empty for one frame, the first complete one, or, where none is, the one with most tensors; "all"; or a list
// of numbers and ranges, "3,7-9". Frames of that number in several sessions are all taken, in order. Not empty.
Expected<std::vector<FrameKey>> choose_frames(const Capture& capture, const std::string& text);

// Positions in capture.tensors(), in execution order, of the tensors in `frame` that match the glob (empty: all) by
// name or by model/name.
std::vector<size_t> choose_tensors(const Capture& capture, FrameKey frame, const std::string& glob);

// One tensor of a frame: by its name; as NODE:output by a node's name and output number, or as model/name. The error
// lists names that are near.
Expected<size_t> choose_tensor(const Capture& capture, FrameKey frame, const std::string& name);

// The problems that were found, one line each, at most `limit`.
std::vector<std::string> problem_lines(const Capture& capture, size_t limit);

}  // namespace dumphook
