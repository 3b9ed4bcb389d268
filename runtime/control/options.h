// SPDX-License-Identifier: Apache-2.0
// Options: dh_options gathered from code, config file and environment, checked, with defaults filled in; and the
// Selection they ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "capture/selection.h"
#include "dumphook/dumphook.h"

namespace dumphook {

// What was wrong, for on_log.
struct ErrorText {
  char text[512] = {};
  Status fail(Status status, const char* format, ...) __attribute__((format(printf, 3, 4)));
};

// dh_options whose texts it owns. About 24 KiB.
class Options {
 public:
  // Copies what the caller's struct_size covers, and the texts. DH_ERR_ARGUMENT for a struct that is too small,
  // DH_ERR_LIMIT when the texts are too long altogether.
  Status assign(const dh_options& from, ErrorText* error);
  // One `key = value` pair. Keys are the names in brackets in dumphook.h. Byte counts take the suffixes K, M, G
  // (binary).
  Status set(const char* key, const char* value, ErrorText* error);
  // Lines of `key = value`; `#` begins a comment. Also those of SigmaStar's DebugConfig.txt, of which on_log hears what
  // they mean here. `origin` names the text in errors.
  Status set_lines(const char* text, const char* origin, ErrorText* error);
  Status read_file(const char* path, ErrorText* error);
  // DUMPHOOK_CONFIG, then DUMPHOOK_<KEY> in capitals. DUMPHOOK_META_* and what is not a key are left alone.
  Status read_environment(const char* const* environment, ErrorText* error);
  // Fills in the defaults and checks that the numbers fit each other.
  Status finish(ErrorText* error);

  const dh_options& get() const { return options_; }

 private:
  Status keep(const char* text, const char** kept, ErrorText* error);
  Status set_debug_switch(char* line, ErrorText* error);
  Status set_debug_path(const char* folder, ErrorText* error);
  void note(const char* key, const char* text) const;

  dh_options options_ = dh_options_default();
  char texts_[20480] = {};
  size_t used_ = 0;
};

// The keys that dh_configure may change, laid over `selection`.
Status set_selection_lines(const char* text, Selection* selection, ErrorText* error);

Status make_selection(const dh_options& options, Selection* selection, ErrorText* error);

}  // namespace dumphook
