// SPDX-License-Identifier: Apache-2.0
// Arena: carves one block, front to back. Nothing is given back.
#pragma once

#include "base/bytes.h"

namespace dumphook {

constexpr size_t kArenaAlign = 64;

// The function that carves the block also tells how large the block must be: run it on Arena::measuring(), then
// used_bytes() is the answer. Such an arena has no memory, so take() gives nullptr all along; ask ok(), once, at the
// end, whether all was granted:
//
//     tables.seqs = arena.take_array<uint64_t>(count);
//     tables.names = arena.take_array<Name>(count);
//     if (!arena.ok()) return DH_ERR_MEMORY;
//     if (arena.is_measuring()) return DH_OK;
class Arena {
 public:
  // `block.data` is kArenaAlign-aligned and outlives all that is taken from it. It is not cleared.
  explicit Arena(Bytes block) : base_(block.data), size_(block.size) {}
  static Arena measuring() { return Arena(Bytes(nullptr, SIZE_MAX - kArenaAlign)); }

  // `align` is a power of two, at most kArenaAlign. nullptr when the rest is too small, and then ok() is false ever
  // after.
  void* take(size_t bytes, size_t align) {
    const size_t at = align_up(used_, align);
    if (failed_ || at > size_ || bytes > size_ - at) {
      failed_ = true;
      return nullptr;
    }
    used_ = at + bytes;
    return base_ == nullptr ? nullptr : base_ + at;
  }

  // The same for what may be refused: nullptr changes nothing, and smaller requests still succeed.
  void* take_if_room(size_t bytes, size_t align) {
    const size_t at = align_up(used_, align);
    return at > size_ || bytes > size_ - at ? nullptr : take(bytes, align);
  }

  // Uninitialised memory for `count` objects.
  template <class T>
  T* take_array(size_t count) {
    static_assert(alignof(T) <= kArenaAlign, "the block is not aligned for it");
    uint64_t bytes = 0;
    if (!checked_mul(count, sizeof(T), &bytes) || bytes > SIZE_MAX) {
      failed_ = true;
      return nullptr;
    }
    return static_cast<T*>(take(static_cast<size_t>(bytes), alignof(T)));
  }

  bool ok() const { return !failed_; }
  bool is_measuring() const { return base_ == nullptr; }
  size_t used_bytes() const { return used_; }
  size_t left_bytes() const { return size_ - used_; }

 private:
  uint8_t* base_;
  size_t size_;
  size_t used_ = 0;
  bool failed_ = false;
};

}  // namespace dumphook
