// SPDX-License-Identifier: Apache-2.0
// Opens what is compared: captures (a file, or a folder of *.mcap) and folders of npy files, and picks the frames.
#pragma once

#include <optional>
#include <string>

#include "align/side.h"

namespace dumphook {

struct FrameChoice {
  std::optional<uint64_t> target, golden;  // none: see open_sides
};

struct Sides {
  Side target, golden;
};

// Without a choice: the first frame that both sides hold completely; else the target's first complete frame, or its
// first. The golden's frame is then the one with the same number; else its only one; else its first complete one, which
// is noted. Throws std::runtime_error that says what, where and what to do: also for a folder whose files are of
// several sessions.
Sides open_sides(const std::string& target_path, const std::string& golden_path, const FrameChoice& choice);

}  // namespace dumphook
