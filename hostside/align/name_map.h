// SPDX-License-Identifier: Apache-2.0
// NameMap: which golden tensor a target tensor is compared with, where the names differ.
#pragma once

#include <map>
#include <string>

namespace dumphook {

using NameMap = std::map<std::string, std::string>;  // target name -> golden name

// A JSON object {"target": "golden"}, or lines `target golden`: separated by a tab, or by spaces where no name holds
// one;
// `#` at the start of a line begins a comment. Throws std::runtime_error naming `origin` and the line.
NameMap parse_name_map(const std::string& text, const std::string& origin);
NameMap read_name_map(const std::string& path);

}  // namespace dumphook
