// SPDX-License-Identifier: Apache-2.0
// The keys of options: their names, types and defaults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "control/options.h"
#include "dumphook/dumphook.h"

namespace dumphook {

enum class Kind : uint8_t { text, u32, i32, u64, bytes32, bytes64, level, policy, sync, on_full, roles, flag };

// Without pointers, so that it is constant in a shared library too.
struct Key {
  char name[17];
  Kind kind;
  uint16_t offset;  // in dh_options
  uint32_t flag;    // of Kind::flag
  bool live;        // dh_configure may change it
};

// All of them, so that Options can copy their texts.
Span<const Key> option_keys();
const Key* find_key(const char* name);

// Everything but texts. False when `text` is no value of `key`.
bool parse_value(const Key& key, const char* text, dh_options* options);
Status parse_error(const Key& key, const char* value, ErrorText* error);

// What 0 means.
void fill_in_defaults(dh_options* options);

}  // namespace dumphook
