// SPDX-License-Identifier: Apache-2.0
// Encoder: Record in, Messages out. Takes tensors from the pool in order of publication, cuts them into parts,
// compresses each part straight into the spool. Used by the worker only.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/frame_table.h"
#include "capture/tensor_table.h"
#include "encode/emitter.h"
#include "encode/stream_state.h"
#include "encode/trigger_gate.h"
#include "measure/statistics.h"
#include "measure/xxh64.h"
#include "pool/pool.h"
#include "spool/spool.h"
#include "wire/messages.h"

namespace dumphook {

struct EncoderOptions {
  uint32_t part_bytes = 1 << 20;
  bool compress = true;
  bool digest = false;
};

class Encoder {
 public:
  bool open(const EncoderOptions& options, Arena& arena, Pool* pool, TensorTable* tensors, FrameTable* frames,
            Spool* spool, StreamState* state, Emitter* emitter, TriggerGate* gate);

  // At most one part. `blocked`: the spool is full; nothing is lost, call again when it has room.
  Step step();
  // Takes the oldest tensor from the pool and counts it as lost. False when there is none.
  bool discard(dh_loss_reason reason);
  // FrameBegin, once per frame. False when blocked.
  bool begin_frame(FrameSlot& slot);
  // The tensor's channel, once per tensor. False when blocked (*step), or when its topic finds no room.
  bool declare(TensorEntry& entry, Step* step);

  // Any thread.
  uint64_t raw_bytes() const { return raw_bytes_.load(std::memory_order_relaxed); }
  uint64_t encoded_bytes() const { return encoded_bytes_.load(std::memory_order_relaxed); }
  bool idle() const;

 private:
  bool describe(TensorEntry& entry, const Record& record, uint32_t first_block, Step* step);
  uint64_t capture_time_of(const Record& record) const;
  Step encode_part(TensorEntry& entry, const Record& record);
  Step encode_digest(TensorEntry& entry, const Record& record);
  Step encode_statistics(TensorEntry& entry, const Record& record, uint32_t first_block);
  bool judge(TensorEntry& entry, const Record& record, uint32_t first_block);
  const TensorStatistics& statistics_of(const Record& record, uint32_t first_block);
  StoredScale stored_scale(const Record& record, uint32_t first_block) const;
  ConstBytes part_bytes(uint32_t bytes);
  void finish_record(const Record& record, uint32_t first_block, bool lost, dh_loss_reason reason);
  uint32_t block_at(uint32_t first_block, uint64_t offset) const;
  void copy_from_chain(uint32_t block, uint32_t at, uint8_t* to, uint64_t bytes) const;

  EncoderOptions options_;
  Pool* pool_ = nullptr;
  TensorTable* tensors_ = nullptr;
  FrameTable* frames_ = nullptr;
  Spool* spool_ = nullptr;
  StreamState* state_ = nullptr;
  Emitter* emitter_ = nullptr;
  TriggerGate* gate_ = nullptr;
  uint8_t* scratch_ = nullptr;  // one part in one piece
  uint8_t* quant_ = nullptr;    // scales and zero points
  void* codec_scratch_ = nullptr;
  StatisticsMeter* meter_ = nullptr;
  // The record in work.
  uint64_t offset_ = 0;  // of the next part within the record
  uint32_t block_ = 0;   // where it begins
  bool started_ = false;
  bool described_ = false;
  uint64_t record_hash_ = 0;  // of its descriptor
  bool judged_ = false;
  bool is_measured_ = false;
  TensorStatistics measured_;
  Xxh64 digest_;
  // Tensors in pieces (policy block) that lost one: their other pieces are of no use.
  struct Broken {
    uint64_t capture_id = 0;
    dh_loss_reason reason = DH_LOSS_REASON_COUNT;
    bool set = false;
  };
  Broken* find_broken(uint64_t capture_id);
  static constexpr uint32_t kMaxBroken = 64;
  Broken broken_[kMaxBroken];
  uint32_t next_broken_ = 0;
  std::atomic<uint64_t> raw_bytes_{0};
  std::atomic<uint64_t> encoded_bytes_{0};
};

}  // namespace dumphook
