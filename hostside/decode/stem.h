// SPDX-License-Identifier: Apache-2.0
// File names for tensors. The same tensor name always gives the same stem, and different ones different stems, so that
// two exports of equal names lie side by side.
#pragma once

#include <cstdint>
#include <string>

namespace dumphook {

constexpr size_t kMaxStemBytes = 200;

// Letters, digits and `-_+,=@()[]{}.` as they are, everything else as %XX, also a dot at the front or at the end. An
// empty name is `%`. Where that would be longer than kMaxStemBytes: its beginning, `~`, and 16 digits of a hash of the
// whole name.
std::string stem_of_name(const std::string& name);

// The name that gave this stem; of a shortened one, what is left of it. Other files' stems stay as they are where they
// hold no %XX.
std::string name_of_stem(const std::string& stem);

// How the captures of one name within a frame are told apart, in file names and in rows: "#1" for the second, "!1" for
// another instance; nothing for the first.
std::string run_suffix(uint32_t occurrence, uint32_t instance);
inline std::string stem_of(const std::string& name, uint32_t occurrence, uint32_t instance) {
  return stem_of_name(name) + run_suffix(occurrence, instance);
}

}  // namespace dumphook
