// SPDX-License-Identifier: Apache-2.0
// The memory that lock-free code runs on. Such code takes it as a template parameter, so that a model checker can put
// one in which every order and every old value that C++ allows can be tried (tests/support/interleave.h).
#pragma once

#include <atomic>

namespace dumphook {

struct RealMemory {
  template <class T>
  using Atomic = std::atomic<T>;
  template <class T>
  using Plain = T;  // shared, but never touched by two threads at once
};

}  // namespace dumphook
