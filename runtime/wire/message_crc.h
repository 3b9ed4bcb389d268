// SPDX-License-Identifier: Apache-2.0
// How the writers of messages end: pad, and set the CRC. What readers need is in messages.h.
#pragma once

#include "base/bytes.h"
#include "wire/flat_writer.h"

namespace dumphook {

constexpr size_t kMessageAlign = 8;

// Sets the CRC of a whole message. Returns its length.
size_t seal_message(Bytes message);

// Pads what `writer` wrote to the front of `out`, and seals it. 0 when it did not fit.
size_t seal_message(FlatWriter& writer, Bytes out);

}  // namespace dumphook
