// SPDX-License-Identifier: Apache-2.0
// codec_bench FOLDER...: the .npy files (f32, i8, u8) of each folder through memcpy, LZ4, byte shuffle + LZ4, our
// own encoder of LZ4 blocks and the codec of parts, one after the other in every repeat. f32 also rounded to bf16 and
// f16. run.sh fills the folders.
#include <dirent.h>
#include <lz4.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "dumphook/dumphook.h"
#include "wire/codec.h"
#include "wire/lz4_decode.h"
#include "wire/lz4_encode.h"

namespace {

using dumphook::Bytes;
using dumphook::ConstBytes;

constexpr size_t kPartBytes = 1 << 20;
constexpr size_t kShuffleBytes = 128 << 10;

alignas(64) uint8_t scratch[dumphook::kCodecScratchBytes];
uint8_t shuffled[kShuffleBytes];

// ---- Tensors

struct Tensor {
  uint32_t dtype;
  std::vector<uint8_t> bytes;
};

size_t width_of(uint32_t dtype) { return dtype == DH_F32 ? 4 : dtype == DH_F16 || dtype == DH_BF16 ? 2 : 1; }

bool read_npy(const std::string& path, Tensor* out) {
  FILE* file = fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  std::vector<uint8_t> all;
  uint8_t buffer[65536];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, file)) != 0;) all.insert(all.end(), buffer, buffer + got);
  fclose(file);
  if (all.size() < 10 || memcmp(all.data(), "\x93NUMPY\x01", 7) != 0) return false;
  const size_t header = 10 + dumphook::load_le<uint16_t>(all.data() + 8);
  const std::string text(reinterpret_cast<const char*>(all.data()) + 10, header - 10);
  if (text.find("'<f4'") != std::string::npos) {
    out->dtype = DH_F32;
  } else if (text.find("'|i1'") != std::string::npos) {
    out->dtype = DH_I8;
  } else if (text.find("'|u1'") != std::string::npos) {
    out->dtype = DH_U8;
  } else {
    return false;
  }
  out->bytes.assign(all.begin() + static_cast<std::ptrdiff_t>(header), all.end());
  return out->bytes.size() >= 1024;
}

uint16_t to_bf16(uint32_t bits) { return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16); }

// To nearest, ties to even. There are no NaNs in what we measure with.
uint16_t to_f16(uint32_t bits) {
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);
  if (magnitude < 0x38800000) {  // denormal
    float value = 0;
    memcpy(&value, &magnitude, 4);
    const float scaled = value * 16777216.0f;  // 2^24
    auto whole = static_cast<uint32_t>(scaled);
    const float rest = scaled - static_cast<float>(whole);
    whole += rest > 0.5f || (rest == 0.5f && (whole & 1) != 0);
    return static_cast<uint16_t>(sign | whole);
  }
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13));
}

std::vector<Tensor> rounded(const std::vector<Tensor>& tensors, uint32_t dtype) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    Tensor to{dtype, {}};
    to.bytes.resize(tensor.bytes.size() / 2);
    for (size_t i = 0; i < tensor.bytes.size() / 4; ++i) {
      const auto bits = dumphook::load_le<uint32_t>(tensor.bytes.data() + 4 * i);
      dumphook::store_le(to.bytes.data() + 2 * i, dtype == DH_BF16 ? to_bf16(bits) : to_f16(bits));
    }
    out.push_back(to);
  }
  return out;
}

// ---- Codecs. The length of what was encoded is kept by whoever calls; 0xFF in `*codec` means raw.

size_t encode_memcpy(uint32_t, ConstBytes raw, Bytes out, uint8_t*) {
  memcpy(out.data, raw.data, raw.size);
  return raw.size;
}
bool decode_memcpy(uint32_t, uint8_t, ConstBytes data, Bytes raw) {
  memcpy(raw.data, data.data, raw.size);
  return true;
}

// lz4's own.
size_t lz4_of(ConstBytes raw, Bytes out) {
  static_assert(sizeof(LZ4_stream_t) <= sizeof scratch, "lz4's state has grown");
  const int bytes =
      LZ4_compress_fast_extState(scratch, reinterpret_cast<const char*>(raw.data), reinterpret_cast<char*>(out.data),
                                 static_cast<int>(raw.size), static_cast<int>(out.size), 1);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

size_t encode_lz4(uint32_t, ConstBytes raw, Bytes out, uint8_t* codec) {
  const size_t bytes = lz4_of(raw, out.first(raw.size - 1));
  *codec = bytes != 0 ? 1 : 0;
  return bytes != 0 ? bytes : encode_memcpy(0, raw, out, codec);
}
size_t encode_own_lz4(uint32_t, ConstBytes raw, Bytes out, uint8_t* codec) {
  const size_t bytes = dumphook::lz4_encode(raw, out.first(raw.size - 1), scratch);
  *codec = bytes != 0 ? 1 : 0;
  return bytes != 0 ? bytes : encode_memcpy(0, raw, out, codec);
}
bool decode_lz4(uint32_t, uint8_t codec, ConstBytes data, Bytes raw) {
  return codec == 0 ? decode_memcpy(0, 0, data, raw) : dumphook::lz4_decode(data, raw);
}

// Blocks of 128 KiB, as HDF5 and Blosc have them: u32 length, and LZ4 of the bytes sorted by significance.
template <size_t kWidth>
void shuffle(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t plane = 0; plane < kWidth; ++plane) to[plane * count + i] = from[i * kWidth + plane];
  }
}
template <size_t kWidth>
void unshuffle(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t plane = 0; plane < kWidth; ++plane) to[i * kWidth + plane] = from[plane * count + i];
  }
}

size_t encode_shuffled(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* codec) {
  const size_t width = width_of(dtype);
  size_t used = 0;
  for (size_t at = 0; at < raw.size; at += kShuffleBytes) {
    const size_t bytes = std::min(kShuffleBytes, raw.size - at);
    if (width == 4) shuffle<4>(raw.data + at, bytes / 4, shuffled);
    if (width == 2) shuffle<2>(raw.data + at, bytes / 2, shuffled);
    const ConstBytes block(width == 1 ? raw.data + at : shuffled, bytes);
    const Bytes room = out.from(used + 4);
    size_t written = lz4_of(block, room.first(std::min(room.size, bytes - 1)));
    if (written == 0) {
      memcpy(room.data, block.data, bytes);
      written = bytes;
    }
    dumphook::store_le(out.data + used, static_cast<uint32_t>(written));
    used += 4 + written;
  }
  *codec = 1;
  return used;
}
bool decode_shuffled(uint32_t dtype, uint8_t, ConstBytes data, Bytes raw) {
  const size_t width = width_of(dtype);
  for (size_t at = 0; at < raw.size; at += kShuffleBytes) {
    const size_t bytes = std::min(kShuffleBytes, raw.size - at);
    const auto written = dumphook::load_le<uint32_t>(data.data);
    const Bytes to(width == 1 ? raw.data + at : shuffled, bytes);
    if (written == bytes) {
      memcpy(to.data, data.data + 4, bytes);
    } else if (!dumphook::lz4_decode(data.from(4).first(written), to)) {
      return false;
    }
    if (width == 4) unshuffle<4>(shuffled, bytes / 4, raw.data + at);
    if (width == 2) unshuffle<2>(shuffled, bytes / 2, raw.data + at);
    data = data.from(4 + written);
  }
  return true;
}

size_t encode_ours(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* codec) {
  return dumphook::encode_part(dtype, raw, out, scratch, codec);
}
bool decode_ours(uint32_t dtype, uint8_t codec, ConstBytes data, Bytes raw) {
  return dumphook::decode_part(dtype, codec, data, raw, scratch);
}

struct Codec {
  const char* name;
  size_t (*encode)(uint32_t dtype, ConstBytes raw, Bytes out, uint8_t* codec);
  bool (*decode)(uint32_t dtype, uint8_t codec, ConstBytes data, Bytes raw);
};
constexpr Codec kCodecs[] = {{"memcpy", encode_memcpy, decode_memcpy},
                             {"lz4", encode_lz4, decode_lz4},
                             {"shuffle+lz4", encode_shuffled, decode_shuffled},
                             {"own lz4", encode_own_lz4, decode_lz4},
                             {"dumphook", encode_ours, decode_ours}};
constexpr size_t kLz4 = 1, kShuffled = 2, kOurs = 4, kCodecCount = 5;

// ---- Measuring

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Part {
  uint32_t dtype;
  ConstBytes raw;
  size_t at, bytes;
  uint8_t codec;
};

bool measure(const char* name, const std::vector<Tensor>& tensors, int repeats) {
  std::vector<Part> parts;
  size_t total = 0;
  for (const Tensor& tensor : tensors) {
    for (size_t at = 0; at < tensor.bytes.size(); at += kPartBytes) {
      const size_t bytes = std::min(kPartBytes, tensor.bytes.size() - at);
      parts.push_back({tensor.dtype, {tensor.bytes.data() + at, bytes}, 0, 0, 0});
      total += bytes;
    }
  }
  if (parts.empty()) return true;
  std::vector<uint8_t> encoded(total + total / 16 + 65536), decoded(kPartBytes);
  std::vector<double> encode_s[kCodecCount], decode_s[kCodecCount];
  size_t sizes[kCodecCount] = {};
  for (int repeat = -1; repeat < repeats; ++repeat) {  // the first touches the memory
    for (size_t c = 0; c < kCodecCount; ++c) {
      const double begin = now();
      size_t used = 0;
      for (Part& part : parts) {
        part.at = used;
        part.bytes =
            kCodecs[c].encode(part.dtype, part.raw, Bytes(encoded.data() + used, encoded.size() - used), &part.codec);
        used += part.bytes;
      }
      const double middle = now();
      for (const Part& part : parts) {
        if (!kCodecs[c].decode(part.dtype, part.codec, {encoded.data() + part.at, part.bytes},
                               {decoded.data(), part.raw.size})) {
          return false;
        }
      }
      const double end = now();
      for (const Part& part : parts) {
        if (repeat != -1) break;
        memset(decoded.data(), 0xA5, part.raw.size);
        if (!kCodecs[c].decode(part.dtype, part.codec, {encoded.data() + part.at, part.bytes},
                               {decoded.data(), part.raw.size}) ||
            memcmp(decoded.data(), part.raw.data, part.raw.size) != 0) {
          return false;
        }
      }
      if (repeat == -1) continue;
      sizes[c] = used;
      encode_s[c].push_back(middle - begin);
      decode_s[c].push_back(end - middle);
    }
  }
  printf("\n%s: %zu tensors, %.1f MB, %d repeats\n", name, tensors.size(), static_cast<double>(total) / 1e6, repeats);
  printf("%-12s %7s %9s %9s %9s %9s %8s\n", "", "ratio", "enc GB/s", "dec GB/s", "enc/lz4", "dec/lz4", "/shuffle");
  for (size_t c = 0; c < kCodecCount; ++c) {
    std::vector<double> encode_ratio, decode_ratio;
    for (size_t i = 0; i < encode_s[c].size(); ++i) {
      encode_ratio.push_back(encode_s[kLz4][i] / encode_s[c][i]);
      decode_ratio.push_back(decode_s[kLz4][i] / decode_s[c][i]);
    }
    const double bytes = static_cast<double>(total), size = static_cast<double>(sizes[c]);
    printf("%-12s %7.3f %9.2f %9.2f %9.2f %9.2f %8.3f\n", kCodecs[c].name, bytes / size,
           bytes / median(encode_s[c]) / 1e9, bytes / median(decode_s[c]) / 1e9, median(encode_ratio),
           median(decode_ratio), static_cast<double>(sizes[kShuffled]) / size);
  }
  printf("%-12s ratio / lz4's: %.3f\n", kCodecs[kOurs].name,
         static_cast<double>(sizes[kLz4]) / static_cast<double>(sizes[kOurs]));
  return true;
}

// What CTest runs: that every codec gives back what went in.
std::vector<Tensor> made_up() {
  Tensor relu{DH_F32, std::vector<uint8_t>(300000 * 4)}, quantized{DH_I8, std::vector<uint8_t>(300001)};
  uint32_t state = 1;
  const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (size_t i = 0; i < 300000; ++i) {
    const float value = static_cast<float>(next() % 4096) * static_cast<float>(next() % 64) - 60000.0f;
    dumphook::store_le(relu.bytes.data() + 4 * i, value > 0 ? value : 0.0f);
  }
  for (uint8_t& byte : quantized.bytes) byte = static_cast<uint8_t>(next() % 16 * (next() % 4));
  return {relu, quantized};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--quick") == 0) return measure("made up", made_up(), 1) ? 0 : 1;
  const char* repeats_text = getenv("REPEATS");
  const int repeats = repeats_text != nullptr ? std::max(1, atoi(repeats_text)) : 9;
  for (int i = 1; i < argc; ++i) {
    std::vector<Tensor> floats, bytes;
    DIR* folder = opendir(argv[i]);
    if (folder == nullptr) {
      fprintf(stderr, "codec_bench: no folder %s\n", argv[i]);
      return 1;
    }
    while (const dirent* entry = readdir(folder)) {
      Tensor tensor;
      const std::string name = entry->d_name;
      if (name.rfind("photo", 0) == 0 || !read_npy(std::string(argv[i]) + "/" + name, &tensor)) continue;
      (tensor.dtype == DH_F32 ? floats : bytes).push_back(tensor);
    }
    closedir(folder);
    const std::string path = argv[i], name = path.substr(path.find_last_of('/') + 1);
    // A float input of a quantised model, or a table of bytes beside floats, says nothing.
    if (floats.size() < bytes.size()) floats.clear();
    if (bytes.size() < floats.size()) bytes.clear();
    const bool fine = measure((name + ", f32").c_str(), floats, repeats) &&
                      measure((name + ", bf16").c_str(), rounded(floats, DH_BF16), repeats) &&
                      measure((name + ", f16").c_str(), rounded(floats, DH_F16), repeats) &&
                      measure((name + ", i8").c_str(), bytes, repeats);
    if (!fine) {
      fprintf(stderr, "codec_bench: %s did not come back\n", argv[i]);
      return 1;
    }
  }
  return 0;
}
