// SPDX-License-Identifier: Apache-2.0
#include "capture/trigger.h"

#include <cstring>

#include "capture/selection.h"

namespace dumphook {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A decimal number at *at, which moves behind it. Not strtod: the application's locale may write a comma.
bool read_number(const char** at, double* out) {
  const char* p = *at;
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  double value = 0;
  int scale = 0, digits = 0;
  for (; is_digit(*p); ++p, ++digits) value = value * 10 + (*p - '0');
  // "1..2" is 1, then a range's dots.
  if (*p == '.' && p[1] != '.') {
    for (++p; is_digit(*p); ++p, ++digits, --scale) value = value * 10 + (*p - '0');
  }
  if (digits == 0) return false;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    if (!is_digit(*p)) return false;
    int exponent = 0;
    for (; is_digit(*p); ++p) {
      if (exponent < 1000) exponent = exponent * 10 + (*p - '0');
    }
    scale += down ? -exponent : exponent;
  }
  // A power that is exact up to 10^22, so that usual numbers are as the compiler would read them.
  double power = 1;
  for (int i = scale < 0 ? -scale : scale; i > 0 && power < 1e308; --i) power *= 10;
  value = scale < 0 ? value / power : value * power;
  *out = negative ? -value : value;
  *at = p;
  return true;
}

bool skip(const char** at, const char* text) {
  const size_t length = std::strlen(text);
  if (std::strncmp(*at, text, length) != 0) return false;
  *at += length;
  return true;
}

// A bound of a range; left out it is infinite.
bool read_bound(const char** at, double missing, double* out) {
  const bool given = is_digit(**at) || **at == '-' || **at == '+' || (**at == '.' && is_digit((*at)[1]));
  *out = missing;
  return !given || read_number(at, out);
}

bool parse_item(Trigger* trigger) {
  const char* at = trigger->text;
  bool ok = true;
  if (skip(&at, "event:")) {
    trigger->kind = Trigger::Kind::event;
    trigger->argument_at = static_cast<uint8_t>(at - trigger->text);
    return *at != '\0';
  }
  if (skip(&at, "saturated>")) {
    trigger->kind = Trigger::Kind::saturated;
    ok = read_number(&at, &trigger->low) && trigger->low >= 0 && trigger->low < 1;
  } else if (skip(&at, "range:")) {
    trigger->kind = Trigger::Kind::range;
    constexpr double kInfinity = __builtin_inf();
    ok = read_bound(&at, -kInfinity, &trigger->low) && skip(&at, "..") && read_bound(&at, kInfinity, &trigger->high) &&
         trigger->low <= trigger->high;
  } else if (skip(&at, "constant")) {
    trigger->kind = Trigger::Kind::constant;
  } else if (skip(&at, "nan")) {
    trigger->kind = Trigger::Kind::nan;
  } else if (skip(&at, "inf")) {
    trigger->kind = Trigger::Kind::inf;
  } else {
    return false;
  }
  if (skip(&at, "@")) {
    trigger->argument_at = static_cast<uint8_t>(at - trigger->text);
    return ok && *at != '\0';
  }
  return ok && *at == '\0';
}

bool parse_after(const char* at, uint32_t* frames) {
  uint32_t value = 0;
  const char* begin = at;
  for (; is_digit(*at); ++at) {
    if (value > 100000000) return false;
    value = value * 10 + static_cast<uint32_t>(*at - '0');
  }
  *frames = value;
  return at != begin && *at == '\0';
}

}  // namespace

bool holds(const Trigger& trigger, const TensorStatistics& s, const StoredScale& scale) {
  switch (trigger.kind) {
    case Trigger::Kind::nan: return s.nan != 0;
    case Trigger::Kind::inf: return (s.pos_inf | s.neg_inf) != 0;
    case Trigger::Kind::saturated: return saturated_share(s) > trigger.low;
    case Trigger::Kind::constant: return is_constant(s);
    case Trigger::Kind::range: {
      double low = trigger.low / scale.scale + scale.zero_point;
      double high = trigger.high / scale.scale + scale.zero_point;
      if (scale.scale < 0) {
        const double least = high;
        high = low;
        low = least;
      }
      return exceeds(s, low, high);
    }
    default: return false;
  }
}

bool TriggerList::parse(const char* text, Item item) {
  count = 0;
  frames_after = 0;
  while (next_list_item(&text, item, sizeof(Item))) {
    const char* at = item;
    if (skip(&at, "after:")) {
      if (!parse_after(at, &frames_after)) return false;
      continue;
    }
    const size_t length = std::strlen(item);
    if (length >= Trigger::kTextBytes || count == kMaxTriggers) return false;
    Trigger& trigger = triggers[count];
    trigger = Trigger();
    std::memcpy(trigger.text, item, length + 1);
    if (!parse_item(&trigger)) return false;
    ++count;
  }
  return true;
}

bool TriggerList::looks_at_tensors() const {
  for (uint32_t i = 0; i < count; ++i) {
    if (triggers[i].kind != Trigger::Kind::event) return true;
  }
  return false;
}

bool names_event(const char* list, const char* name) {
  TriggerList::Item item;
  while (next_list_item(&list, item, sizeof item)) {
    const char* at = item;
    if (skip(&at, "event:") && std::strcmp(at, name) == 0) return true;
  }
  return false;
}

}  // namespace dumphook
