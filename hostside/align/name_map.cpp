// SPDX-License-Identifier: Apache-2.0
#include "align/name_map.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace dumphook {
namespace {

constexpr const char* kBlank = " \t\r";

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

NameMap parse_json(const std::string& text, const std::string& origin) {
  NameMap map;
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object())
    throw std::runtime_error(fmt::format("{}: not a JSON object; write {{\"target name\": \"golden name\"}}", origin));
  for (const auto& [target, golden] : object.items()) {
    if (!golden.is_string())
      throw std::runtime_error(fmt::format("{}: \"{}\" maps to something that is not a string", origin, target));
    map[target] = golden.get<std::string>();
  }
  return map;
}

}  // namespace

NameMap parse_name_map(const std::string& text_of_file, const std::string& origin) {
  const bool byte_order_mark = text_of_file.compare(0, 3, "\xEF\xBB\xBF") == 0;
  const std::string text = text_of_file.substr(byte_order_mark ? 3 : 0);
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string::npos && text[start] == '{') return parse_json(text, origin);

  NameMap map;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line);
    if (line.empty() || line[0] == '#') continue;
    const bool tabbed = line.find('\t') != std::string::npos;
    const size_t gap = line.find_first_of(tabbed ? "\t" : " ");
    const std::string target = trimmed(line.substr(0, gap));
    const std::string golden = gap == std::string::npos ? "" : trimmed(line.substr(gap));
    if (golden.empty() || golden.find_first_of(tabbed ? "\t" : " ") != std::string::npos)
      throw std::runtime_error(fmt::format(
          "{}:{}: expected `target golden`; separate the two by a tab if a name holds spaces", origin, number));
    if (!map.emplace(target, golden).second)
      throw std::runtime_error(fmt::format("{}:{}: target \"{}\" is mapped twice", origin, number, target));
  }
  return map;
}

NameMap read_name_map(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw std::runtime_error(fmt::format("the name map {} is a folder; it must be a file", path));
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw std::runtime_error(fmt::format("cannot read the name map {}", path));
  return parse_name_map(text, path);
}

}  // namespace dumphook
