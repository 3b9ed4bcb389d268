// SPDX-License-Identifier: Apache-2.0
// Globs over tensor names.
#pragma once

namespace dumphook {

// True when `pattern` matches all of `text`: `*` any bytes, also none and also `/`; `?` any one byte; `[a-z]` one byte
// of the set, `[!a-z]` one byte not of it (a `]` that comes first is a member); anything else itself, also a `[` that
// is never closed. NULL is the empty string. Never exponential: length(pattern)^2 x length(text) steps at the very
// worst.
bool glob_match(const char* pattern, const char* text);

}  // namespace dumphook
