// SPDX-License-Identifier: Apache-2.0
// Coverage: what of all there was is in the capture. It stands above every verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decode/capture.h"

namespace dumphook {

enum class LayerState : uint8_t {
  captured,         // whole in every selected frame
  partly_captured,  // whole in some
  lost,             // by a counted reason
  truncated,        // parts are missing
  damaged,
  statistics_only,  // or a digest only: no values
  not_selected,     // nothing says that it was ever offered
  inside_delegate,  // not visible: inside an NPU partition
  fused_away,
  constant,  // does not depend on the input, left out by default
};
const char* layer_state_name(LayerState state);

// One output of a declared node, or another tensor that was seen.
struct LayerCoverage {
  uint32_t session = 0;
  std::string model, name, op;
  int node_index = -1;
  bool declared = false;  // output of a node of the model graph
  LayerState state = LayerState::not_selected;
  uint64_t whole = 0, truncated = 0, damaged = 0, summarised = 0;  // captures in the selected frames
  LossCounts lost;  // in frames that touch the selection; ranges may be wider than what was lost
};

struct Coverage {
  bool graph_known = false;       // false: judged against the tensors seen, which proves nothing about the rest
  bool graph_complete = true;     // all its declared nodes are here
  bool confirmed = false;         // see CaptureSession::confirmed
  bool sealed = false;            // every stream was closed by its writer
  uint64_t missing_messages = 0;  // gaps in stream_seq
  uint64_t frames = 0, frames_complete = 0;
  uint64_t seen = 0, accepted = 0;  // tensors offered and taken in the selected frames, as FrameEnd says
  uint64_t whole = 0, truncated = 0, damaged = 0, summarised = 0;  // captures in the selected frames
  LossCounts lost;                    // in the selected frames: Loss and FrameEnd, whichever knows more
  std::vector<LayerCoverage> layers;  // declared ones in execution order, then others

  size_t count(LayerState state) const;           // of all layers
  size_t declared_count(LayerState state) const;  // of the declared ones
  size_t declared() const;
  // Something that was selected is not here.
  bool data_missing() const;
  // Every visible layer of every selected frame is here, the end of the session is here, and nothing says otherwise.
  bool complete() const;
  // For people, one line per fact, the layers first.
  std::vector<std::string> lines() const;
};

Coverage coverage(const Capture& capture, const FrameSelection& frames = {});

}  // namespace dumphook
