// SPDX-License-Identifier: Apache-2.0
#include "measure/xxh64.h"

namespace dumphook {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87u;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9u;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5u;

uint64_t rotate_left(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }

uint64_t round(uint64_t lane, uint64_t input) { return rotate_left(lane + input * kPrime2, 31) * kPrime1; }

uint64_t merge_lane(uint64_t hash, uint64_t lane) { return (hash ^ round(0, lane)) * kPrime1 + kPrime4; }

}  // namespace

Xxh64::Xxh64(uint64_t seed) : lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1}, seed_(seed) {}

void Xxh64::update(const void* data, size_t bytes) {
  if (bytes == 0) return;
  const uint8_t* p = static_cast<const uint8_t*>(data);
  const size_t pending = total_bytes_ % kStripeBytes;
  total_bytes_ += bytes;
  if (pending + bytes < kStripeBytes) {
    memcpy(pending_ + pending, p, bytes);
    return;
  }

  uint64_t a = lanes_[0], b = lanes_[1], c = lanes_[2], d = lanes_[3];
  const auto eat_stripe = [&](const uint8_t* stripe) {
    a = round(a, load_le<uint64_t>(stripe));
    b = round(b, load_le<uint64_t>(stripe + 8));
    c = round(c, load_le<uint64_t>(stripe + 16));
    d = round(d, load_le<uint64_t>(stripe + 24));
  };
  if (pending != 0) {
    memcpy(pending_ + pending, p, kStripeBytes - pending);
    p += kStripeBytes - pending;
    bytes -= kStripeBytes - pending;
    eat_stripe(pending_);
  }
  for (; bytes >= kStripeBytes; bytes -= kStripeBytes, p += kStripeBytes) eat_stripe(p);
  lanes_[0] = a, lanes_[1] = b, lanes_[2] = c, lanes_[3] = d;
  if (bytes != 0) memcpy(pending_, p, bytes);
}

uint64_t Xxh64::digest() const {
  uint64_t hash;
  if (total_bytes_ >= kStripeBytes) {
    hash =
        rotate_left(lanes_[0], 1) + rotate_left(lanes_[1], 7) + rotate_left(lanes_[2], 12) + rotate_left(lanes_[3], 18);
    for (uint64_t lane : lanes_) hash = merge_lane(hash, lane);
  } else {
    hash = seed_ + kPrime5;
  }
  hash += total_bytes_;

  const uint8_t* p = pending_;
  size_t left = total_bytes_ % kStripeBytes;
  for (; left >= 8; left -= 8, p += 8) {
    hash = rotate_left(hash ^ round(0, load_le<uint64_t>(p)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = rotate_left(hash ^ (load_le<uint32_t>(p) * kPrime1), 23) * kPrime2 + kPrime3;
    left -= 4, p += 4;
  }
  for (; left != 0; --left, ++p) hash = rotate_left(hash ^ (*p * kPrime5), 11) * kPrime1;

  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

uint64_t xxh64(const void* data, size_t bytes, uint64_t seed) {
  Xxh64 hash(seed);
  hash.update(data, bytes);
  return hash.digest();
}

}  // namespace dumphook
