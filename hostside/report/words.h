// SPDX-License-Identifier: Apache-2.0
// What the reports share.
#pragma once

#include <string>
#include <string_view>

namespace dumphook {

// Names come from the board: control characters, and bytes that are not UTF-8, become '?', so that no name steers the
// terminal.
inline std::string printable(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xC2 && first < 0xE0 ? 2
                          : first >= 0xE0 && first < 0xF0 ? 3
                          : first >= 0xF0 && first < 0xF5 ? 4
                                                          : 0;
    bool good = length > 1 ? !(first == 0xC2 && byte(i + 1) < 0xA0) : length == 1 && first >= 0x20 && first != 0x7F;
    for (size_t k = 1; k < length; ++k) good = good && (byte(i + k) & 0xC0u) == 0x80u;
    result += good ? text.substr(i, length) : "?";
    i += good || (length == 2 && first == 0xC2 && (byte(i + 1) & 0xC0u) == 0x80u) ? length : 1;
  }
  return result;
}

}  // namespace dumphook
