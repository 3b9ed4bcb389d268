// SPDX-License-Identifier: Apache-2.0
// From options to a Selection.
#include <cstring>

#include "capture/trigger.h"
#include "control/config_lines.h"
#include "control/option_keys.h"
#include "control/options.h"

namespace dumphook {
namespace {

// Patterns are matched in a buffer of this size.
Status check_items(const char* list, const char* key, ErrorText* error) {
  char item[DH_MAX_NAME_BYTES + 8];
  while (next_list_item(&list, item, sizeof item)) {
    if (std::strlen(item) + 1 == sizeof item) {
      return error->fail(DH_ERR_LIMIT, "%s: \"%.60s...\" is longer than %zu bytes", key, item, sizeof item - 2);
    }
  }
  return DH_OK;
}

Status copy_list(const char* from, Span<char> to, const char* key, ErrorText* error) {
  const size_t length = text_length(from);
  if (length >= to.size) return error->fail(DH_ERR_LIMIT, "%s is longer than %zu bytes", key, to.size - 1);
  if (length != 0) std::memcpy(to.data, from, length);
  to.data[length] = '\0';
  return DH_OK;
}

Status check_levels(const char* list, ErrorText* error) {
  char rule[DH_MAX_NAME_BYTES + 16];
  while (next_list_item(&list, rule, sizeof rule)) {
    const char* equals = std::strrchr(rule, '=');
    dh_level level = DH_LEVEL_DEFAULT;
    if (equals == nullptr || !parse_level(equals + 1, &level)) {
      return error->fail(DH_ERR_OPTION, "levels: \"%.80s\" is not of the form GLOB=off|hash|stats|full", rule);
    }
  }
  return DH_OK;
}

Status check_triggers(const char* list, ErrorText* error) {
  TriggerList parsed;
  TriggerList::Item wrong;
  if (parsed.parse(list, wrong)) return DH_OK;
  return error->fail(DH_ERR_OPTION,
                     "triggers: \"%.80s\" is not one of at most %u: nan, inf, saturated>SHARE, range:LOW..HIGH, "
                     "constant (each also with @GLOB), event:NAME, after:FRAMES",
                     wrong, TriggerList::kMaxTriggers);
}

}  // namespace

Status make_selection(const dh_options& o, Selection* selection, ErrorText* error) {
  Status status = copy_list(o.include, Span<char>(selection->include), "include", error);
  if (status == DH_OK) status = copy_list(o.exclude, Span<char>(selection->exclude), "exclude", error);
  if (status == DH_OK) status = copy_list(o.levels, Span<char>(selection->levels), "levels", error);
  if (status == DH_OK) status = check_items(selection->include, "include", error);
  if (status == DH_OK) status = check_items(selection->exclude, "exclude", error);
  if (status == DH_OK) status = check_levels(selection->levels, error);
  if (status == DH_OK) status = copy_list(o.triggers, Span<char>(selection->triggers), "triggers", error);
  if (status == DH_OK) status = check_triggers(selection->triggers, error);
  if (status != DH_OK) return status;
  selection->role_mask = o.role_mask;
  selection->level = o.level;
  selection->every_nth = o.every_nth;
  selection->first_n = o.first_n;
  selection->frame_first = o.frame_first;
  selection->frame_last = o.frame_last;
  selection->bytes_per_frame = o.bytes_per_frame;
  return DH_OK;
}

Status set_selection_lines(const char* text, Selection* selection, ErrorText* error) {
  dh_options o = dh_options_default();
  o.include = selection->include;
  o.exclude = selection->exclude;
  o.levels = selection->levels;
  o.triggers = selection->triggers;
  o.role_mask = selection->role_mask;
  o.level = selection->level;
  o.every_nth = selection->every_nth;
  o.first_n = selection->first_n;
  o.frame_first = selection->frame_first;
  o.frame_last = selection->frame_last;
  o.bytes_per_frame = selection->bytes_per_frame;
  Selection changed = *selection;
  struct Changing final : Lines {
    Changing(dh_options& options, Selection& to, ErrorText* why) : o(options), changed(to), error(why) {}
    Status take(const char* name, char* value) override {
      const Key* key = find_key(name);
      if (key == nullptr || !key->live) {
        return error->fail(DH_ERR_OPTION, "\"%.60s\" cannot be changed while running", name);
      }
      if (key->kind != Kind::text) return parse_value(*key, value, &o) ? DH_OK : parse_error(*key, value, error);
      if (std::strcmp(name, "include") == 0) return copy_list(value, Span<char>(changed.include), name, error);
      if (std::strcmp(name, "exclude") == 0) return copy_list(value, Span<char>(changed.exclude), name, error);
      if (std::strcmp(name, "levels") == 0) return copy_list(value, Span<char>(changed.levels), name, error);
      return copy_list(value, Span<char>(changed.triggers), name, error);
    }
    Status take_bare(char* line) override { return bare_error(line, error); }
    dh_options& o;
    Selection& changed;
    ErrorText* error;
  } changing(o, changed, error);
  const Status status = each_line(text, "dh_configure", error, changing);
  if (status != DH_OK) return status;
  o.include = changed.include;
  o.exclude = changed.exclude;
  o.levels = changed.levels;
  o.triggers = changed.triggers;
  Selection made;
  const Status valid = make_selection(o, &made, error);
  if (valid == DH_OK) *selection = made;
  return valid;
}

}  // namespace dumphook
