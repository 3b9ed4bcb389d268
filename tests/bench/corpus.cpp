// SPDX-License-Identifier: Apache-2.0
#include "corpus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dumphook/dumphook.h"

namespace bench {
namespace {

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(1);
}

// False for what is not a tensor of one of our types.
bool read_npy(const std::filesystem::path& path, Tensor* out) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (all.compare(0, 7, "\x93NUMPY\x01") != 0 || all.size() < 10) return false;
  const size_t begin = 10u + dumphook::load_le<uint16_t>(reinterpret_cast<const uint8_t*>(all.data()) + 8);
  const std::string header = all.substr(10, begin - 10);
  if (header.find("'<f4'") != std::string::npos) {
    out->dtype = DH_F32;
  } else if (header.find("'|i1'") != std::string::npos) {
    out->dtype = DH_I8;
  } else {
    return false;
  }
  out->model = path.parent_path().filename();
  out->name = path.stem();
  out->bytes.assign(all.begin() + static_cast<std::ptrdiff_t>(std::min(begin, all.size())), all.end());
  return out->bytes.size() >= 4096;
}

Tensors load_model(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Tensors tensors;
  for (const auto& path : paths) {
    Tensor tensor;
    if (read_npy(path, &tensor)) tensors.push_back(std::move(tensor));
  }
  return tensors;
}

uint16_t to_bf16(uint32_t bits) { return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16); }

// There are no NaNs in what we measure with.
uint16_t to_f16(uint32_t bits) {
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {  // denormal
    float value = 0;
    std::memcpy(&value, &magnitude, 4);
    const float scaled = value * 16777216.0f;  // 2^24
    auto whole = static_cast<uint32_t>(scaled);
    const float rest = scaled - static_cast<float>(whole);
    whole += rest > 0.5f || (rest == 0.5f && (whole & 1) != 0);
    return static_cast<uint16_t>(sign | whole);
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13));
}

}  // namespace

Tensors load_corpus(const std::string& folder, size_t model_bytes) {
  if (!std::filesystem::is_directory(folder)) fail(folder + ": no such folder; tests/bench/run.sh makes it");
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) models.push_back(entry.path());
  }
  std::sort(models.begin(), models.end());
  Tensors corpus;
  for (const auto& model : models) {
    Tensors tensors = load_model(model);
    const double share = static_cast<double>(model_bytes) / static_cast<double>(total_bytes(tensors));
    double seen = 0, taken = 0;
    for (Tensor& tensor : tensors) {
      const auto bytes = static_cast<double>(tensor.bytes.size());
      seen += bytes;
      if (taken + bytes > seen * share) continue;
      taken += bytes;
      corpus.push_back(std::move(tensor));
    }
  }
  if (corpus.empty()) fail(folder + ": no .npy of float32 or int8 in its folders");
  return corpus;
}

Tensors made_up_corpus() {
  Tensor relu{"made_up", "relu", DH_F32, std::vector<uint8_t>(300000 * 4)};
  Tensor quantised{"made_up", "quantised", DH_I8, std::vector<uint8_t>(300001)};
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (size_t i = 0; i < 300000; ++i) {
    const float value = static_cast<float>(next() % 4096) * static_cast<float>(next() % 64) - 60000.0f;
    dumphook::store_le(relu.bytes.data() + 4 * i, value > 0 ? value : 0.0f);
  }
  for (uint8_t& byte : quantised.bytes) byte = static_cast<uint8_t>(next() % 16 * (next() % 4));
  return {relu, quantised};
}

Tensors of_type(const Tensors& tensors, uint32_t dtype) {
  Tensors chosen;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(chosen),
               [dtype](const Tensor& tensor) { return tensor.dtype == dtype; });
  return chosen;
}

Tensors rounded(const Tensors& tensors, uint32_t dtype) {
  Tensors all;
  for (const Tensor& tensor : of_type(tensors, DH_F32)) {
    Tensor to{tensor.model, tensor.name, dtype, std::vector<uint8_t>(tensor.bytes.size() / 2)};
    for (size_t i = 0; i < tensor.bytes.size() / 4; ++i) {
      const auto bits = dumphook::load_le<uint32_t>(tensor.bytes.data() + 4 * i);
      dumphook::store_le(to.bytes.data() + 2 * i, dtype == DH_BF16 ? to_bf16(bits) : to_f16(bits));
    }
    all.push_back(std::move(to));
  }
  return all;
}

size_t total_bytes(const Tensors& tensors) {
  size_t total = 0;
  for (const Tensor& tensor : tensors) total += tensor.bytes.size();
  return total;
}

size_t element_bytes(uint32_t dtype) { return dtype == DH_F32 ? 4 : dtype == DH_F16 || dtype == DH_BF16 ? 2 : 1; }

Tensors corpus_of(int argc, char** argv, size_t model_bytes) {
  if (argc != 2) fail(std::string("usage: ") + argv[0] + " [--benchmark_...] --quick | FOLDER");
  return std::strcmp(argv[1], "--quick") == 0 ? made_up_corpus() : load_corpus(argv[1], model_bytes);
}

}  // namespace bench
