// SPDX-License-Identifier: Apache-2.0
#include "net/error_text.h"

#include <cstdio>
#include <cstring>

namespace dumphook {
namespace {

// strerror_r is one of two functions, depending on the libc; the return type says which.
[[maybe_unused]] const char* choose(const char* gnu, char*) { return gnu; }
[[maybe_unused]] const char* choose(int posix, char* buffer) { return posix == 0 ? buffer : ""; }

}  // namespace

const char* error_text(int error, char* buffer, size_t buffer_bytes) {
  buffer[0] = '\0';
  const char* text = choose(strerror_r(error, buffer, buffer_bytes), buffer);
  if (text[0] != '\0') return text;
  snprintf(buffer, buffer_bytes, "error %d", error);
  return buffer;
}

}  // namespace dumphook
