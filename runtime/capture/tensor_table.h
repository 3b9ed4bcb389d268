// SPDX-License-Identifier: Apache-2.0
// TensorTable: every tensor name the session has met, with its counters. Entries are only added, under a lock, and
// found without one. The last entry is nobody's: it counts what had no room of its own.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/arena.h"
#include "base/status.h"
#include "capture/selection.h"
#include "dumphook/dumphook.h"

namespace dumphook {

// Losses of one tensor for one reason. A hook says that it begins, widens the range, and raises the count. The worker
// reads the count, takes the range, and reads how many have begun: when these are more than the count, somebody was in
// between, whose frame may be in the range that was taken while its count is not. The next report then covers all that
// was told before, too, so that a loss is never outside what is reported for it.
struct LossCell {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> count{0};
  std::atomic<uint64_t> first_frame{~uint64_t{0}};
  std::atomic<uint64_t> last_frame{0};
  // The worker's: what was reported so far, and whether the next report covers it, too.
  uint64_t told = 0;
  uint64_t told_first = ~uint64_t{0};
  uint64_t told_last = 0;
  bool carry = false;

  struct Range {
    uint64_t count;
    uint64_t first_frame;
    uint64_t last_frame;
  };

  void add(uint64_t frame) { add(frame, frame, 1); }
  void add(uint64_t first, uint64_t last, uint64_t lost);
  bool has_untold() const { return count.load(std::memory_order_relaxed) != told; }
  // What was lost since the last call; count 0 = nothing. Worker only.
  Range take();
  // All that was reported will be reported again. Worker only.
  void retell();
  // This much of it, because the report is gone. Worker only.
  void retell(uint64_t first, uint64_t last, uint64_t lost);
};

// key=value of a tensor; a list that only grows at its front, so that it can be walked without the lock.
struct TensorAttribute {
  const char* key;
  const char* value;
  TensorAttribute* next;
};

constexpr uint32_t kFrameSlots = DH_MAX_OPEN_FRAMES + 8;

struct TensorEntry {
  // Set once, before the entry can be found.
  const char* model = "";
  const char* name = "";
  const char* op = "";
  const char* raw_type = "";
  const char* const* origin_names = nullptr;
  uint32_t origin_count = 0;
  uint32_t tensor_id = 0;
  int32_t node_index = -1;
  int32_t output_slot = 0;
  uint32_t role = 0;
  uint64_t name_hash = 0;

  // generation << 3 | dh_level: the level holds while the generation is the session's.
  std::atomic<uint64_t> level{0};

  alignas(64) std::atomic<uint64_t> seen{0};
  std::atomic<uint64_t> too_big_bytes{0};
  std::atomic<TensorAttribute*> attributes{nullptr};
  LossCell lost[DH_LOSS_REASON_COUNT];
  // Per frame slot: which use of the slot (low 20 bits) << 12 | captures of this name in that frame so far.
  std::atomic<uint32_t> occurrences[kFrameSlots];

  // Written by the worker.
  alignas(64) std::atomic<uint64_t> shipped{0};
  uint64_t descriptor_hash = 0;  // of what the stream was told last
  uint64_t waiting_hash = 0;     // of what went last to the ring of frames that wait for a trigger
  bool described = false;
  bool waiting_described = false;

  // `lost` by reason, and what is shipped; exact at any moment, if `seen` is read later. What was shipped and removed
  // again is lost: `shipped` itself never goes down, so that no tensor is ever in both numbers, or in neither.
  uint64_t read_outcomes(uint64_t lost[DH_LOSS_REASON_COUNT]) const;

  uint64_t lost_total() const;
  bool has_untold_loss() const;
  // 0, 1, ... `use` tells the frames of one slot apart; not 0.
  uint32_t next_occurrence(uint32_t frame_slot, uint32_t use);
};

class TensorTable {
 public:
  // `strings` is where names are copied to.
  bool open(Arena& tables, Arena* strings, uint32_t max_tensors);
  ~TensorTable() = default;
  void close();

  // The entry of model and name, made from `tensor` when new. Without room: the entry of nobody, with *loss set, or
  // NULL when the tensor is not selected anyway.
  TensorEntry* find_or_add(const dh_tensor& tensor, const char* model, dh_loss_reason* loss);
  TensorEntry* find(const char* model, const char* name);
  TensorEntry& entry(uint32_t id) { return entries_[id]; }
  TensorEntry& nobody() { return entries_[max_tensors_]; }
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  uint32_t max_tensors() const { return max_tensors_; }
  bool is_nobody(const TensorEntry* entry) const { return entry == &entries_[max_tensors_]; }

  // The level under the current selection, cached in the entry.
  dh_level level(TensorEntry& entry);
  // Takes a new selection for all tensors from now on.
  void select(const Selection& selection);
  void select_locked(const Selection& selection);  // between lock() and unlock()
  const Selection& selection() const { return selection_; }

  // Copies into the string arena. Without room for all: NULL or false, and nothing is used up. NULL is copied as "".
  // Takes the lock.
  const char* keep_string(const char* text);
  bool keep_strings(Span<const char* const> texts, const char** copies);
  // Whether the string arena has that much left now. Takes the lock.
  bool has_room(uint64_t bytes);
  // Room in the string arena, 8-byte aligned; NULL when it is full. Takes the lock.
  void* keep_room(size_t bytes);
  // Sets an attribute of a tensor, which need not be known yet. Takes the lock. DH_ERR_LIMIT beyond what a descriptor
  // takes.
  static constexpr uint32_t kMaxAttributes = 32;
  static constexpr size_t kMaxAttributeBytes = 16384;
  Status add_attribute(const char* model, const char* name, const char* key, const char* value);
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  TensorEntry* lookup(uint64_t hash, const char* model, const char* name) const;
  TensorEntry* add_locked(const dh_tensor& tensor, const char* model, uint64_t hash, dh_loss_reason* loss);
  static void attach_locked(TensorEntry* entry, TensorAttribute* attribute);
  void attach_early_locked(TensorEntry* entry);
  bool has_room_for_attribute(const char* model, const char* name, const char* key, const char* value);

  TensorEntry* entries_ = nullptr;
  std::atomic<uint32_t>* buckets_ = nullptr;  // tensor id + 1; 0 = empty
  uint32_t bucket_mask_ = 0;
  uint32_t max_tensors_ = 0;
  std::atomic<uint32_t> count_{0};
  std::atomic<uint64_t> generation_{1};
  Arena* strings_ = nullptr;
  struct EarlyAttribute {  // of a tensor that has not been captured yet
    const char* model;
    const char* name;
    TensorAttribute attribute;
    EarlyAttribute* next;
  };
  EarlyAttribute* early_ = nullptr;
  Selection selection_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace dumphook
