// SPDX-License-Identifier: Apache-2.0
#include "control/config_lines.h"

#include <cstring>

namespace dumphook {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void trim_end(const char* begin, char* end) {
  while (end > begin && is_blank(end[-1])) *--end = '\0';
}

}  // namespace

Status bare_error(const char* line, ErrorText* error) {
  return error->fail(DH_ERR_OPTION, "\"%.60s\" is not of the form key = value", line);
}

Status each_line(const char* text, const char* origin, ErrorText* error, Lines& lines) {
  char line[4096];
  for (int number = 1; *text != '\0'; ++number) {
    const char* end = std::strchr(text, '\n');
    if (end == nullptr) end = text + std::strlen(text);
    const size_t length = static_cast<size_t>(end - text);
    if (length >= sizeof line) {
      return error->fail(DH_ERR_LIMIT, "%s, line %d: longer than %zu bytes", origin, number, sizeof line - 1);
    }
    std::memcpy(line, text, length);
    line[length] = '\0';
    text = *end == '\0' ? end : end + 1;
    char* key = line;
    while (is_blank(*key)) ++key;
    if (*key == '\0' || *key == '#') continue;
    char* value = key;
    while (*value != '\0' && *value != '=' && *value != '#') ++value;
    if (*value != '=') value = nullptr;  // no key has a #: what follows it is a comment
    char* const key_end = value == nullptr ? key + std::strlen(key) : value;
    if (value != nullptr) *value++ = '\0';
    trim_end(key, key_end);
    Status status = DH_OK;
    if (value == nullptr) {
      status = lines.take_bare(key);
    } else {
      while (is_blank(*value)) ++value;
      trim_end(value, value + std::strlen(value));
      status = lines.take(key, value);
    }
    if (status != DH_OK) {
      char why[sizeof error->text];
      std::memcpy(why, error->text, sizeof why);
      return error->fail(status, "%s, line %d: %.400s", origin, number, why);
    }
  }
  return DH_OK;
}

void cut_comment(char* text) {
  for (char* at = text; *at != '\0'; ++at) {
    if (*at != '#' || (at != text && !is_blank(at[-1]))) continue;
    *at = '\0';
    trim_end(text, at);
    return;
  }
}

}  // namespace dumphook
