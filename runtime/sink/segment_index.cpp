// SPDX-License-Identifier: Apache-2.0
#include "sink/segment_index.h"

#include "wire/format.h"

namespace dumphook {

size_t SegmentIndex::memory_bytes(uint64_t index_bytes, uint32_t max_tensors) {
  const uint64_t channels = uint64_t{kFirstTensorChannel} + max_tensors;
  const uint64_t tables = channels * (sizeof(List) + 2 * sizeof(ChannelNumber) + 1) + 4 * kArenaAlign;
  // The repeats at the start of a segment, one for each tensor and some for the model, must fit one chunk.
  const uint64_t least = kLeastBytes + (channels + 64) * (sizeof(Noted) + 10);
  const uint64_t bytes = tables + (index_bytes > least ? index_bytes : least);
  return bytes > SIZE_MAX / 2 ? SIZE_MAX : static_cast<size_t>(bytes);
}

bool SegmentIndex::open(Bytes memory, uint32_t max_tensors) {
  channel_limit_ = kFirstTensorChannel + max_tensors;
  Arena arena(memory);
  lists_ = arena.take_array<List>(channel_limit_);
  counts_ = arena.take_array<ChannelNumber>(channel_limit_);
  touched_ = arena.take_array<ChannelNumber>(channel_limit_);
  declared_ = arena.take_array<uint8_t>(channel_limit_);
  const size_t rest = (arena.left_bytes() & ~size_t{63}) - (arena.left_bytes() >= 64 ? 64 : 0);
  area_ = Bytes(static_cast<uint8_t*>(arena.take(rest, 8)), rest);
  if (!arena.ok() || rest < kLeastBytes) return false;
  begin_segment();
  return true;
}

void SegmentIndex::begin_segment() {
  for (uint32_t i = 0; i < channel_limit_; ++i) {
    lists_[i].head = lists_[i].tail = kNone;
    counts_[i].channel = static_cast<uint16_t>(i);
    counts_[i].number = 0;
    declared_[i] = 0;
  }
  kept_bytes_ = 0;
  noted_count_ = touched_count_ = declared_count_ = chunk_count_ = 0;
  message_count_ = 0;
  chunk_start_ = chunk_end_ = segment_start_ = segment_end_ = 0;
}

SegmentIndex::Noted& SegmentIndex::noted(uint32_t number) const {
  return reinterpret_cast<Noted*>(area_.data + area_.size)[-1 - static_cast<ptrdiff_t>(number)];
}

bool SegmentIndex::has_room(uint16_t channel) const {
  if (channel >= channel_limit_) return true;
  const size_t channels = touched_count_ + (lists_[channel].head == kNone ? 1u : 0u);
  return sizeof(Noted) + record_bytes(channels) <= free_bytes();
}

bool SegmentIndex::is_nearly_full() const { return free_bytes() < area_.size / 16; }

void SegmentIndex::add(uint16_t channel, uint64_t log_time, uint64_t offset) {
  if (channel >= channel_limit_) return;
  if (noted_count_ == 0 || log_time < chunk_start_) chunk_start_ = log_time;
  if (noted_count_ == 0 || log_time > chunk_end_) chunk_end_ = log_time;
  const uint32_t number = noted_count_++;
  Noted& entry = noted(number);
  entry.log_time = log_time;
  entry.offset = offset;
  entry.next = kNone;
  entry.channel = channel;
  List& list = lists_[channel];
  if (list.head == kNone) {
    list.head = number;
    touched_[touched_count_++].channel = channel;
  } else {
    noted(list.tail).next = number;
  }
  list.tail = number;
}

void SegmentIndex::write_indexes(FileWriter& file) {
  for (uint32_t i = 0; i < touched_count_; ++i) {
    const uint16_t channel = touched_[i].channel;
    touched_[i].number = file.position();
    uint32_t count = 0;
    for (uint32_t at = lists_[channel].head; at != kNone; at = noted(at).next) ++count;
    uint8_t head[kRecordPrefixBytes + 6];
    head[0] = static_cast<uint8_t>(McapOp::kMessageIndex);
    store_le<uint64_t>(head + 1, 6 + uint64_t{16} * count);
    store_le<uint16_t>(head + 9, channel);
    store_le<uint32_t>(head + 11, 16 * count);
    file.copy(ConstBytes(head, sizeof head));
    for (uint32_t at = lists_[channel].head; at != kNone; at = noted(at).next) {
      uint8_t pair[16];
      store_le<uint64_t>(pair, noted(at).log_time);
      store_le<uint64_t>(pair + 8, noted(at).offset);
      file.copy(ConstBytes(pair, sizeof pair));
    }
  }
}

void SegmentIndex::end_chunk(uint64_t chunk_offset, uint64_t records_bytes) {
  for (uint32_t i = 0; i < noted_count_; ++i) ++counts_[noted(i).channel].number;
  message_count_ += noted_count_;
  ChunkIndexView view;
  view.start_time = chunk_start_;
  view.end_time = chunk_end_;
  view.chunk_offset = chunk_offset;
  view.chunk_bytes = kChunkHeaderBytes + records_bytes;
  view.index_offsets = Span<const ChannelNumber>(touched_, touched_count_);
  view.index_bytes = indexes_bytes();
  view.records_bytes = records_bytes;
  const bool has_messages = noted_count_ != 0;
  const size_t room = free_bytes();
  kept_bytes_ += write_chunk_index_record(Bytes(area_.data + kept_bytes_, room), view);
  if (has_messages && (segment_start_ == 0 || chunk_start_ < segment_start_)) segment_start_ = chunk_start_;
  if (has_messages && chunk_end_ > segment_end_) segment_end_ = chunk_end_;
  ++chunk_count_;
  drop_chunk();
}

void SegmentIndex::drop_chunk() {
  for (uint32_t i = 0; i < touched_count_; ++i) lists_[touched_[i].channel].head = kNone;
  noted_count_ = touched_count_ = 0;
  chunk_start_ = chunk_end_ = 0;
}

void SegmentIndex::declare(uint16_t channel) {
  if (channel >= channel_limit_ || declared_[channel] != 0) return;
  declared_[channel] = 1;
  ++declared_count_;
}

void SegmentIndex::undeclare(uint16_t channel) {
  if (!is_declared(channel)) return;
  declared_[channel] = 0;
  --declared_count_;
}

ConstBytes SegmentIndex::statistics_record(uint16_t schema_count, uint32_t metadata_count) {
  McapStatisticsView view;
  view.message_count = message_count_;
  view.schema_count = schema_count;
  view.channel_count = declared_count_;
  view.metadata_count = metadata_count;
  view.chunk_count = chunk_count_;
  view.start_time = segment_start_;
  view.end_time = segment_end_;
  view.message_counts = Span<const ChannelNumber>(counts_, channel_limit_);
  // No chunk is open, so that touched_ is free; it has 16 bytes for each channel, the record 10 and a head.
  const Bytes out(reinterpret_cast<uint8_t*>(touched_), channel_limit_ * sizeof(ChannelNumber));
  return ConstBytes(out.data, write_statistics_record(out, view));
}

}  // namespace dumphook
