// SPDX-License-Identifier: Apache-2.0
// Pool: raw tensor bytes between the hook and the worker. Fixed blocks; a tensor is a chain of them plus one Record,
// which is kept at the chain's first block. reserve -> fill -> publish on any thread, peek -> read -> release on the
// worker. Of tensors whose bytes stay behind there are notes: records with a digest or statistics, without blocks, and
// with numbers beyond those of the blocks.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/arena.h"
#include "base/bytes.h"
#include "dumphook/dumphook.h"
#include "measure/statistics.h"
#include "pool/block_list.h"
#include "pool/queue.h"

namespace dumphook {

// What the hook knew of a tensor besides its bytes. One record is one run of dense bytes; a tensor larger than the pool
// (policy block) comes as several, in order, from one thread.
enum class Content : uint8_t {
  bytes,       // to be shipped
  measured,    // bytes, of which the statistics are to be shipped (DH_LEVEL_STATS)
  digest,      // no bytes, but their digest (DH_LEVEL_HASH)
  statistics,  // a note in place of bytes that found no room (policy degrade): the tensor counts as lost
};

struct RecordHead {
  uint64_t frame;
  uint64_t capture_id;
  uint64_t total_bytes;   // of the dense tensor
  uint64_t offset;        // of this record in it
  uint64_t stored_bytes;  // dense bytes in this record
  uint64_t capture_time_ns;
  uint64_t digest;
  uint32_t tensor_id;
  uint32_t frame_slot;
  uint32_t instance;
  uint32_t occurrence;
  uint32_t block_count;
  uint32_t quant_count;  // scales and zero points that follow the dense bytes, 8-byte aligned; in a note, one of each
  float note_scale;
  int32_t note_zero_point;
  int32_t quant_axis;
  uint8_t quant_kind;
  uint8_t dtype;
  uint8_t role;
  uint8_t layout;
  uint8_t rank;
  uint8_t logical_rank;
  uint8_t plane_count;
  Content content;
  bool has_zero_point;
  bool has_strides;
  bool first;  // of its tensor
  bool last;
  bool truncated;  // the deadline passed: no more of this tensor will come
};

// Of the lists only what rank, logical_rank, has_strides and plane_count count is set. Lies in whole cache lines: the
// worker has read it on another core, so each line that a hook writes must be fetched first.
struct alignas(64) Record : RecordHead {
  int64_t shape[DH_MAX_RANK];
  int64_t logical_shape[DH_MAX_RANK];
  int64_t strides[DH_MAX_RANK];
  struct {
    uint64_t row_stride, row_bytes, rows;
  } planes[DH_MAX_PLANES];
};

class Pool {
 public:
  // Blocks, links, records and queue from `arena`; `arena` may only measure. block_bytes is a power of two.
  bool open(Arena& arena, uint64_t pool_bytes, uint32_t block_bytes, uint32_t note_count);

  uint32_t block_bytes() const { return block_bytes_; }
  uint32_t block_count() const { return block_count_; }
  uint64_t capacity_bytes() const { return uint64_t{block_count_} * block_bytes_; }
  uint32_t blocks_for(uint64_t bytes) const {
    return bytes == 0 ? 1 : static_cast<uint32_t>((bytes + block_bytes_ - 1) >> block_bits_);
  }

  // --- the hook ---------------------------------------------------------------------------------------------------
  // A chain for `bytes`; BlockList::kNone when it does not fit now. blocks_for(bytes) must be <= block_count().
  uint32_t reserve(uint64_t bytes) { return free_.take(blocks_for(bytes)); }
  // A note; BlockList::kNone when all are taken.
  uint32_t reserve_note() {
    const uint32_t taken = free_notes_.take(1);
    return taken == BlockList::kNone ? taken : block_count_ + taken;
  }
  bool is_note(uint32_t number) const { return number >= block_count_; }
  TensorStatistics& statistics(uint32_t note) { return statistics_[note - block_count_]; }
  Record& record(uint32_t first_block) { return records_[first_block]; }
  // Fetches its lines for writing, while the bytes are copied.
  void prefetch_record(uint32_t first_block) {
    const auto* lines = reinterpret_cast<const char*>(&records_[first_block]);
    for (size_t at = 0; at < sizeof(RecordHead) + sizeof(Record::shape); at += 64) __builtin_prefetch(lines + at, 1);
  }
  uint8_t* block(uint32_t number) { return memory_ + uint64_t{number} * block_bytes_; }
  uint32_t next(uint32_t number) const { return free_.next(number); }
  // Hands the filled chain to the worker.
  void publish(uint32_t first_block) { queue_.push(first_block); }
  // Chains handed over so far, modulo 2^32; released() is how many of them the worker is done with.
  uint32_t published() const { return queue_.pushed(); }

  // --- the worker -------------------------------------------------------------------------------------------------
  bool peek(uint32_t* first_block) const { return queue_.peek(first_block); }
  // Removes what peek showed and frees its blocks.
  void release(uint32_t first_block);
  uint32_t released() const { return queue_.popped(); }

  uint64_t used_bytes() const;
  uint64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  void note_peak();

 private:
  uint8_t* memory_ = nullptr;
  Record* records_ = nullptr;               // of blocks, then of notes
  TensorStatistics* statistics_ = nullptr;  // of notes
  uint32_t block_bytes_ = 0;
  uint32_t block_bits_ = 0;  // block_bytes_ = 1 << block_bits_
  uint32_t block_count_ = 0;
  std::atomic<uint64_t> peak_{0};
  BlockList free_;
  BlockList free_notes_;
  Queue queue_;
};

}  // namespace dumphook
