// SPDX-License-Identifier: Apache-2.0
// The lines of a config file.
#pragma once

#include "base/status.h"
#include "control/options.h"

namespace dumphook {

// Who takes the lines of a text.
class Lines {
 public:
  virtual Status take(const char* key, char* value) = 0;
  // A line without `=`, which may have a comment at its end.
  virtual Status take_bare(char* line) = 0;

 protected:
  ~Lines() = default;
};

// Hands each line that is not empty or a comment to `lines`. `origin` names the text in errors.
Status each_line(const char* text, const char* origin, ErrorText* error, Lines& lines);

// That `line` has no `=`.
Status bare_error(const char* line, ErrorText* error);

// Ends `text` before the first # that begins it or follows a blank.
void cut_comment(char* text);

}  // namespace dumphook
