// SPDX-License-Identifier: Apache-2.0
// The sets of kernels that only some processors run.
#pragma once

#include "wire/pack_kernels.h"

namespace dumphook {

#if defined(__aarch64__)
extern const PackKernels kNeonKernels;
#elif defined(__x86_64__)
extern const PackKernels kAvx2Kernels;  // needs AVX2 and POPCNT
#endif

}  // namespace dumphook
