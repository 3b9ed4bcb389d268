// SPDX-License-Identifier: Apache-2.0
// Side: what one capture or one folder of npy files offers for one frame. Tensors are loaded one at a time, on demand.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decode/stem.h"
#include "decode/tensor.h"

namespace dumphook {

enum class Presence : uint8_t {
  whole,
  truncated,
  unusable,  // damaged, or no values were kept
  not_captured,
  inside_npu,
  hidden_by_fusion
};

struct SideTensor {
  Descriptor descriptor;  // where nothing was captured, and for files not yet read, only the name is sure
  std::string stem;       // of its file, in a folder of files; names longer than a file's may be are shortened there
  uint32_t instance = 0, occurrence = 0;
  Presence presence = Presence::whole;
  bool expected = true;          // not whole: something says that it should be here
  std::string why;               // not whole: what is known about the reason
  std::function<Tensor()> load;  // set when whole; throws std::runtime_error on damaged data

  std::string label() const { return descriptor.name + run_suffix(occurrence, instance); }
};

// How much of what was there is here.
struct SideCoverage {
  std::optional<uint64_t> frame;  // none: the side has no frames
  std::string frame_state;        // "complete", "incomplete", "abandoned", "open" (no FrameEnd)
  uint64_t seen = 0;              // tensors offered in this frame, as FrameEnd or the folder says
  uint64_t captured = 0;          // tensors here, with all their parts
  std::optional<uint64_t> declared,
      visible;  // outputs of the declared model without constants: all; those that can be captured
  std::map<std::string, uint64_t> lost;  // of this frame, by reason
  bool unconfirmed = false;              // nobody acknowledged the stream, or the frame's end is missing

  bool complete() const { return frame_state == "complete" && lost.empty() && captured >= seen; }
};

struct Side {
  std::string label;  // as the user named it
  std::vector<SideTensor> tensors;
  bool order_known = false;  // tensors are in execution order; else in order of appearance or of name
  SideCoverage coverage;
  std::vector<std::string> notes;  // what the user must know before reading results
};

}  // namespace dumphook
