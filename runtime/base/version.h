// SPDX-License-Identifier: Apache-2.0
// The library's version as text, from the public header's numbers.
#pragma once

#include "dumphook/dumphook.h"

#define DUMPHOOK_TEXT_OF(x) #x
#define DUMPHOOK_VERSION_TEXT(major, minor, patch) \
  DUMPHOOK_TEXT_OF(major) "." DUMPHOOK_TEXT_OF(minor) "." DUMPHOOK_TEXT_OF(patch)

namespace dumphook {
constexpr const char* kVersionText = DUMPHOOK_VERSION_TEXT(DH_VERSION_MAJOR, DH_VERSION_MINOR, DH_VERSION_PATCH);
}  // namespace dumphook
