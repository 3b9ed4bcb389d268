// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace dumphook {

// What an errno means, as strerror says, for any thread and any libc.
const char* error_text(int error, char* buffer, size_t buffer_bytes);

// The same as an expression: log("%s", ErrorText(errno).text()).
class ErrorText {
 public:
  explicit ErrorText(int error) : text_(error_text(error, buffer_, sizeof buffer_)) {}
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;
  const char* text() const { return text_; }

 private:
  char buffer_[96] = {};
  const char* text_;
};

}  // namespace dumphook
