// SPDX-License-Identifier: Apache-2.0
// Hook: what happens inside dh_capture. TensorView in, Record in the pool out; or a counted loss.
//
// No lock once a tensor is known, no allocation, no system call (policy block waits, and only when the pool is full).
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "capture/dense_reader.h"
#include "capture/frame_table.h"
#include "capture/tensor_table.h"
#include "dumphook/dumphook.h"
#include "pool/pool.h"

namespace dumphook {

struct HookOptions {
  dh_policy policy = DH_POLICY_DROP;
  uint64_t block_timeout_ns = 0;
  uint32_t part_bytes = 1 << 20;
  uint16_t session_serial = 1;  // not 0
  bool stamp_time = false;      // read the clock per capture: only where that is no system call
  Clock clock;
  // Waits until the pool may have room again; false when deadline_ns (monotonic) has passed.
  bool (*wait_for_room)(void* user, uint64_t deadline_ns) = nullptr;
  void* wait_user = nullptr;
};

class Hook {
 public:
  void open(const HookOptions& options, Pool* pool, TensorTable* tensors, FrameTable* frames);

  // `tap` may be NULL. Statuses as in dumphook.h.
  Status capture(dh_tap* tap, dh_frame frame, const dh_tensor& tensor);

 private:
  TensorEntry* recall(const dh_tap* tap, const dh_tensor& tensor, const char* model);
  TensorEntry* resolve(dh_tap* tap, const dh_tensor& tensor, const char* model, dh_loss_reason* loss);
  Status store(TensorEntry& entry, FrameSlot& slot, dh_frame frame, const dh_tensor& tensor, DenseReader& reader,
               dh_level level);
  Status store_digest(TensorEntry& entry, FrameSlot& slot, Record& record, const dh_tensor& tensor,
                      DenseReader& reader);
  bool store_statistics(FrameSlot& slot, Record& record, const dh_tensor& tensor, DenseReader& reader);
  void hand_over(FrameSlot& slot, uint32_t first_block, Record& record);
  Status store_in_pieces(TensorEntry& entry, FrameSlot& slot, Record& record, const dh_tensor& tensor,
                         DenseReader& reader);
  template <class TryToTake>
  uint32_t reserve_by(const TryToTake& try_to_take, uint64_t* deadline_ns);
  uint32_t reserve(uint64_t bytes, uint64_t* deadline_ns);
  uint32_t reserve_note(uint64_t* deadline_ns);
  void fill(uint32_t first_block, DenseReader& reader, uint64_t bytes, const dh_tensor* quant_of);
  void publish(uint32_t first_block, const Record& record);
  Status lose(TensorEntry& entry, FrameSlot* slot, uint64_t frame, dh_loss_reason reason);

  HookOptions options_;
  Pool* pool_ = nullptr;
  TensorTable* tensors_ = nullptr;
  FrameTable* frames_ = nullptr;
  alignas(64) std::atomic<uint64_t> next_capture_id_{0};
};

// Bytes that follow the dense bytes in a record: scales, then zero points. 0 without quantization.
uint64_t quant_bytes(uint32_t count, bool has_zero_point);

}  // namespace dumphook
