// SPDX-License-Identifier: Apache-2.0
#include "decode/stem.h"

#include <cstring>

#include "measure/xxh64.h"

namespace dumphook {
namespace {

constexpr char kDigits[] = "0123456789ABCDEF";
constexpr size_t kHashDigits = 16;

bool harmless(char byte) {
  const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
  return letter || (byte != '\0' && strchr("-_+,=@()[]{}.", byte) != nullptr);
}

int digit_value(char digit) {
  const char* found = digit == '\0' ? nullptr : strchr(kDigits, digit);
  return found == nullptr ? -1 : static_cast<int>(found - kDigits);
}

}  // namespace

std::string stem_of_name(const std::string& name) {
  if (name.empty()) return "%";
  std::string stem;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool edge_dot = name[i] == '.' && (i == 0 || i + 1 == name.size());
    // A dash at the front would look like an option.
    if (harmless(name[i]) && !edge_dot && !(i == 0 && name[i] == '-')) {
      stem += name[i];
    } else {
      const unsigned byte = static_cast<unsigned char>(name[i]);
      stem += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  if (stem.size() <= kMaxStemBytes) return stem;
  size_t keep = kMaxStemBytes - kHashDigits - 1;
  for (size_t back = 1; back <= 2; ++back) {
    if (stem[keep - back] == '%') keep -= back;  // not in the middle of an escape
  }
  stem.resize(keep);
  stem += '~';
  const uint64_t hash = xxh64(name.data(), name.size(), 0);
  for (size_t i = 0; i < kHashDigits; ++i) stem += kDigits[(hash >> (60 - 4 * i)) & 15];
  return stem;
}

std::string name_of_stem(const std::string& stem) {
  if (stem == "%") return {};
  std::string name;
  for (size_t i = 0; i < stem.size(); ++i) {
    if (stem[i] == '%' && i + 2 < stem.size() && digit_value(stem[i + 1]) >= 0 && digit_value(stem[i + 2]) >= 0) {
      name += static_cast<char>(digit_value(stem[i + 1]) * 16 + digit_value(stem[i + 2]));
      i += 2;
    } else {
      name += stem[i];
    }
  }
  return name;
}

std::string run_suffix(uint32_t occurrence, uint32_t instance) {
  return (occurrence > 0 ? "#" + std::to_string(occurrence) : "") +
         (instance > 0 ? "!" + std::to_string(instance) : "");
}

}  // namespace dumphook
