// SPDX-License-Identifier: Apache-2.0
// Element types: widths, sizes of dense tensors, names. Also the names of layouts and roles.
#pragma once

#include <cstdint>

#include "dumphook/dumphook.h"

namespace dumphook {

// Bits of one element; 0 when `dtype` is not a dh_dtype. DH_RAW has 8.
uint32_t dtype_bits(uint32_t dtype);

// Bytes of a tensor in C order without gaps; four-bit types share bytes, so the last byte may be half used. Rank 0 is
// one element; a dimension of 0 makes 0 bytes. `shape` has `rank` entries and may be NULL when rank is 0.
// False when dtype is unknown, a dimension is negative, or the size does not fit 64 bits.
[[nodiscard]] bool dense_bytes(uint32_t dtype, uint32_t rank, const int64_t* shape, uint64_t* out);

// Elements of a tensor that has `total_bytes` dense bytes: what these give, also for planes and raw bytes, whose shape
// says something else; of four-bit types, where an odd one looks like two, what the shape says. 0 for an unknown dtype.
uint64_t element_count(uint32_t dtype, uint64_t total_bytes, uint32_t rank, const int64_t* shape);

// "f32", "NCHW", "input" and so on, as in the CLI and JSON; "?" when the value is unknown.
const char* dtype_name(uint32_t dtype);
const char* layout_name(uint32_t layout);
const char* role_name(uint32_t role);

// The inverse, upper and lower case alike. False, and *out untouched, when nothing has that name.
[[nodiscard]] bool parse_dtype(const char* name, uint32_t* out);
[[nodiscard]] bool parse_layout(const char* name, uint32_t* out);
[[nodiscard]] bool parse_role(const char* name, uint32_t* out);

}  // namespace dumphook
