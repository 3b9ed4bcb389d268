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

struct ChosenFrames {
  std::vector<FrameKey> frames;  // not empty
  std::vector<SeqRange> absent;  // numbers that were asked for, and no session has
};

// `text`: empty for one frame, the first complete one, or, where none is, the one with most tensors; "all"; or a list
// of numbers and ranges, "3,7-9". Frames of that number in several sessions are all taken, in order. An error when
// there is none.
Expected<ChosenFrames> choose_frames(const Capture& capture, const std::string& text);

// Null when the capture has no such frame.
const CapturedFrame* find_frame(const Capture& capture, FrameKey key);
// What is known to be missing in it: "incomplete, lost: pool_full 2". Empty: nothing.
std::string lack_text(const CapturedFrame& frame);
// "there is no frame 7, there are no frames 9 to 12". Empty: all are there.
std::string absent_text(const std::vector<SeqRange>& absent);

// Positions in capture.tensors(), in execution order, of the tensors in `frame` that match the glob (empty: all) by
// name or by model/name.
std::vector<size_t> choose_tensors(const Capture& capture, FrameKey frame, const std::string& glob);

// One tensor of a frame: by its name, or label() where the name occurs several times; as NODE:output by a node's name
// and output number, or as model/name. The error
// lists names that are near.
Expected<size_t> choose_tensor(const Capture& capture, FrameKey frame, const std::string& name);

// Why there are no real values of a tensor that is here: nothing without its descriptor says how it is quantized.
Error no_descriptor(const CapturedTensor& tensor);

// The problems that were found, one line each, at most `limit`.
std::vector<std::string> problem_lines(const Capture& capture, size_t limit);

}  // namespace dumphook
