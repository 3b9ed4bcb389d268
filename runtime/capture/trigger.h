// SPDX-License-Identifier: Apache-2.0
// Triggers: what a tensor must show for the frames that wait to be shipped. A list in one text, separated by commas:
//
//     nan  inf  saturated>SHARE  range:LOW..HIGH  constant  event:NAME   and, once, after:FRAMES
//
// All but the last two may end in @GLOB, matched as in `include`: only such tensors count. Values are real ones where
// the tensor is quantised per tensor, else as stored. Numbers are decimal with a point, whatever the locale.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/statistics.h"

namespace dumphook {

struct Trigger {
  enum class Kind : uint8_t { nan, inf, saturated, range, constant, event };
  static constexpr size_t kTextBytes = 96;
  Kind kind = Kind::nan;
  double low = 0;              // range; saturated: the share that is exceeded, 0 ... 1
  double high = 0;             // range
  uint8_t argument_at = 0;     // in `text`: an event's name, or the glob of the tensors that count; 0 = all
  char text[kTextBytes] = {};  // as it was written

  const char* argument() const { return argument_at == 0 ? nullptr : text + argument_at; }
};

// real = scale * (stored - zero_point)
struct StoredScale {
  double scale = 1;
  double zero_point = 0;
};

bool holds(const Trigger& trigger, const TensorStatistics& statistics, const StoredScale& scale);

struct TriggerList {
  static constexpr uint32_t kMaxTriggers = 16;
  Trigger triggers[kMaxTriggers];
  uint32_t count = 0;
  uint32_t frames_after = 0;

  // False when an item cannot be understood or there are too many; it is then in `wrong`.
  using Item = char[Trigger::kTextBytes + 1];
  bool parse(const char* text, Item wrong);
  // Whether any of them asks for what tensors hold.
  bool looks_at_tensors() const;
};

// Whether a list has "event:NAME".
bool names_event(const char* list, const char* name);

}  // namespace dumphook
