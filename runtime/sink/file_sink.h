// SPDX-License-Identifier: Apache-2.0
// FileSink: the capture as chunked, indexed MCAP files, one per segment.
//
// A segment is: declarations | chunk of repeats | chunk, message indexes | ... | summary. Records go from the spool to
// the file without a copy. What write() took decodes after a crash. Disk writes may block; nothing else does.
//
// On a full disk, `stop` repairs the last chunk to its whole messages and seals the segment with the room held in
// reserve; `retry` cuts back to the last whole chunk, leaves the rest in the spool and tries again, ever more slowly;
// `rotate` removes this session's oldest segment, as the quota does, and retries when there is none.
#pragma once

#include "sink/disk_reserve.h"
#include "sink/file_writer.h"
#include "sink/segment_index.h"
#include "sink/sink.h"

namespace dumphook {

struct FileSinkOptions {
  const char* path = nullptr;  // of the first segment; the next are PATH-0001.mcap ...
  bool overwrite = false;      // else a file that exists is an error
  uint32_t chunk_bytes = 1u << 20;
  uint64_t segment_bytes =
      0;                    // with its summary; exceeded by a single record only. 0 = no limit, or a share of the quota
  uint64_t segment_ns = 0;  // 0 = no limit
  uint64_t quota_bytes = 0;  // of this session's segments. 0 = no limit
  dh_on_full on_full = DH_ON_FULL_STOP;
  dh_sync sync = DH_SYNC_CLOSE;
  uint64_t sync_interval_ns = 1000000000;
  uint32_t max_tensors = 0;
  Bytes index_memory;   // of SegmentIndex::memory_bytes()
  Bytes ledger_memory;  // of SegmentLedger::memory_bytes(), needed where segments may be removed
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
  bool is_settled() const override { return !ledger_.is_kept() || shipped_end_ == context_.spool->end(); }
  void abandon() override;

  uint32_t segment() const { return segment_; }

 private:
  // What follows an error: the file is as before, and the write may be repeated; or repeated later; or there is nothing
  // more to be done.
  enum class After : uint8_t { again, later, over };

  // Each false: not now (retry_ns_), or failed.
  bool advance();
  bool begin_segment();
  bool open_file();
  bool take_entry();
  bool write_chunk();
  bool end_segment();
  bool sync_file();
  bool make_quota_room(uint64_t segment_bytes);
  bool remove_oldest(const char* why);

  bool write_declarations();
  bool write_repeats(uint64_t log_time);
  void put_chunk();
  void commit_chunk(uint64_t chunk_at, uint64_t next);
  void write_summary();
  uint64_t bytes_with(const SpoolEntry& entry) const;

  After after_error(uint64_t cut_to);
  void keep_whole_declarations();
  bool repair_chunk(uint64_t chunk_at);
  bool fail(const char* doing, const char* error, bool sealed);

  bool is_declared_before(uint64_t position, const SpoolEntry& entry) const {
    return entry.kind == EntryKind::channel && position < preamble_end_;
  }

  SinkContext context_;
  FileSinkOptions options_;
  FileWriter file_;
  SegmentIndex index_;
  SegmentLedger ledger_;
  DiskReserve reserve_;
  char path_[kPathBytes] = {};
  char segment_path_[kPathBytes] = {};

  uint32_t segment_ = 0;           // number of the present one, or of the next when none is begun
  bool segment_begun_ = false;     // its preamble is written
  bool segment_has_data_ = false;  // more than its preamble
  bool finishing_ = false;
  bool flush_asked_ = false;
  uint64_t now_ns_ = 0;     // of this step()
  uint64_t opened_ns_ = 0;  // when step() was first called
  uint64_t retry_ns_ = 0;   // the disk is full: nothing before this
  uint64_t back_off_ns_ = 0;
  uint64_t segment_began_ns_ = 0;
  uint64_t metadata_offset_ = 0;
  uint64_t metadata_bytes_ = 0;
  uint64_t summary_bytes_ = 0;  // that the segment needs to be sealed, at most
  uint64_t first_stream_seq_ = 1;
  uint64_t preamble_end_ = 0;  // channels of spool entries before it are in the preamble

  // The open chunk: spool entries from shipped_end_ to cursor_.
  uint64_t cursor_ = 0;
  uint64_t chunk_bytes_ = 0;
  uint32_t chunk_crc_ = 0;
  uint64_t chunk_began_ns_ = 0;
  uint64_t chunk_limit_ = 0;
  uint64_t segment_limit_ = 0;  // as the options and the quota have it
  uint64_t segment_end_ = 0;    // of the present segment; 0 = no limit

  bool unsynced_ = false;
  bool folder_synced_ = false;
  uint64_t synced_ns_ = 0;
};

}  // namespace dumphook
