// SPDX-License-Identifier: Apache-2.0
#include "encode/encoder.h"

#include <cstring>
#include <new>

#include "base/dtype.h"
#include "capture/hook.h"
#include "wire/codec.h"

namespace dumphook {
namespace {

constexpr size_t kMaxDescriptorBytes = 32768;  // without scales: names, origin names and attributes
constexpr size_t kMaxChannelBytes = kMaxTopicBytes + 128;
constexpr size_t kMaxSummaryBytes = 1536;  // a digest, or statistics with their histogram

void set_key(uint64_t descriptor_hash, const Record& record, TensorKey* key) {
  key->descriptor_hash = descriptor_hash;
  key->frame = record.frame;
  key->capture_id = record.capture_id;
  key->instance = record.instance;
  key->occurrence = record.occurrence;
}

SpoolEntry last_part_of(const TensorEntry& entry, const Record& record) {
  SpoolEntry message;
  message.tensor_id = entry.tensor_id;
  message.channel_id = static_cast<uint16_t>(kFirstTensorChannel + entry.tensor_id);
  message.capture_id = record.capture_id;
  message.first_part = message.last_part = true;
  return message;
}

}  // namespace

bool Encoder::open(const EncoderOptions& options, Arena& arena, Pool* pool, TensorTable* tensors, FrameTable* frames,
                   Spool* spool, StreamState* state, Emitter* emitter, TriggerGate* gate) {
  options_ = options;
  pool_ = pool;
  tensors_ = tensors;
  frames_ = frames;
  spool_ = spool;
  state_ = state;
  emitter_ = emitter;
  gate_ = gate;
  scratch_ = static_cast<uint8_t*>(arena.take(options.part_bytes, 64));
  quant_ = static_cast<uint8_t*>(arena.take(static_cast<size_t>(quant_bytes(kMaxQuantCount, true)), 8));
  codec_scratch_ = arena.take(kCodecScratchBytes, 8);
  meter_ = arena.take_array<StatisticsMeter>(1);
  if (!arena.is_measuring() && arena.ok()) ::new (static_cast<void*>(meter_)) StatisticsMeter;
  return arena.ok();
}

bool Encoder::idle() const {
  uint32_t first = 0;
  return !pool_->peek(&first);
}

uint32_t Encoder::block_at(uint32_t first_block, uint64_t offset) const {
  uint32_t block = first_block;
  for (uint64_t i = offset / pool_->block_bytes(); i != 0; --i) block = pool_->next(block);
  return block;
}

void Encoder::copy_from_chain(uint32_t block, uint32_t at, uint8_t* to, uint64_t bytes) const {
  while (bytes != 0) {
    if (at == pool_->block_bytes()) {
      block = pool_->next(block);
      at = 0;
    }
    const uint64_t left = pool_->block_bytes() - at;
    const uint64_t step = bytes < left ? bytes : left;
    std::memcpy(to, pool_->block(block) + at, static_cast<size_t>(step));
    to += step;
    at += static_cast<uint32_t>(step);
    bytes -= step;
  }
}

// Blocks taken together usually lie side by side, and then nothing needs to be copied. Parts begin at block boundaries.
ConstBytes Encoder::part_bytes(uint32_t bytes) {
  uint32_t block = block_;
  for (uint64_t covered = pool_->block_bytes(); covered < bytes; covered += pool_->block_bytes()) {
    const uint32_t next = pool_->next(block);
    if (next != block + 1) {
      copy_from_chain(block_, 0, scratch_, bytes);
      return {scratch_, bytes};
    }
    block = next;
  }
  return {pool_->block(block_), bytes};
}

bool Encoder::declare(TensorEntry& entry, Step* step) {
  if (state_->has_channel(entry.tensor_id)) return true;
  const Bytes room = spool_->reserve(kMaxChannelBytes);
  *step = Step::blocked;
  if (room.data == nullptr) return false;
  *step = Step::progressed;
  if (!state_->add_channel(entry.tensor_id, entry.model, entry.name)) return false;
  SpoolEntry channel;
  channel.kind = EntryKind::channel;
  channel.tensor_id = entry.tensor_id;
  channel.channel_id = static_cast<uint16_t>(kFirstTensorChannel + entry.tensor_id);
  channel.log_time = emitter_->session_ns();
  channel.record_bytes = static_cast<uint32_t>(state_->write_channel(room, entry.tensor_id));
  spool_->commit(channel);
  return true;
}

bool Encoder::begin_frame(FrameSlot& slot) {
  gate_->admit(slot);
  if (slot.begun || gate_->hides(slot)) return true;
  FrameBeginView view;
  view.frame = slot.number;
  view.instance = slot.instance;
  view.model = slot.model;
  view.capture_time_ns = slot.capture_time_ns;
  view.begin_time_ns = emitter_->session_ns(slot.begin_time_ns);
  SpoolEntry message;
  message.channel_id = kFrameBeginChannel.channel;
  message.frame_begin = true;
  slot.begun = gate_->emit(slot, message, DH_MAX_NAME_BYTES + 256, 0,
                           [&view](Bytes out, uint64_t seq) { return write_frame_begin(out, seq, view); });
  return slot.begun;
}

// Emits the descriptor when it is new or has changed. False when there is nothing to refer to yet: *step says why.
bool Encoder::describe(TensorEntry& entry, const Record& record, uint32_t first_block, Step* step) {
  DescriptorView view;
  view.tensor_id = entry.tensor_id;
  view.model = entry.model;
  view.name = entry.name;
  view.op = entry.op;
  view.raw_type = entry.raw_type;
  view.origin_names = entry.origin_names;
  view.origin_count = entry.origin_count;
  view.role = record.role;
  view.dtype = record.dtype;
  view.layout = record.layout;
  view.shape = {record.shape, record.rank};
  view.logical_shape = {record.logical_shape, record.logical_rank};
  if (record.has_strides) view.strides = {record.strides, record.rank};
  PlaneView planes[DH_MAX_PLANES];
  for (uint32_t i = 0; i < record.plane_count; ++i) {
    planes[i] = {record.planes[i].row_stride, record.planes[i].row_bytes, record.planes[i].rows};
  }
  view.planes = {planes, record.plane_count};
  view.quant_kind = record.quant_kind;
  view.quant_axis = record.quant_axis;
  if (record.quant_count != 0 && pool_->is_note(first_block)) {
    view.scale = {&record.note_scale, 1};
    if (record.has_zero_point) view.zero_point = {&record.note_zero_point, 1};
  } else if (record.quant_count != 0) {
    const uint64_t begin = align_up(record.stored_bytes, uint64_t{8});
    copy_from_chain(block_at(first_block, begin), static_cast<uint32_t>(begin % pool_->block_bytes()), quant_,
                    quant_bytes(record.quant_count, record.has_zero_point));
    view.scale = {reinterpret_cast<const float*>(quant_), record.quant_count};
    if (record.has_zero_point) {
      view.zero_point = {reinterpret_cast<const int32_t*>(quant_ + record.quant_count * sizeof(float)),
                         record.quant_count};
    }
  }
  view.node_index = entry.node_index;
  view.output_slot = entry.output_slot;
  AttributeView attributes[TensorTable::kMaxAttributes];
  uint32_t attribute_count = 0;
  for (const TensorAttribute* attribute = entry.attributes.load(std::memory_order_acquire);
       attribute != nullptr && attribute_count < TensorTable::kMaxAttributes; attribute = attribute->next) {
    bool newer = false;  // the list is newest first, and the newest value of a key holds
    for (uint32_t i = 0; i < attribute_count; ++i) newer |= std::strcmp(attributes[i].key, attribute->key) == 0;
    if (!newer) attributes[attribute_count++] = {attribute->key, attribute->value};
  }
  view.attributes = {attributes, attribute_count};
  view.hash = descriptor_hash(view);
  *step = Step::progressed;
  FrameSlot& slot = frames_->slot(record.frame_slot);
  const bool waits = slot.passage == Passage::waits;
  // What waits comes after what went to the ring before it, everything else after what the stream was told.
  const bool ring_knows = waits && entry.waiting_described;
  const bool known =
      ring_knows ? entry.waiting_hash == view.hash : entry.described && entry.descriptor_hash == view.hash;
  record_hash_ = view.hash;
  if (known) return true;

  const size_t max_bytes = kMaxDescriptorBytes + static_cast<size_t>(quant_bytes(record.quant_count, true));
  SpoolEntry message;
  message.tensor_id = entry.tensor_id;
  message.channel_id = static_cast<uint16_t>(kFirstTensorChannel + entry.tensor_id);
  message.descriptor = true;
  message.descriptor_hash = view.hash;
  size_t written = 0;
  const bool emitted = gate_->emit(
      slot, message, max_bytes, 0,
      [&](Bytes out, uint64_t seq) {
        const size_t bytes = write_descriptor(out, seq, view);
        return bytes != 0 && state_->reserve_descriptor(entry.tensor_id, bytes) ? bytes : size_t{0};
      },
      &written);
  if (!emitted) {
    *step = Step::blocked;
    return false;
  }
  if (written == 0) return false;
  (waits ? entry.waiting_described : entry.described) = true;
  (waits ? entry.waiting_hash : entry.descriptor_hash) = view.hash;
  return true;
}

uint64_t Encoder::capture_time_of(const Record& record) const {
  return record.capture_time_ns == 0 ? 0 : emitter_->session_ns(record.capture_time_ns);
}

Step Encoder::encode_part(TensorEntry& entry, const Record& record) {
  const uint64_t left = record.stored_bytes - offset_;
  const auto bytes = static_cast<uint32_t>(left < options_.part_bytes ? left : options_.part_bytes);
  const uint64_t offset = record.offset + offset_;
  const uint64_t parts =
      record.total_bytes == 0 ? 1 : (record.total_bytes + options_.part_bytes - 1) / options_.part_bytes;
  const bool last_of_record = offset_ + bytes == record.stored_bytes;
  const bool single_record = record.first && record.last;
  const bool in_one_piece = options_.compress || (options_.digest && single_record);
  const ConstBytes raw = in_one_piece ? part_bytes(bytes) : ConstBytes();

  PartView part;
  set_key(record_hash_, record, &part);
  part.part_index = static_cast<uint32_t>(offset / options_.part_bytes);
  part.part_count = static_cast<uint32_t>(parts);
  part.offset = offset;
  part.total = record.total_bytes;
  part.dtype = record.dtype;
  part.shape = {record.shape, record.rank};
  part.capture_time_ns = capture_time_of(record);
  if (options_.digest && single_record) {
    if (offset_ == 0) digest_ = Xxh64(0);
    Xxh64 digest = digest_;
    digest.update(raw.data, raw.size);
    if (last_of_record) {
      part.digest_kind = kDigestXxh64;
      part.digest = digest.digest();
    }
  }
  SpoolEntry message = last_part_of(entry, record);
  message.first_part = part.part_index == 0;
  message.last_part = part.part_index + 1 == part.part_count;
  size_t written = 0;
  const bool emitted = gate_->emit(
      frames_->slot(record.frame_slot), message, kMaxPartPrefixBytes + bytes + kMaxPartSuffixBytes,
      part.capture_time_ns,
      [&](Bytes out, uint64_t seq) {
        const size_t prefix = write_part_prefix(out, seq, part);
        if (prefix == 0) return size_t{0};
        const Bytes payload(out.data + prefix, bytes);
        uint8_t codec = kCodecRaw;
        size_t encoded = bytes;
        if (options_.compress) {
          encoded = dumphook::encode_part(record.dtype, raw, payload, codec_scratch_, &codec);
        } else {
          copy_from_chain(block_, 0, payload.data, bytes);
        }
        return finish_part(out, prefix, static_cast<uint32_t>(encoded), codec, bytes);
      },
      &written);
  if (!emitted) return Step::blocked;
  if (options_.digest && single_record) digest_.update(raw.data, raw.size);
  encoded_bytes_.fetch_add(written, std::memory_order_relaxed);
  raw_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  offset_ += bytes;
  if (offset_ < record.stored_bytes) block_ = block_at(block_, options_.part_bytes);
  return Step::progressed;
}

Step Encoder::encode_digest(TensorEntry& entry, const Record& record) {
  DigestView view;
  set_key(record_hash_, record, &view);
  view.value = record.digest;
  view.dtype = record.dtype;
  view.shape = {record.shape, record.rank};
  view.capture_time_ns = capture_time_of(record);
  const bool emitted =
      gate_->emit(frames_->slot(record.frame_slot), last_part_of(entry, record), kMaxSummaryBytes, view.capture_time_ns,
                  [&view](Bytes out, uint64_t seq) { return write_tensor_digest(out, seq, view); });
  return emitted ? Step::progressed : Step::blocked;
}

StoredScale Encoder::stored_scale(const Record& record, uint32_t first_block) const {
  StoredScale stored;
  if (record.quant_kind != DH_QUANT_PER_TENSOR) return stored;
  float scale = record.note_scale;
  int32_t zero_point = record.note_zero_point;
  if (!pool_->is_note(first_block)) {
    const auto read = [&](uint64_t at, void* to) {
      copy_from_chain(block_at(first_block, at), static_cast<uint32_t>(at % pool_->block_bytes()),
                      static_cast<uint8_t*>(to), 4);
    };
    const uint64_t at = align_up(record.stored_bytes, uint64_t{8});
    read(at, &scale);
    if (record.has_zero_point) read(at + sizeof scale, &zero_point);
  }
  if (scale != 0) stored.scale = scale;
  if (record.has_zero_point) stored.zero_point = zero_point;
  return stored;
}

// Of the record's bytes, once; or those that its note brought.
const TensorStatistics& Encoder::statistics_of(const Record& record, uint32_t first_block) {
  if (record.content == Content::statistics) return pool_->statistics(first_block);
  if (is_measured_) return measured_;
  is_measured_ = true;
  const bool whole = record.stored_bytes == record.total_bytes;
  const bool has_zero = record.quant_kind == DH_QUANT_PER_TENSOR && record.has_zero_point;
  const auto zero_point = has_zero ? static_cast<int32_t>(stored_scale(record, first_block).zero_point) : 0;
  // Of a piece it only has to be enough.
  const uint64_t count =
      whole ? element_count(record.dtype, record.total_bytes, record.rank, record.shape) : record.total_bytes * 2;
  meter_->begin(record.dtype, count, has_zero ? &zero_point : nullptr);
  uint32_t block = first_block;
  for (uint64_t left = record.stored_bytes; left != 0; block = pool_->next(block)) {
    const uint64_t bytes = left < pool_->block_bytes() ? left : pool_->block_bytes();
    meter_->update(pool_->block(block), static_cast<size_t>(bytes));
    left -= bytes;
  }
  meter_->finish(&measured_);
  return measured_;
}

// A tensor in pieces is judged piece by piece.
bool Encoder::judge(TensorEntry& entry, const Record& record, uint32_t first_block) {
  if (record.content == Content::digest || !gate_->looks_at_tensors()) return false;
  return gate_->judge(entry, frames_->slot(record.frame_slot), statistics_of(record, first_block),
                      stored_scale(record, first_block));
}

Step Encoder::encode_statistics(TensorEntry& entry, const Record& record, uint32_t first_block) {
  const TensorStatistics& statistics = statistics_of(record, first_block);
  StatisticsView view;
  set_key(record_hash_, record, &view);
  view.dtype = record.dtype;
  view.shape = {record.shape, record.rank};
  view.count = statistics.count;
  view.sampled = statistics.sampled;
  view.min = statistics.min;
  view.max = statistics.max;
  view.mean = statistics.mean;
  view.variance = statistics.variance;
  view.nan = statistics.nan;
  view.pos_inf = statistics.pos_inf;
  view.neg_inf = statistics.neg_inf;
  view.zeros = statistics.zeros;
  view.saturated = statistics.saturated;
  view.histogram_first_exponent = statistics.histogram_first_exponent;
  view.histogram = {statistics.histogram, statistics.histogram_size};
  view.capture_time_ns = capture_time_of(record);
  SpoolEntry message = last_part_of(entry, record);
  if (record.content == Content::statistics) {  // counted as lost by the hook
    message.first_part = message.last_part = false;
    message.capture_id = SpoolEntry::kNoCapture;
  }
  const bool emitted =
      gate_->emit(frames_->slot(record.frame_slot), message, kMaxSummaryBytes, view.capture_time_ns,
                  [&view](Bytes out, uint64_t seq) { return write_tensor_statistics(out, seq, view); });
  return emitted ? Step::progressed : Step::blocked;
}

Step Encoder::step() {
  uint32_t first_block = 0;
  if (!pool_->peek(&first_block)) return Step::idle;
  const Record& record = pool_->record(first_block);
  TensorEntry& entry = tensors_->entry(record.tensor_id);
  if (!started_) {
    const Broken* broken = record.first ? nullptr : find_broken(record.capture_id);
    if (broken != nullptr) {
      finish_record(record, first_block, true, broken->reason);
      return Step::progressed;
    }
    started_ = true;
    described_ = judged_ = is_measured_ = false;
    offset_ = 0;
    block_ = first_block;
  }
  // The record that closes a tensor in pieces has no bytes; an empty tensor still is one part.
  const bool empty_close = record.last && !record.first && record.stored_bytes == 0;
  if (!empty_close) {
    FrameSlot& slot = frames_->slot(record.frame_slot);
    gate_->admit(slot);
    if (!judged_) {
      judged_ = true;
      if (judge(entry, record, first_block)) return Step::progressed;
    }
    if (gate_->is_cut(record.capture_id)) {
      finish_record(record, first_block, false, DH_LOSS_REASON_COUNT);
      return Step::progressed;
    }
    if (gate_->hides(slot)) {
      finish_record(record, first_block, true, DH_LOSS_NOT_TRIGGERED);
      return Step::progressed;
    }
    if (!begin_frame(slot)) return Step::blocked;
    Step outcome = Step::progressed;
    if (!described_) {
      if (!declare(entry, &outcome) || !describe(entry, record, first_block, &outcome)) {
        if (outcome != Step::blocked) finish_record(record, first_block, true, DH_LOSS_NO_DESCRIPTOR_ROOM);
        return outcome;
      }
      described_ = true;
    }
    switch (record.content) {
      case Content::bytes: outcome = encode_part(entry, record); break;
      case Content::digest: outcome = encode_digest(entry, record); break;
      default: outcome = encode_statistics(entry, record, first_block); break;
    }
    if (record.content != Content::bytes && outcome == Step::progressed) offset_ = record.stored_bytes;
    if (outcome != Step::progressed || offset_ < record.stored_bytes) return outcome;
  }
  finish_record(record, first_block, false, DH_LOSS_REASON_COUNT);
  return Step::progressed;
}

bool Encoder::discard(dh_loss_reason reason) {
  uint32_t first_block = 0;
  if (!pool_->peek(&first_block)) return false;
  finish_record(pool_->record(first_block), first_block, true, reason);
  return true;
}

Encoder::Broken* Encoder::find_broken(uint64_t capture_id) {
  for (Broken& broken : broken_) {
    if (broken.set && broken.capture_id == capture_id) return &broken;
  }
  return nullptr;
}

// A tensor in pieces is lost when one of them is, or when the deadline passed first, and counted with its closing
// record, which has nothing to lose itself. One of which a part gave way in the ring has been counted.
void Encoder::finish_record(const Record& record, uint32_t first_block, bool lost, dh_loss_reason reason) {
  Broken* broken = record.first ? nullptr : find_broken(record.capture_id);
  if (record.last) {
    ++frames_->slot(record.frame_slot).encoded;
    if (!record.first) lost = broken != nullptr || record.truncated;
    if (record.content == Content::statistics) lost = false;  // counted by the hook
    if (lost && !gate_->is_cut(record.capture_id)) {
      if (broken != nullptr) reason = broken->reason;
      if (record.truncated) reason = DH_LOSS_POOL_FULL;
      if (!record.first) gate_->cut(record.capture_id);  // its other pieces may wait there
      tensors_->entry(record.tensor_id).lost[reason].add(record.frame);
      frames_->slot(record.frame_slot).lose_accepted(reason);
    }
    if (broken != nullptr) broken->set = false;
  } else if (lost && broken == nullptr) {
    broken_[next_broken_++ % kMaxBroken] = {record.capture_id, reason, true};
  }
  pool_->release(first_block);
  started_ = false;
}

}  // namespace dumphook
