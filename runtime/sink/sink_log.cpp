// SPDX-License-Identifier: Apache-2.0
#include "sink/sink_log.h"

#include <cstdarg>
#include <cstdio>

namespace dumphook {

void say(const SinkLog& log, dh_log_level level, const char* format, ...) {
  if (log.write == nullptr) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log.write(log.user, level, text);
}

}  // namespace dumphook
