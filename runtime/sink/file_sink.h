// SPDX-License-Identifier: Apache-2.0
// FileSink: the capture as chunked, indexed MCAP files, one per segment.
//
// A segment is: declarations | chunk of repeats | chunk, message indexes | ... | summary. Records go from the spool to
// the file without a copy. What write() took decodes after a crash; a chunk that could be written only in part is
// repaired to its whole messages. Disk writes may block; nothing else does.
#pragma once

#include "sink/file_writer.h"
#include "sink/segment_index.h"
#include "sink/sink.h"

namespace dumphook {

struct FileSinkOptions {
  const char* path = nullptr;  // of the first segment; the next are PATH-0001.mcap ...
  bool overwrite = false;      // else a file that exists is an error
  uint32_t chunk_bytes = 1u << 20;
  uint64_t segment_bytes = 0;  // 0 = no limit
  uint64_t segment_ns = 0;     // 0 = no limit
  dh_sync sync = DH_SYNC_CLOSE;
  uint64_t sync_interval_ns = 1000000000;
  uint32_t max_tensors = 0;
  Bytes index_memory;  // of SegmentIndex::memory_bytes()
  FileCalls calls = FileCalls::system();
};

class FileSink final : public Sink {
 public:
  static constexpr size_t kPathBytes = 4096;

  // Creates the first file. DH_ERR_SINK, DH_ERR_LIMIT or DH_ERR_MEMORY, and the log has said why.
  Status open(const SinkContext& context, const FileSinkOptions& options);

  SinkStep step(uint64_t now_ns) override;
  void flush() override { flush_asked_ = true; }
  void finish() override { finishing_ = true; }
  void abandon() override;

  uint32_t segment() const { return segment_; }

 private:
  bool begin_segment(uint64_t now_ns);
  bool open_file();
  bool write_declarations();
  bool write_repeats(uint64_t log_time);
  bool take_entry(uint64_t now_ns);
  bool write_chunk();
  void repair_chunk(uint64_t chunk_at);
  bool end_segment();
  void write_summary(uint64_t metadata_offset, uint64_t metadata_bytes);
  bool sync_file();
  bool fail(const char* doing);

  bool is_declared_before(uint64_t position, const SpoolEntry& entry) const {
    return entry.kind == EntryKind::channel && position < preamble_end_;
  }

  SinkContext context_;
  FileSinkOptions options_;
  FileWriter file_;
  SegmentIndex index_;
  char path_[kPathBytes] = {};
  char segment_path_[kPathBytes] = {};

  uint32_t segment_ = 0;           // number of the present one, or of the next when none is begun
  bool segment_begun_ = false;     // its preamble is written
  bool segment_has_data_ = false;  // more than its preamble
  bool finishing_ = false;
  bool flush_asked_ = false;
  uint64_t opened_ns_ = 0;  // when step() was first called
  uint64_t segment_began_ns_ = 0;
  uint64_t metadata_offset_ = 0;
  uint64_t metadata_bytes_ = 0;
  uint64_t first_stream_seq_ = 1;
  uint64_t preamble_end_ = 0;  // channels of spool entries before it are in the preamble

  // The open chunk: spool entries from shipped_end_ to cursor_.
  uint64_t cursor_ = 0;
  uint64_t chunk_bytes_ = 0;
  uint32_t chunk_crc_ = 0;
  uint64_t chunk_began_ns_ = 0;
  uint64_t chunk_limit_ = 0;

  bool unsynced_ = false;
  bool folder_synced_ = false;
  uint64_t synced_ns_ = 0;
};

}  // namespace dumphook
