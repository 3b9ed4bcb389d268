// SPDX-License-Identifier: Apache-2.0
#include "wire/pack_kernels.h"

#include "wire/pack_scalar.h"
#include "wire/pack_vector.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <atomic>
#endif

namespace dumphook {

namespace scalar = pack_scalar;

extern const PackKernels kPortableKernels = {
    {scalar::split<uint8_t>, scalar::split<uint16_t>, scalar::split<uint32_t>, scalar::split<uint64_t>},
    {scalar::keep_nonzero<uint8_t>, scalar::keep_nonzero<uint16_t>, scalar::keep_nonzero<uint32_t>,
     scalar::keep_nonzero<uint64_t>},
    scalar::put_level,
};

extern const UnpackKernels kPortableUnpackKernels = {
    {scalar::join<uint8_t>, scalar::join<uint16_t>, scalar::join<uint32_t>, scalar::join<uint64_t>},
    {scalar::spread<uint8_t>, scalar::spread<uint16_t>, scalar::spread<uint32_t>, scalar::spread<uint64_t>},
    scalar::take_level,
};

#if defined(__aarch64__)

const PackKernels& pack_kernels() { return kNeonKernels; }
const UnpackKernels& unpack_kernels() { return kNeonUnpackKernels; }

#elif defined(__x86_64__)

namespace {

bool ask_cpu() {
  constexpr unsigned kOsxsave = 1u << 27, kPopcnt = 1u << 23, kAvx2 = 1u << 5;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsxsave) == 0 || (ecx & kPopcnt) == 0) return false;
  if (__get_cpuid_max(0, nullptr) < 7) return false;
  __cpuid_count(7, 0, eax, ebx, ecx, edx);
  if ((ebx & kAvx2) == 0) return false;
  __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (eax & 6) == 6;  // the system saves the vector registers
}

// 0: not asked yet, 1: no, 2: yes. Every thread finds the same answer, so a race is harmless.
std::atomic<uint8_t> cpu_answer{0};

bool cpu_has_avx2() {
  uint8_t answer = cpu_answer.load(std::memory_order_relaxed);
  if (answer == 0) {
    answer = ask_cpu() ? 2 : 1;
    cpu_answer.store(answer, std::memory_order_relaxed);
  }
  return answer == 2;
}

}  // namespace

const PackKernels& pack_kernels() { return cpu_has_avx2() ? kAvx2Kernels : kPortableKernels; }
const UnpackKernels& unpack_kernels() { return cpu_has_avx2() ? kAvx2UnpackKernels : kPortableUnpackKernels; }

#else

const PackKernels& pack_kernels() { return kPortableKernels; }
const UnpackKernels& unpack_kernels() { return kPortableUnpackKernels; }

#endif

}  // namespace dumphook
