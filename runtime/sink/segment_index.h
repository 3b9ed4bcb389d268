// SPDX-License-Identifier: Apache-2.0
// SegmentIndex: what a chunked MCAP file must know about its messages to be indexed, in fixed memory.
//
//   | tables, by channel | chunk index records -->        <-- messages of the open chunk |
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "sink/file_writer.h"
#include "wire/mcap.h"

namespace dumphook {

class SegmentIndex {
 public:
  // `index_bytes` for the indexes of one segment, plus tables for the channels of `max_tensors`.
  static size_t memory_bytes(uint64_t index_bytes, uint32_t max_tensors);
  // `memory` is kArenaAlign-aligned and has memory_bytes().
  bool open(Bytes memory, uint32_t max_tensors);
  void begin_segment();

  // Whether one more message can be noted in the open chunk. False: end the chunk; still false: end the segment.
  bool has_room(uint16_t channel) const;
  // Less than a sixteenth is left: end the segment rather than make small chunks.
  bool is_nearly_full() const;
  // Notes a message of the open chunk, `offset` bytes after the start of its records.
  void add(uint16_t channel, uint64_t log_time, uint64_t offset);
  uint64_t start_time() const { return chunk_start_; }
  uint64_t end_time() const { return chunk_end_; }
  // Bytes of the open chunk's MessageIndex records, and what its ChunkIndex takes in the summary, at most.
  uint64_t indexes_bytes() const { return uint64_t{touched_count_} * 15 + uint64_t{noted_count_} * 16; }
  uint64_t chunk_index_bytes() const { return record_bytes(touched_count_); }
  // Appends the open chunk's MessageIndex records to `file`; again, if the file was cut back.
  void write_indexes(FileWriter& file);
  // The open chunk and its MessageIndex records were written: keeps its ChunkIndex, and opens the next.
  void end_chunk(uint64_t chunk_offset, uint64_t records_bytes);
  // The open chunk will not be written.
  void drop_chunk();

  // The channel's record is in this segment.
  void declare(uint16_t channel);
  void undeclare(uint16_t channel);
  bool is_declared(uint16_t channel) const { return channel < channel_limit_ && declared_[channel] != 0; }
  uint32_t declared_count() const { return declared_count_; }

  // For the summary, between chunks: all ChunkIndex records, and the Statistics record.
  ConstBytes chunk_index_records() const { return ConstBytes(area_.data, kept_bytes_); }
  uint32_t chunk_count() const { return chunk_count_; }
  ConstBytes statistics_record(uint16_t schema_count, uint32_t metadata_count);

 private:
  struct Noted {
    uint64_t log_time;
    uint64_t offset;
    uint32_t next;
    uint16_t channel;
  };
  struct List {
    uint32_t head, tail;
  };
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  static constexpr size_t kLeastBytes = 4096;

  Noted& noted(uint32_t number) const;
  static size_t record_bytes(size_t channels) { return 96 + 10 * channels; }
  size_t free_bytes() const { return area_.size - kept_bytes_ - noted_count_ * sizeof(Noted); }

  uint32_t channel_limit_ = 0;
  List* lists_ = nullptr;             // by channel: the open chunk's messages
  ChannelNumber* counts_ = nullptr;   // by channel: messages of the segment
  ChannelNumber* touched_ = nullptr;  // channels of the open chunk, in order of appearance
  uint8_t* declared_ = nullptr;
  Bytes area_;
  size_t kept_bytes_ = 0;
  uint32_t noted_count_ = 0;
  uint32_t touched_count_ = 0;
  uint32_t declared_count_ = 0;
  uint32_t chunk_count_ = 0;
  uint64_t message_count_ = 0;
  uint64_t chunk_start_ = 0, chunk_end_ = 0;
  uint64_t segment_start_ = 0, segment_end_ = 0;
};

}  // namespace dumphook
