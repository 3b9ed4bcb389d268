// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace dumphook {

// Hostile messages, one at a time.
class MessageCheck {
 public:
  // The message's stream_seq when its CRC holds and it is a FlatBuffer of the schema's root; nothing otherwise.
  std::optional<uint64_t> stream_seq(const std::string& schema_name, ConstBytes message);

 private:
  std::vector<uint64_t> aligned_;
};

}  // namespace dumphook
