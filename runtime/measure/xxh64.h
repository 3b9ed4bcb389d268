// SPDX-License-Identifier: Apache-2.0
// XXH64, the 64-bit hash of descriptors and tensors. From the published specification (xxHash fast digest algorithm,
// version 0.2.0). Not a defence against forgery.
#pragma once

#include "base/bytes.h"

namespace dumphook {

uint64_t xxh64(const void* data, size_t bytes, uint64_t seed);

// The same in pieces: any cut of the input gives the same digest.
class Xxh64 {
 public:
  explicit Xxh64(uint64_t seed = 0);

  void update(const void* data, size_t bytes);

  // Of all bytes so far; more may follow.
  uint64_t digest() const;

 private:
  static constexpr size_t kStripeBytes = 32;

  uint64_t lanes_[4];
  uint64_t seed_;
  uint64_t total_bytes_ = 0;
  uint8_t pending_[kStripeBytes];  // total_bytes_ % kStripeBytes of them are in use
};

}  // namespace dumphook
