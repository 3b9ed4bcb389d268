// SPDX-License-Identifier: Apache-2.0
#include "align/npy_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <stdexcept>

#include "decode/npy.h"
#include "decode/stem.h"

namespace dumphook {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The end of the run of digits or of other characters that begins at `from`.
size_t run_end(const std::string& text, size_t from) {
  size_t end = from;
  while (end < text.size() && is_digit(text[end]) == is_digit(text[from])) ++end;
  return end;
}

std::vector<fs::path> files_with(const std::string& folder, const char* extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  if (error) throw std::runtime_error(fmt::format("cannot read the folder {}: {}", folder, error.message()));
  return files;
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const std::string x = a.substr(i, run_end(a, i) - i), y = b.substr(j, run_end(b, j) - j);
    i += x.size();
    j += y.size();
    if (is_digit(x[0]) && is_digit(y[0])) {
      const std::string p = x.substr(std::min(x.find_first_not_of('0'), x.size())),
                        q = y.substr(std::min(y.find_first_not_of('0'), y.size()));
      if (p.size() != q.size()) return p.size() < q.size();
      if (p != q) return p < q;
    } else if (x != y) {
      return x < y;
    }
  }
  if (i < a.size() || j < b.size()) return i >= a.size();
  return a < b;
}

bool is_npy_folder(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored) || !files_with(path, ".mcap").empty()) return false;
  if (files_with(path, ".npy").empty())
    throw std::runtime_error(
        fmt::format("{} holds neither captures (*.mcap) nor arrays (*.npy); name a capture, or a folder that "
                    "holds the files themselves",
                    path));
  return true;
}

Side npy_folder_side(const std::string& path) {
  std::vector<std::string> stems;
  for (const fs::path& file : files_with(path, ".npy")) stems.push_back(file.stem().string());
  std::sort(stems.begin(), stems.end(), natural_less);

  Side side;
  side.label = path;
  side.coverage.frame_state = "complete";
  side.coverage.seen = side.coverage.captured = stems.size();
  for (const std::string& stem : stems) {
    SideTensor tensor;
    tensor.descriptor.name = name_of_stem(stem);
    tensor.stem = stem;
    tensor.load = [file = (fs::path(path) / (stem + ".npy")).string()] {
      Expected<Tensor> read = read_npy(file);
      if (!read) throw std::runtime_error(read.error().what);
      return std::move(*read);
    };
    side.tensors.push_back(std::move(tensor));
  }
  return side;
}

}  // namespace dumphook
