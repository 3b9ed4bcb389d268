// SPDX-License-Identifier: Apache-2.0
#include "capture/hook.h"

#include <cstring>
#include <initializer_list>

#include "base/bytes.h"
#include "base/wide_copy.h"

namespace dumphook {
namespace {

constexpr uint32_t kTensorIdBits = 16;

bool is_too_long(const char* text) {
  return text != nullptr && strnlen(text, DH_MAX_NAME_BYTES + 1) > DH_MAX_NAME_BYTES;
}

// Writes into a chain of blocks as if it were one run of bytes.
class ChainWriter {
 public:
  ChainWriter(Pool* pool, uint32_t first_block) : pool_(pool), block_(first_block) {}

  // Room at the current place, up to `wanted`; call advance() with what was used of it.
  uint8_t* room(uint64_t wanted, uint64_t* granted) {
    if (used_ == pool_->block_bytes()) {
      block_ = pool_->next(block_);
      used_ = 0;
    }
    const uint64_t left = pool_->block_bytes() - used_;
    *granted = wanted < left ? wanted : left;
    return pool_->block(block_) + used_;
  }
  void advance(uint64_t bytes) { used_ += static_cast<uint32_t>(bytes); }

  void write(const void* data, uint64_t bytes) {
    const auto* from = static_cast<const uint8_t*>(data);
    while (bytes != 0) {
      uint64_t granted = 0;
      uint8_t* to = room(bytes, &granted);
      std::memcpy(to, from, static_cast<size_t>(granted));
      advance(granted);
      from += granted;
      bytes -= granted;
    }
  }

 private:
  Pool* pool_;
  uint32_t block_;
  uint32_t used_ = 0;
};

Record describe(const dh_tensor& tensor) {
  Record record = {};
  record.dtype = static_cast<uint8_t>(tensor.dtype);
  record.role = static_cast<uint8_t>(tensor.role);
  record.layout = static_cast<uint8_t>(tensor.layout);
  record.rank = static_cast<uint8_t>(tensor.rank);
  record.logical_rank = static_cast<uint8_t>(tensor.logical_rank);
  record.plane_count = static_cast<uint8_t>(tensor.plane_count);
  record.instance = tensor.instance;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    record.shape[i] = tensor.shape[i];
    record.strides[i] = tensor.strides[i];
    record.has_strides |= tensor.strides[i] != 0;
  }
  for (uint32_t i = 0; i < tensor.logical_rank; ++i) record.logical_shape[i] = tensor.logical_shape[i];
  for (uint32_t i = 0; i < tensor.plane_count; ++i) {
    record.planes[i] = {tensor.planes[i].row_stride, tensor.planes[i].row_bytes, tensor.planes[i].rows};
  }
  record.quant_kind = static_cast<uint8_t>(tensor.quant.kind);
  record.quant_axis = -1;
  if (tensor.quant.kind != DH_QUANT_NONE) {
    record.quant_count = tensor.quant.count;
    record.has_zero_point = tensor.quant.zero_point != nullptr;
    if (tensor.quant.kind == DH_QUANT_PER_AXIS) record.quant_axis = tensor.quant.axis;
  }
  return record;
}

}  // namespace

uint64_t quant_bytes(uint32_t count, bool has_zero_point) {
  return uint64_t{count} * (has_zero_point ? sizeof(float) + sizeof(int32_t) : sizeof(float));
}

void Hook::open(const HookOptions& options, Pool* pool, TensorTable* tensors, FrameTable* frames) {
  options_ = options;
  pool_ = pool;
  tensors_ = tensors;
  frames_ = frames;
}

Status Hook::lose(TensorEntry& entry, FrameSlot* slot, uint64_t frame, dh_loss_reason reason) {
  if (slot != nullptr) slot->lost[reason].fetch_add(1, std::memory_order_relaxed);
  entry.lost[reason].add(frame);
  return DH_DROPPED;
}

// The tap remembers which entry it meant last time; the name is compared all the same, so that a tap used for several
// names, or a name buffer used again, never files bytes under a wrong name.
TensorEntry* Hook::recall(const dh_tap* tap, const dh_tensor& tensor, const char* model) {
  if (tap == nullptr) return nullptr;
  const uint32_t binding = __atomic_load_n(&tap->binding, __ATOMIC_ACQUIRE);
  const uint32_t id = (binding & ((1u << kTensorIdBits) - 1)) - 1;
  if (binding >> kTensorIdBits != options_.session_serial || id >= tensors_->count()) return nullptr;
  TensorEntry& entry = tensors_->entry(id);
  return std::strcmp(entry.name, tensor.name) == 0 && std::strcmp(entry.model, model) == 0 ? &entry : nullptr;
}

TensorEntry* Hook::resolve(dh_tap* tap, const dh_tensor& tensor, const char* model, dh_loss_reason* loss) {
  TensorEntry* entry = tensors_->find_or_add(tensor, model, loss);
  if (tap != nullptr && entry != nullptr && !tensors_->is_nobody(entry)) {
    const uint32_t binding = static_cast<uint32_t>(options_.session_serial) << kTensorIdBits | (entry->tensor_id + 1);
    __atomic_store_n(&tap->binding, binding, __ATOMIC_RELEASE);
  }
  return entry;
}

Status Hook::capture(dh_tap* tap, dh_frame frame, const dh_tensor& tensor) {
  if (tensor.struct_size < sizeof(dh_tensor) || tensor.name == nullptr || tensor.name[0] == '\0') {
    return DH_ERR_ARGUMENT;
  }
  if (tensor.origin_count != 0 && tensor.origin_names == nullptr) return DH_ERR_ARGUMENT;
  const char* model = tensor.model != nullptr && tensor.model[0] != '\0' ? tensor.model : "model";
  // Read before the level is, so that a change in between leaves the tap on.
  const uint32_t epoch = __atomic_load_n(&dh_epoch, __ATOMIC_ACQUIRE);
  dh_loss_reason loss = DH_LOSS_REASON_COUNT;
  TensorEntry* entry = recall(tap, tensor, model);
  if (entry == nullptr) {
    for (const char* text : {tensor.name, model, tensor.op, tensor.raw_type}) {
      if (is_too_long(text)) return DH_ERR_LIMIT;
    }
    entry = resolve(tap, tensor, model, &loss);
  }
  if (entry == nullptr || tensors_->level(*entry) == DH_LEVEL_OFF) {
    if (tap != nullptr) __atomic_store_n(&tap->off_epoch, epoch, __ATOMIC_RELAXED);
    return DH_SKIPPED;
  }
  DenseReader reader;
  const Status valid = reader.open(tensor);
  if (valid != DH_OK) return valid;

  FrameSlot* slot = frames_->enter(frame);
  if (slot != nullptr && !slot->selected) {
    frames_->leave(slot);
    return DH_SKIPPED;
  }
  if (slot != nullptr && slot->byte_limit != 0) {
    const uint64_t before = slot->raw_bytes.fetch_add(reader.total_bytes(), std::memory_order_relaxed);
    if (before + reader.total_bytes() > slot->byte_limit) {
      slot->raw_bytes.fetch_sub(reader.total_bytes(), std::memory_order_relaxed);
      frames_->leave(slot);
      return DH_SKIPPED;
    }
  }
  entry->seen.fetch_add(1, std::memory_order_relaxed);
  if (slot == nullptr) {
    const bool refused = (frame & 0xFF) == FrameTable::kRefused;
    return lose(*entry, nullptr, frames_->number_of(frame), refused ? DH_LOSS_FRAME_REFUSED : DH_LOSS_ABANDONED);
  }
  slot->seen.fetch_add(1, std::memory_order_relaxed);
  Status status;
  if (loss != DH_LOSS_REASON_COUNT) {
    status = lose(*entry, slot, slot->number, loss);
  } else {
    status = store(*entry, *slot, frame, tensor, reader);
  }
  frames_->leave(slot);
  return status;
}

uint32_t Hook::reserve(uint64_t bytes, uint64_t* deadline_ns) {
  for (;;) {
    const uint32_t first = pool_->reserve(bytes);
    if (first != BlockList::kNone) {
      pool_->note_peak();
      return first;
    }
    if (options_.policy != DH_POLICY_BLOCK) return BlockList::kNone;
    if (*deadline_ns == 0) *deadline_ns = options_.clock.monotonic_ns() + options_.block_timeout_ns;
    if (!options_.wait_for_room(options_.wait_user, *deadline_ns)) return BlockList::kNone;
  }
}

void Hook::fill(uint32_t first_block, DenseReader& reader, uint64_t bytes, const dh_tensor* quant_of) {
  ChainWriter writer(pool_, first_block);
  for (uint64_t left = bytes; left != 0;) {
    uint64_t granted = 0;
    uint8_t* to = writer.room(left, &granted);
    reader.read(to, granted);
    writer.advance(granted);
    left -= granted;
  }
  if (quant_of == nullptr || quant_of->quant.kind == DH_QUANT_NONE) return;
  static constexpr uint8_t kPadding[8] = {};
  writer.write(kPadding, align_up(bytes, uint64_t{8}) - bytes);
  writer.write(quant_of->quant.scale, uint64_t{quant_of->quant.count} * sizeof(float));
  if (quant_of->quant.zero_point != nullptr) {
    writer.write(quant_of->quant.zero_point, uint64_t{quant_of->quant.count} * sizeof(int32_t));
  }
}

void Hook::publish(uint32_t first_block, const Record& record) {
  pool_->record(first_block) = record;
  finish_wide_copies();
  pool_->publish(first_block);
}

Status Hook::store(TensorEntry& entry, FrameSlot& slot, dh_frame frame, const dh_tensor& tensor, DenseReader& reader) {
  Record record = describe(tensor);
  record.tensor_id = entry.tensor_id;
  record.frame = slot.number;
  record.frame_slot = static_cast<uint32_t>(frame & 0xFF) - 1;
  record.occurrence = entry.next_occurrence(record.frame_slot, slot.uses);
  record.total_bytes = reader.total_bytes();
  record.capture_time_ns = options_.stamp_time ? options_.clock.monotonic_ns() : 0;

  uint64_t need = record.total_bytes;
  if (record.quant_count != 0) {
    need = align_up(need, uint64_t{8}) + quant_bytes(record.quant_count, record.has_zero_point);
  }
  if (need > pool_->capacity_bytes()) {
    if (options_.policy == DH_POLICY_BLOCK) return store_in_pieces(entry, slot, record, tensor, reader);
    entry.too_big_bytes.store(need, std::memory_order_relaxed);
    return lose(entry, &slot, slot.number, DH_LOSS_TOO_BIG);
  }
  slot.pool_bytes.fetch_add(uint64_t{pool_->blocks_for(need)} * pool_->block_bytes(), std::memory_order_relaxed);
  uint64_t deadline_ns = 0;
  const uint32_t first = reserve(need, &deadline_ns);
  if (first == BlockList::kNone) return lose(entry, &slot, slot.number, DH_LOSS_POOL_FULL);
  fill(first, reader, record.total_bytes, &tensor);
  record.capture_id = next_capture_id_.fetch_add(1, std::memory_order_relaxed);
  record.stored_bytes = record.total_bytes;
  record.block_count = pool_->blocks_for(need);
  record.first = record.last = true;
  slot.accepted.fetch_add(1, std::memory_order_relaxed);
  slot.queued.fetch_add(1, std::memory_order_relaxed);
  publish(first, record);
  return DH_OK;
}

// A tensor larger than the pool, under policy block: runs of whole parts, then an empty record that closes it. The
// closing record's block is taken first, so that there is always a way to say that the deadline has passed.
Status Hook::store_in_pieces(TensorEntry& entry, FrameSlot& slot, const Record& prototype, const dh_tensor& tensor,
                             DenseReader& reader) {
  Record record = prototype;
  const uint64_t quant = record.quant_count == 0 ? 0 : quant_bytes(record.quant_count, record.has_zero_point);
  uint64_t piece = pool_->capacity_bytes() / 2;
  piece -= piece % options_.part_bytes;
  // With its scales, and beside the closing block.
  if (pool_->blocks_for(piece + quant) + 1 > pool_->block_count()) {
    entry.too_big_bytes.store(2 * (piece + quant + pool_->block_bytes()), std::memory_order_relaxed);
    return lose(entry, &slot, slot.number, DH_LOSS_TOO_BIG);
  }
  uint64_t deadline_ns = 0;
  const uint32_t closing = reserve(0, &deadline_ns);
  if (closing == BlockList::kNone) return lose(entry, &slot, slot.number, DH_LOSS_POOL_FULL);
  record.capture_id = next_capture_id_.fetch_add(1, std::memory_order_relaxed);
  record.first = true;
  bool expired = false;
  while (record.offset < record.total_bytes) {
    record.stored_bytes = record.total_bytes - record.offset < piece ? record.total_bytes - record.offset : piece;
    uint64_t need = record.stored_bytes;
    if (quant != 0) need = align_up(need, uint64_t{8}) + quant;
    const uint32_t first = reserve(need, &deadline_ns);
    expired = first == BlockList::kNone;
    if (expired) break;
    fill(first, reader, record.stored_bytes, &tensor);
    record.block_count = pool_->blocks_for(need);
    publish(first, record);
    record.offset += record.stored_bytes;
    record.first = false;
  }
  record.stored_bytes = 0;
  record.quant_count = 0;
  record.block_count = 1;
  record.first = false;
  record.last = true;
  record.truncated = expired;
  if (!expired) slot.accepted.fetch_add(1, std::memory_order_relaxed);
  slot.queued.fetch_add(1, std::memory_order_relaxed);
  publish(closing, record);
  return expired ? lose(entry, &slot, slot.number, DH_LOSS_POOL_FULL) : DH_OK;
}

}  // namespace dumphook
