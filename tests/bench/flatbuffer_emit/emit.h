// SPDX-License-Identifier: Apache-2.0
// The two ways to emit a FlatBuffer on the board that were weighed: FlatBuffers' own builder over a fixed buffer, and
// runtime/wire/flat_writer.h. run.sh prints what each needs, how large it is and how fast.
#pragma once

#include "wire/messages.h"

namespace dumphook {

// Both give a whole message, CRC included, at the address and with the length returned. The payload stands for a
// codec's output, whose length is not known until it has been written: `encode` is handed the place to write to.
struct Emitted {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

struct Emitter {
  using Encode = size_t (*)(Bytes out, ConstBytes raw);

  Emitted (*part)(Bytes out, Bytes scratch, const PartView& view, ConstBytes raw, Encode encode);
  Emitted (*descriptor)(Bytes out, const DescriptorView& view);
};

__attribute__((visibility("default"))) Emitter builder_emitter();
__attribute__((visibility("default"))) Emitter writer_emitter();

}  // namespace dumphook
