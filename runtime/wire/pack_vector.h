// SPDX-License-Identifier: Apache-2.0
// The sets of kernels that only some processors run.
#pragma once

#include "wire/pack_kernels.h"

namespace dumphook {

#if defined(__aarch64__)
extern const PackKernels kNeonKernels;
extern const UnpackKernels kNeonUnpackKernels;
#elif defined(__x86_64__)
extern const PackKernels kAvx2Kernels;  // need AVX2 and POPCNT
extern const UnpackKernels kAvx2UnpackKernels;
#endif

}  // namespace dumphook
