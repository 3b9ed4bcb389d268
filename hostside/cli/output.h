// SPDX-License-Identifier: Apache-2.0
// Output: standard output for results. Text from a capture goes through shown(), since names come from the board.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/problem.h"

namespace dumphook {

// Thrown when the reader of standard output went away (`dumphook ls | head`). Ends the program quietly.
struct ClosedPipe {};

class Output {
 public:
  enum class Colour : uint8_t { automatic, always, never };
  // Decides on colours; NO_COLOR counts for automatic.
  void set_colour(Colour colour);
  bool colour() const { return colour_; }
  bool is_terminal() const;
  int width() const;  // columns of the terminal, 0 when there is none

  // Throws ClosedPipe, or std::runtime_error on any other error.
  void text(std::string_view text);
  void line(std::string_view text);
  // All that was written is out. Throws like text().
  void finish();

  // With an escape sequence around it when colours are on.
  std::string bold(const std::string& text) const { return styled("1", text); }
  std::string bad(const std::string& text) const { return styled("31", text); }
  std::string good(const std::string& text) const { return styled("32", text); }
  std::string odd(const std::string& text) const { return styled("33", text); }

 private:
  std::string styled(const char* code, const std::string& text) const;
  bool colour_ = false;
};

// Control characters and bytes that are not UTF-8 as \xNN.
std::string shown(std::string_view text);

// "12.3 MiB", "640 bytes".
std::string bytes_text(uint64_t bytes);
// "0.012 s", "3 min 20 s".
std::string duration_text(uint64_t nanoseconds);
// "2026-11-21 12:00:00 UTC"
std::string time_text(uint64_t nanoseconds_since_1970);

// Columns as wide as their widest cell; the last is never padded. Numbers to the right.
class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(const Output& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dumphook
