// SPDX-License-Identifier: Apache-2.0
#include "capture/hook.h"

#include <cstring>
#include <initializer_list>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/wide_copy.h"
#include "measure/xxh64.h"

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

void describe(const dh_tensor& tensor, Record* record) {
  static_cast<RecordHead&>(*record) = RecordHead();
  record->dtype = static_cast<uint8_t>(tensor.dtype);
  record->role = static_cast<uint8_t>(tensor.role);
  record->layout = static_cast<uint8_t>(tensor.layout);
  record->rank = static_cast<uint8_t>(tensor.rank);
  record->logical_rank = static_cast<uint8_t>(tensor.logical_rank);
  record->plane_count = static_cast<uint8_t>(tensor.plane_count);
  record->instance = tensor.instance;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    record->shape[i] = tensor.shape[i];
    record->strides[i] = tensor.strides[i];
    record->has_strides |= tensor.strides[i] != 0;
  }
  for (uint32_t i = 0; i < tensor.logical_rank; ++i) record->logical_shape[i] = tensor.logical_shape[i];
  for (uint32_t i = 0; i < tensor.plane_count; ++i) {
    record->planes[i] = {tensor.planes[i].row_stride, tensor.planes[i].row_bytes, tensor.planes[i].rows};
  }
  record->quant_kind = static_cast<uint8_t>(tensor.quant.kind);
  record->quant_axis = -1;
  if (tensor.quant.kind != DH_QUANT_NONE) {
    record->quant_count = tensor.quant.count;
    record->has_zero_point = tensor.quant.zero_point != nullptr;
    if (tensor.quant.kind == DH_QUANT_PER_AXIS) record->quant_axis = tensor.quant.axis;
  }
}

// What is set of `from`.
void copy_record(const Record& from, Record* to) {
  static_cast<RecordHead&>(*to) = from;
  for (uint32_t i = 0; i < from.rank; ++i) to->shape[i] = from.shape[i];
  for (uint32_t i = 0; i < from.logical_rank; ++i) to->logical_shape[i] = from.logical_shape[i];
  for (uint32_t i = 0; from.has_strides && i < from.rank; ++i) to->strides[i] = from.strides[i];
  for (uint32_t i = 0; i < from.plane_count; ++i) to->planes[i] = from.planes[i];
}

bool lies_in_one_piece(const dh_tensor& tensor, const DenseReader& reader) {
  return !reader.strided() && tensor.plane_count == 0 && reader.total_bytes() != 0;
}

// The dense bytes piece by piece, of tensors that do not lie in one piece.
template <class Take>
void for_each_run(DenseReader& reader, uint64_t bytes, const Take& take) {
  uint8_t run[2048];
  while (bytes != 0) {
    const uint64_t step = bytes < sizeof run ? bytes : sizeof run;
    reader.read(run, step);
    take(static_cast<const uint8_t*>(run), static_cast<size_t>(step));
    bytes -= step;
  }
}

void note_quantization(const dh_tensor& tensor, Record* record) {
  if (record->quant_count == 0) return;
  record->note_scale = tensor.quant.scale[0];
  record->note_zero_point = record->has_zero_point ? tensor.quant.zero_point[0] : 0;
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
  const dh_level level = entry == nullptr ? DH_LEVEL_OFF : tensors_->level(*entry);
  if (level == DH_LEVEL_OFF) {
    if (tap != nullptr) __atomic_store_n(&tap->off_epoch, epoch, __ATOMIC_RELAXED);
    return DH_SKIPPED;
  }
  DenseReader reader;
  const Status valid = reader.open(tensor);
  if (valid != DH_OK) return valid;

  FrameSlot* slot = frames_->enter(frame);
  if (slot == nullptr && (frame & 0xFF) == FrameTable::kUnselected) return DH_SKIPPED;
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
    status = store(*entry, *slot, frame, tensor, reader, level);
  }
  frames_->leave(slot);
  return status;
}

// `try_to_take` gives a block number, or kNone. Under policy block that is tried again until the deadline.
template <class TryToTake>
uint32_t Hook::reserve_by(const TryToTake& try_to_take, uint64_t* deadline_ns) {
  for (;;) {
    const uint32_t first = try_to_take();
    if (first != BlockList::kNone) {
      pool_->prefetch_record(first);
      pool_->note_peak();
      return first;
    }
    if (options_.policy != DH_POLICY_BLOCK) return BlockList::kNone;
    if (*deadline_ns == 0) *deadline_ns = options_.clock.monotonic_ns() + options_.block_timeout_ns;
    if (!options_.wait_for_room(options_.wait_user, *deadline_ns)) return BlockList::kNone;
  }
}

uint32_t Hook::reserve(uint64_t bytes, uint64_t* deadline_ns) {
  return reserve_by([this, bytes] { return pool_->reserve(bytes); }, deadline_ns);
}

uint32_t Hook::reserve_note(uint64_t* deadline_ns) {
  return reserve_by([this] { return pool_->reserve_note(); }, deadline_ns);
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
  copy_record(record, &pool_->record(first_block));
  if (record.total_bytes >= kWideCopyBytes) finish_wide_copies();
  pool_->publish(first_block);
}

void Hook::hand_over(FrameSlot& slot, uint32_t first_block, Record& record) {
  record.capture_id = next_capture_id_.fetch_add(1, std::memory_order_relaxed);
  record.first = record.last = true;
  slot.queued.fetch_add(1, std::memory_order_relaxed);
  publish(first_block, record);
}

// At once and without taking the bytes. A scale per channel, which a note has no place for, takes a block.
Status Hook::store_digest(TensorEntry& entry, FrameSlot& slot, Record& record, const dh_tensor& tensor,
                          DenseReader& reader) {
  const bool as_note = record.quant_count <= 1;
  uint64_t deadline_ns = 0;
  const uint64_t quant = quant_bytes(record.quant_count, record.has_zero_point);
  const uint32_t first = as_note ? reserve_note(&deadline_ns) : reserve(quant, &deadline_ns);
  if (first == BlockList::kNone) return lose(entry, &slot, slot.number, DH_LOSS_POOL_FULL);
  Xxh64 digest(0);
  if (lies_in_one_piece(tensor, reader)) {
    digest.update(tensor.data, static_cast<size_t>(record.total_bytes));
  } else {
    for_each_run(reader, record.total_bytes,
                 [&digest](const uint8_t* run, size_t bytes) { digest.update(run, bytes); });
  }
  record.content = Content::digest;
  record.digest = digest.digest();
  record.block_count = as_note ? 0 : pool_->blocks_for(quant);
  if (as_note) {
    note_quantization(tensor, &record);
  } else {
    fill(first, reader, 0, &tensor);
  }
  slot.accepted.fetch_add(1, std::memory_order_relaxed);
  hand_over(slot, first, record);
  return DH_OK;
}

// Of as many elements as copying all of them would have allowed. False when there is no room for this either.
bool Hook::store_statistics(FrameSlot& slot, Record& record, const dh_tensor& tensor, DenseReader& reader) {
  const uint32_t note = record.quant_count > 1 ? BlockList::kNone : pool_->reserve_note();
  if (note == BlockList::kNone) return false;
  note_quantization(tensor, &record);
  const uint64_t elements = element_count(record.dtype, record.total_bytes, record.rank, record.shape);
  const bool has_zero = record.quant_kind == DH_QUANT_PER_TENSOR && record.has_zero_point;
  StatisticsMeter meter;
  meter.begin(record.dtype, elements, has_zero ? &record.note_zero_point : nullptr,
              affordable_sample(record.dtype, elements));
  if (lies_in_one_piece(tensor, reader)) {
    meter.update(tensor.data, static_cast<size_t>(record.total_bytes));
  } else {
    for_each_run(reader, record.total_bytes, [&meter](const uint8_t* run, size_t bytes) { meter.update(run, bytes); });
  }
  meter.finish(&pool_->statistics(note));
  record.content = Content::statistics;
  record.block_count = 0;
  hand_over(slot, note, record);
  return true;
}

Status Hook::store(TensorEntry& entry, FrameSlot& slot, dh_frame frame, const dh_tensor& tensor, DenseReader& reader,
                   dh_level level) {
  Record record;
  describe(tensor, &record);
  record.tensor_id = entry.tensor_id;
  record.frame = slot.number;
  record.frame_slot = static_cast<uint32_t>(frame & 0xFF) - 1;
  record.occurrence = entry.next_occurrence(record.frame_slot, slot.uses);
  record.total_bytes = reader.total_bytes();
  record.capture_time_ns = options_.stamp_time ? options_.clock.monotonic_ns() : 0;

  if (level == DH_LEVEL_HASH) return store_digest(entry, slot, record, tensor, reader);
  if (level == DH_LEVEL_STATS) record.content = Content::measured;
  uint64_t need = record.total_bytes;
  if (record.quant_count != 0) {
    need = align_up(need, uint64_t{8}) + quant_bytes(record.quant_count, record.has_zero_point);
  }
  if (need > pool_->capacity_bytes()) {
    if (options_.policy == DH_POLICY_BLOCK && level == DH_LEVEL_FULL)
      return store_in_pieces(entry, slot, record, tensor, reader);
    entry.too_big_bytes.store(need, std::memory_order_relaxed);
    return lose(entry, &slot, slot.number, DH_LOSS_TOO_BIG);
  }
  if (options_.policy == DH_POLICY_DROP_FRAME) {
    slot.pool_bytes.fetch_add(uint64_t{pool_->blocks_for(need)} * pool_->block_bytes(), std::memory_order_relaxed);
  }
  uint64_t deadline_ns = 0;
  const uint32_t first = reserve(need, &deadline_ns);
  if (first == BlockList::kNone) {
    const bool degraded = options_.policy == DH_POLICY_DEGRADE && store_statistics(slot, record, tensor, reader);
    return lose(entry, &slot, slot.number, degraded ? DH_LOSS_DEGRADED : DH_LOSS_POOL_FULL);
  }
  fill(first, reader, record.total_bytes, &tensor);
  record.stored_bytes = record.total_bytes;
  record.block_count = pool_->blocks_for(need);
  slot.accepted.fetch_add(1, std::memory_order_relaxed);
  hand_over(slot, first, record);
  return DH_OK;
}

// A tensor larger than the pool, under policy block: runs of whole parts, then an empty record that closes it. The
// closing record's block is taken first, so that there is always a way to say that the deadline has passed.
Status Hook::store_in_pieces(TensorEntry& entry, FrameSlot& slot, Record& record, const dh_tensor& tensor,
                             DenseReader& reader) {
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
  // Also a truncated one: the worker knows whether its parts have been counted, and takes it back.
  slot.accepted.fetch_add(1, std::memory_order_relaxed);
  slot.queued.fetch_add(1, std::memory_order_relaxed);
  publish(closing, record);
  return expired ? DH_DROPPED : DH_OK;
}

}  // namespace dumphook
