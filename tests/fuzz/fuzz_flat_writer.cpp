// SPDX-License-Identifier: Apache-2.0
// Whatever is written is read back by flatc's code as it was meant, and never outside the buffer.
#include <cstdio>
#include <cstdlib>

#include "flat_writer_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* failure = dumphook::check_flat_writer(dumphook::ConstBytes(data, size));
  if (failure != nullptr) {
    fprintf(stderr, "fails: %s\n", failure);
    abort();
  }
  return 0;
}
