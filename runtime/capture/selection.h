// SPDX-License-Identifier: Apache-2.0
// Selection: which tensors of which frames are captured, and how much of them. Made by control, read at the hook when a
// tensor is new or the selection has changed; the answer is cached with the tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dumphook/dumphook.h"

namespace dumphook {

struct Selection {
  Selection();  // in one place: its lists would be a constant of 6 KB in every file that makes one

  static constexpr size_t kListBytes = 2048;
  // Lists as in dh_options: globs separated by commas, "GLOB=level" for levels.
  char include[kListBytes] = {};
  char exclude[kListBytes] = {};
  char levels[kListBytes] = {};
  char triggers[512] = {};  // as capture/trigger.h reads them
  uint32_t role_mask = 0;  // 0 = all
  uint32_t level = DH_LEVEL_FULL;
  uint32_t every_nth = 0;
  uint64_t first_n = 0;
  uint64_t frame_first = 0;
  uint64_t frame_last = 0;
  uint64_t bytes_per_frame = 0;

  // The level of a tensor; DH_LEVEL_OFF when it is not selected. `op` may be NULL.
  dh_level level_of(const char* model, const char* name, const char* op, uint32_t role) const;
  // Whether tensors of this frame are captured. `selected_before` counts the frames that were.
  bool selects_frame(uint64_t number, uint64_t selected_before) const;
};

// Whether a glob of a list means this tensor: "op:GLOB" its op, "model:GLOB" its model, else its name.
bool pattern_matches(const char* pattern, const char* model, const char* name, const char* op);

// Walks a comma-separated list in place. False at the end; else `item` is the next element, without blanks around it,
// cut to item_bytes - 1.
bool next_list_item(const char** cursor, char* item, size_t item_bytes);

// "off", "hash", "stats", "full". False for anything else.
bool parse_level(const char* text, dh_level* level);

}  // namespace dumphook
