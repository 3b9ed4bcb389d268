// SPDX-License-Identifier: Apache-2.0
#include "capture/selection.h"

#include <cstring>

#include "base/glob.h"

namespace dumphook {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool any_matches(const char* list, const char* model, const char* name, const char* op) {
  char pattern[DH_MAX_NAME_BYTES + 8];
  while (next_list_item(&list, pattern, sizeof pattern)) {
    if (pattern_matches(pattern, model, name, op)) return true;
  }
  return false;
}

}  // namespace

bool pattern_matches(const char* pattern, const char* model, const char* name, const char* op) {
  if (std::strncmp(pattern, "op:", 3) == 0) return op != nullptr && glob_match(pattern + 3, op);
  if (std::strncmp(pattern, "model:", 6) == 0) return glob_match(pattern + 6, model);
  return glob_match(pattern, name);
}

bool next_list_item(const char** cursor, char* item, size_t item_bytes) {
  const char* at = *cursor;
  for (;;) {
    while (is_blank(*at) || *at == ',') ++at;
    if (*at == '\0') {
      *cursor = at;
      return false;
    }
    const char* begin = at;
    bool in_class = false;  // a comma inside [...] is a character, not a separator
    while (*at != '\0' && (*at != ',' || in_class)) {
      if (*at == '[') in_class = std::strchr(at, ']') != nullptr;
      if (*at == ']') in_class = false;
      ++at;
    }
    const char* end = at;
    while (end > begin && is_blank(end[-1])) --end;
    size_t length = static_cast<size_t>(end - begin);
    if (length == 0) continue;
    if (length > item_bytes - 1) length = item_bytes - 1;
    std::memcpy(item, begin, length);
    item[length] = '\0';
    *cursor = at;
    return true;
  }
}

bool parse_level(const char* text, dh_level* level) {
  static const struct {
    const char* name;
    dh_level level;
  } kLevels[] = {{"off", DH_LEVEL_OFF}, {"hash", DH_LEVEL_HASH}, {"stats", DH_LEVEL_STATS}, {"full", DH_LEVEL_FULL}};
  for (const auto& known : kLevels) {
    if (std::strcmp(text, known.name) == 0) {
      *level = known.level;
      return true;
    }
  }
  return false;
}

Selection::Selection() = default;

dh_level Selection::level_of(const char* model, const char* name, const char* op, uint32_t role) const {
  if (role_mask != 0 && (role >= 32 || (role_mask & (1u << role)) == 0)) return DH_LEVEL_OFF;
  if (!any_matches(include, model, name, op) || any_matches(exclude, model, name, op)) return DH_LEVEL_OFF;
  const char* cursor = levels;
  char rule[DH_MAX_NAME_BYTES + 16];
  while (next_list_item(&cursor, rule, sizeof rule)) {
    char* equals = std::strrchr(rule, '=');
    if (equals == nullptr) continue;
    *equals = '\0';
    dh_level parsed = DH_LEVEL_FULL;
    if (parse_level(equals + 1, &parsed) && pattern_matches(rule, model, name, op)) return parsed;
  }
  return level == DH_LEVEL_DEFAULT ? DH_LEVEL_FULL : static_cast<dh_level>(level);
}

bool Selection::selects_frame(uint64_t number, uint64_t selected_before) const {
  if (number < frame_first) return false;
  if (frame_last != 0 && number > frame_last) return false;
  if (every_nth > 1 && number % every_nth != 0) return false;
  return first_n == 0 || selected_before < first_n;
}

}  // namespace dumphook
