// SPDX-License-Identifier: Apache-2.0
#include "base/glob.h"

namespace dumphook {
namespace {

// Past the `]` of the set that `open` begins; nullptr when it is not closed.
const char* set_end(const char* open) {
  const char* p = open + 1;
  if (*p == '!') ++p;
  if (*p == ']') ++p;
  while (*p != '\0' && *p != ']') ++p;
  return *p == '\0' ? nullptr : p + 1;
}

bool set_contains(const char* open, const char* end, unsigned char c) {
  const char* p = open + 1;
  const char* const last = end - 1;
  const bool negated = *p == '!';
  if (negated) ++p;
  bool found = false;
  while (p < last) {
    const unsigned char low = static_cast<unsigned char>(*p);
    unsigned char high = low;
    if (last - p > 2 && p[1] == '-') {
      high = static_cast<unsigned char>(p[2]);
      p += 2;
    }
    found = found || (low <= c && c <= high);
    ++p;
  }
  return found != negated;
}

// The pattern after the element at `pattern`, which is not `*`; nullptr when it does not match `c`.
const char* match_one(const char* pattern, char c) {
  if (*pattern == '?') return pattern + 1;
  if (*pattern == '[') {
    const char* end = set_end(pattern);
    if (end != nullptr) return set_contains(pattern, end, static_cast<unsigned char>(c)) ? end : nullptr;
  }
  return *pattern == c ? pattern + 1 : nullptr;
}

}  // namespace

bool glob_match(const char* pattern, const char* text) {
  if (pattern == nullptr) pattern = "";
  if (text == nullptr) text = "";
  // Only the last `*` ever needs to take more: what earlier ones took has already matched as early as possible.
  const char* after_star = nullptr;
  const char* star_text = nullptr;
  while (*text != '\0') {
    if (*pattern == '*') {
      after_star = ++pattern;
      star_text = text;
      continue;
    }
    const char* next = *pattern == '\0' ? nullptr : match_one(pattern, *text);
    if (next != nullptr) {
      pattern = next;
      ++text;
    } else if (after_star != nullptr) {
      pattern = after_star;
      text = ++star_text;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == '\0';
}

}  // namespace dumphook
