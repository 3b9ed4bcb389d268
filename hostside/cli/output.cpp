// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace dumphook {
namespace {

// Length of the well-formed UTF-8 sequence at the front; 0 when there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&byte](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// Columns of the text, one per code point.
size_t columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

void Output::set_colour(Colour colour) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && strcmp(terminal, "dumb") == 0;
  colour_ = colour == Colour::always ||
            (colour == Colour::automatic && is_terminal() && (no_color == nullptr || *no_color == '\0') && !dumb);
}

bool Output::is_terminal() const { return isatty(STDOUT_FILENO) == 1; }

int Output::width() const {
  struct winsize size {};
  if (!is_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void Output::text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
  if (errno == EPIPE) throw ClosedPipe{};
  throw std::runtime_error(std::string("cannot write to standard output: ") + strerror(errno));
}

void Output::line(std::string_view content) {
  text(content);
  text("\n");
}

void Output::finish() {
  if (std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw ClosedPipe{};
  throw std::runtime_error(std::string("cannot write to standard output: ") + strerror(errno));
}

std::string Output::styled(const char* code, const std::string& text) const {
  return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string shown(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool c1 = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (length == 0 || byte < 0x20 || byte == 0x7F || c1) {
      for (size_t i = 0; i < std::max<size_t>(length, 1); ++i)
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string duration_text(uint64_t nanoseconds) {
  const double seconds = static_cast<double>(nanoseconds) / 1e9;
  if (seconds < 120) return fmt::format("{:.3f} s", seconds);
  const uint64_t whole = nanoseconds / 1000000000u;
  if (whole < 7200) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string time_text(uint64_t nanoseconds_since_1970) {
  const auto seconds = static_cast<std::time_t>(nanoseconds_since_1970 / 1000000000u);
  std::tm time{};
  char text[64];
  if (gmtime_r(&seconds, &time) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &time) == 0)
    return "?";
  return text;
}

std::string Table::text(const Output& style) const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(columns(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string result;
  const auto add_row = [&](const std::vector<std::string>& cells, bool head) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - columns(cells[i]), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].right ? padding + cells[i] : cells[i] + padding;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    result += (head ? style.bold(line) : line) + "\n";
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  add_row(titles, true);
  for (const auto& row : rows_) add_row(row, false);
  return result;
}

}  // namespace dumphook
