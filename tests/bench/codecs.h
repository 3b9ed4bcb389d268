// SPDX-License-Identifier: Apache-2.0
// The codec of parts, and what it is measured against, behind one interface.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace bench {

struct Codec {
  const char* name;
  // Bytes written; `out` has room for raw.size + raw.size / 16 + 4096. `method` goes to decode.
  size_t (*encode)(uint32_t dtype, dumphook::ConstBytes raw, dumphook::Bytes out, uint8_t* method);
  bool (*decode)(uint32_t dtype, uint8_t method, dumphook::ConstBytes data, dumphook::Bytes raw);
};

// Those that this build has.
const std::vector<Codec>& codecs();

}  // namespace bench
