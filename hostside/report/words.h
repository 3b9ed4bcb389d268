// SPDX-License-Identifier: Apache-2.0
// Small pieces that the reports share.
#pragma once

#include <string>
#include <string_view>

#include "compare/comparison.h"

namespace dumphook {

// Names come from the board: without control characters, so that they cannot steer the terminal.
inline std::string printable(std::string_view text) {
  std::string result(text);
  for (size_t i = 0; i < result.size(); ++i) {
    const auto byte = static_cast<unsigned char>(result[i]);
    const bool c1 = byte == 0xC2 && i + 1 < result.size() && static_cast<unsigned char>(result[i + 1]) < 0xA0;
    if (c1) result.replace(i, 2, "?");
    else if (byte < 0x20 || byte == 0x7F) result[i] = '?';
  }
  return result;
}

}  // namespace dumphook
