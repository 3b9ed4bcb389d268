// SPDX-License-Identifier: Apache-2.0
#include "base/dtype.h"

#include "base/bytes.h"

namespace dumphook {
namespace {

constexpr uint8_t kBits[] = {8, 64, 32, 16, 16, 8, 8, 64, 64, 32, 32, 16, 16, 8, 8, 8, 4, 4};
constexpr const char* kDtypes[] = {"raw", "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "u64",
                                   "i32", "u32", "i16", "u16", "i8",   "u8",     "bool",   "i4",  "u4"};
constexpr const char* kLayouts[] = {"any",  "NCHW", "NHWC", "NC4HW4", "NC1HWC2", "NC1HWC0",
                                    "NV12", "NV21", "RGB",  "BGR",    "text"};
constexpr const char* kRoles[] = {"intermediate", "input", "preprocessed", "output", "postprocessed"};

static_assert(sizeof kBits == DH_U4 + 1 && sizeof kDtypes / sizeof *kDtypes == DH_U4 + 1, "one entry per dh_dtype");
static_assert(sizeof kLayouts / sizeof *kLayouts == DH_LAYOUT_TEXT + 1, "one entry per dh_layout");
static_assert(sizeof kRoles / sizeof *kRoles == DH_ROLE_POSTPROCESSED + 1, "one entry per dh_role");

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool same_name(const char* a, const char* b) {
  while (*a != '\0' && lower(*a) == lower(*b)) {
    ++a;
    ++b;
  }
  return lower(*a) == lower(*b);
}

const char* name_of(Span<const char* const> names, uint32_t value) { return value < names.size ? names[value] : "?"; }

bool parse_name(Span<const char* const> names, const char* name, uint32_t* out) {
  if (name == nullptr) return false;
  for (size_t i = 0; i < names.size; ++i) {
    if (same_name(names[i], name)) {
      *out = static_cast<uint32_t>(i);
      return true;
    }
  }
  return false;
}

}  // namespace

uint32_t dtype_bits(uint32_t dtype) { return dtype < sizeof kBits ? kBits[dtype] : 0; }

bool dense_bytes(uint32_t dtype, uint32_t rank, const int64_t* shape, uint64_t* out) {
  const uint32_t bits = dtype_bits(dtype);
  if (bits == 0) return false;
  bool is_empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (shape[i] < 0) return false;
    is_empty = is_empty || shape[i] == 0;
  }
  *out = 0;
  if (is_empty) return true;
  uint64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    if (!checked_mul(elements, static_cast<uint64_t>(shape[i]), &elements)) return false;
  }
  if (bits == 4) {
    *out = elements / 2 + elements % 2;
    return true;
  }
  return checked_mul(elements, bits / 8, out);
}

uint64_t element_count(uint32_t dtype, uint64_t total_bytes, uint32_t rank, const int64_t* shape) {
  const uint32_t bits = dtype_bits(dtype);
  if (bits == 0) return 0;
  if (bits >= 8) return total_bytes / (bits / 8);
  uint64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) count *= static_cast<uint64_t>(shape[i]);
  return count;
}

const char* dtype_name(uint32_t dtype) { return name_of(kDtypes, dtype); }
const char* layout_name(uint32_t layout) { return name_of(kLayouts, layout); }
const char* role_name(uint32_t role) { return name_of(kRoles, role); }

bool parse_dtype(const char* name, uint32_t* out) { return parse_name(kDtypes, name, out); }
bool parse_layout(const char* name, uint32_t* out) { return parse_name(kLayouts, name, out); }
bool parse_role(const char* name, uint32_t* out) { return parse_name(kRoles, name, out); }

}  // namespace dumphook
