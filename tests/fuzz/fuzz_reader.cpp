// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture: everything a reader does with it, and its tensors loaded. Seeds: any captures.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "decode/coverage.h"
#include "decode/npy.h"
#include "decode/real_values.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dumphook;
  static const int file = memfd_create("capture", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const auto capture = Capture::open(path);
  if (capture.ok()) {
    for (const CapturedTensor& tensor : capture->tensors()) {
      const auto loaded = capture->load(tensor);
      if (!loaded.ok()) continue;
      // What is allocated must come from the bytes there are: LZ4 grows by 255 at most.
      if (loaded->bytes.size() > 256 * size) abort();
      real_values(*loaded);
      npy_of_real(*loaded);
    }
    for (const CapturedFrame& frame : capture->frames()) capture->execution_order(frame.session, frame.number);
    coverage(*capture).lines();
  }
  const auto array = parse_npy(ConstBytes(data, size));
  if (array.ok() && array->bytes.size() > size) abort();
  return 0;
}
