// SPDX-License-Identifier: Apache-2.0
#include "sink/file_sink.h"

#include <errno.h>

#include <cstdio>
#include <cstring>

#include "net/error_text.h"
#include "sink/preamble.h"
#include "sink/sink_log.h"
#include "wire/crc32.h"
#include "wire/format.h"
#include "wire/mcap.h"

namespace dumphook {
namespace {

// A chunk may end at a frame's end from here on.
constexpr uint64_t kFrameChunkBytes = 64 << 10;

uint64_t item_bytes(const StreamItem& item) { return item.head.size + item.body.size; }

void copy_item(FileWriter& file, const StreamItem& item) {
  file.copy(item.head);
  file.copy(item.body);
}

uint16_t channel_of(const StreamItem& channel_record) {
  return load_le<uint16_t>(channel_record.head.data + kRecordPrefixBytes);
}

// PATH, then PATH-0001 ..., the number before the extension.
bool name_segment(const char* path, uint32_t number, char* out, size_t out_bytes) {
  const char* slash = strrchr(path, '/');
  const char* dot = strrchr(slash == nullptr ? path : slash + 1, '.');
  const int stem = static_cast<int>(dot == nullptr ? strlen(path) : static_cast<size_t>(dot - path));
  const int bytes = number == 0 ? snprintf(out, out_bytes, "%s", path)
                                : snprintf(out, out_bytes, "%.*s-%04u%s", stem, path, static_cast<unsigned>(number),
                                           dot == nullptr ? "" : dot);
  return bytes > 0 && static_cast<size_t>(bytes) < out_bytes;
}

}  // namespace

Status FileSink::open(const SinkContext& context, const FileSinkOptions& options) {
  context_ = context;
  options_ = options;
  state_ = SinkState::failed;
  const size_t length = strlen(options.path);
  if (length == 0 || length + 8 >= kPathBytes) {
    say(context_.log, DH_LOG_ERROR, "sink: the file's path is %s", length == 0 ? "empty" : "too long");
    return length == 0 ? DH_ERR_OPTION : DH_ERR_LIMIT;
  }
  memcpy(path_, options.path, length + 1);
  if (!index_.open(options.index_memory, options.max_tensors)) return DH_ERR_MEMORY;
  const uint64_t quarter = context_.spool->capacity() / 4;
  chunk_limit_ = options.chunk_bytes < quarter ? options.chunk_bytes : quarter;
  cursor_ = shipped_end_ = context_.spool->begin();
  if (!open_file()) return DH_ERR_SINK;
  state_ = SinkState::open;
  return DH_OK;
}

bool FileSink::open_file() {
  if (!name_segment(path_, segment_, segment_path_, sizeof segment_path_)) return fail("name");
  const int error = file_.open(segment_path_, options_.overwrite, options_.calls);
  if (error == 0) return true;
  state_ = SinkState::failed;
  if (error == EEXIST) {
    say(context_.log, DH_LOG_ERROR, "sink: %s exists: remove it, or write \"file:%s?overwrite=1\"", segment_path_,
        path_);
  } else {
    say(context_.log, DH_LOG_ERROR, "sink: cannot create %s: %s", segment_path_, ErrorText(error).text());
  }
  return false;
}

SinkStep FileSink::step(uint64_t now_ns) {
  SinkStep result;
  if (state_ != SinkState::open) return result;
  if (opened_ns_ == 0) opened_ns_ = synced_ns_ = now_ns;
  const uint64_t shipped_before = shipped_end_;

  Spool& spool = *context_.spool;
  if (cursor_ < spool.begin()) cursor_ = shipped_end_ = spool.begin();
  const bool preamble_due =
      !segment_begun_ && segment_ == 0 && (finishing_ || now_ns - opened_ns_ >= context_.window_ns);
  if (preamble_due && !begin_segment(now_ns)) return result;
  while (cursor_ != spool.end()) {
    if (!take_entry(now_ns)) return result;
  }

  const bool window_passed = chunk_bytes_ != 0 && now_ns - chunk_began_ns_ >= context_.window_ns;
  if ((window_passed || flush_asked_ || finishing_) && !write_chunk()) return result;
  flush_asked_ = false;

  const bool segment_over = options_.segment_ns != 0 && now_ns - segment_began_ns_ >= options_.segment_ns;
  if (segment_begun_ && (finishing_ || (segment_over && (segment_has_data_ || chunk_bytes_ != 0)))) {
    if (!write_chunk() || !end_segment()) return result;
  }
  if (finishing_) {
    state_ = SinkState::finished;
    result.progressed = true;
    return result;
  }
  if (options_.sync == DH_SYNC_INTERVAL && unsynced_ && now_ns - synced_ns_ >= options_.sync_interval_ns) {
    synced_ns_ = now_ns;
    if (!sync_file()) return result;
  }

  result.progressed = shipped_end_ != shipped_before;
  if (chunk_bytes_ != 0) {
    result.wake_ns = chunk_began_ns_ + context_.window_ns;
  } else if (!segment_begun_ && segment_ == 0) {
    result.wake_ns = opened_ns_ + context_.window_ns;
  }
  if (options_.sync == DH_SYNC_INTERVAL && unsynced_ && synced_ns_ + options_.sync_interval_ns < result.wake_ns) {
    result.wake_ns = synced_ns_ + options_.sync_interval_ns;
  }
  return result;
}

bool FileSink::begin_segment(uint64_t now_ns) {
  if (!file_.is_open() && !open_file()) return false;
  const SpoolEntry* first = first_message(*context_.spool, cursor_);
  first_stream_seq_ = first != nullptr ? first->stream_seq : context_.state->next_stream_seq();
  preamble_end_ = context_.spool->end();
  // What is written but still in the spool lies before this segment.
  const Spool& spool = *context_.spool;
  for (uint64_t at = spool.begin(); at != cursor_; at = spool.next(at)) {
    context_.state->pass(spool.entry(at), spool.record(at));
  }
  segment_began_ns_ = now_ns;
  index_.begin_segment();
  segment_has_data_ = folder_synced_ = false;
  const uint64_t log_time = first != nullptr ? first->log_time : now_ns + context_.log_offset_ns;
  if (!write_declarations() || !write_repeats(log_time)) return false;
  segment_begun_ = true;
  return true;
}

bool FileSink::write_declarations() {
  StreamState& state = *context_.state;
  uint64_t whole = 0;
  for (uint32_t i = 0; i < state.declaration_count(); ++i) {
    const StreamItem item = state.item(i, segment_, first_stream_seq_, 0);
    if (i == 1) metadata_offset_ = file_.position();
    if (i == 1) metadata_bytes_ = item_bytes(item);
    if (i >= state.channel_begin()) index_.declare(channel_of(item));
    copy_item(file_, item);
  }
  if (file_.flush()) return true;
  // Cut back to whole records; less than a magic and a header is of no use.
  const uint64_t written = file_.written();
  for (uint32_t i = 0; i < state.declaration_count(); ++i) {
    const uint64_t next = whole + item_bytes(state.item(i, segment_, first_stream_seq_, 0));
    if (next > written) break;
    whole = next;
  }
  file_.cut(whole);
  return fail("write");
}

// In a chunk of their own, made in two passes: the header needs length and CRC. One step, so the state cannot change.
bool FileSink::write_repeats(uint64_t log_time) {
  StreamState& state = *context_.state;
  uint64_t bytes = 0;
  uint32_t crc = 0;
  for (uint32_t i = state.declaration_count(); i < state.item_count(); ++i) {
    const StreamItem item = state.item(i, segment_, first_stream_seq_, log_time);
    if (!is_repeat(item, first_stream_seq_) || !index_.has_room(item.channel_id)) continue;
    index_.add(item.channel_id, item.log_time, bytes);
    crc = crc32(crc, item.head.data, item.head.size);
    crc = crc32(crc, item.body.data, item.body.size);
    bytes += item_bytes(item);
  }
  if (bytes == 0) return true;
  const uint64_t chunk_at = file_.position();
  uint64_t left = bytes;
  uint8_t head[kChunkHeaderBytes];
  write_chunk_header(head, index_.start_time(), index_.end_time(), bytes, crc);
  file_.copy(ConstBytes(head, sizeof head));
  for (uint32_t i = state.declaration_count(); i < state.item_count() && left != 0; ++i) {
    const StreamItem item = state.item(i, segment_, first_stream_seq_, log_time);
    if (!is_repeat(item, first_stream_seq_)) continue;
    copy_item(file_, item);
    left -= item_bytes(item);
  }
  index_.end_chunk(file_, chunk_at, bytes);
  if (file_.flush()) return true;
  const uint64_t chunk_end = chunk_at + kChunkHeaderBytes + bytes;
  file_.cut(file_.written() >= chunk_end ? chunk_end : chunk_at);
  return fail("write");
}

// Moves the entry at the cursor into the open chunk, ending chunks and segments before and after it where needed.
bool FileSink::take_entry(uint64_t now_ns) {
  const Spool& spool = *context_.spool;
  if (!segment_begun_ && !begin_segment(now_ns)) return false;
  const SpoolEntry& entry = spool.entry(cursor_);
  const uint64_t next = spool.next(cursor_);
  if (is_declared_before(cursor_, entry)) {
    cursor_ = next;
    if (chunk_bytes_ == 0) shipped_end_ = next;
    return true;
  }

  const bool is_message = entry.kind == EntryKind::message;
  bool full = chunk_bytes_ != 0 && chunk_bytes_ + entry.record_bytes > chunk_limit_;
  full = full || (is_message && !index_.has_room(entry.channel_id));
  if (full && !write_chunk()) return false;
  if (chunk_bytes_ == 0 && segment_has_data_) {
    const bool segment_full = options_.segment_bytes != 0 && file_.position() >= options_.segment_bytes;
    const bool index_full = index_.is_nearly_full() || !index_.has_room(entry.channel_id);
    if (segment_full || index_full) return end_segment() && take_entry(now_ns);  // once more, in a new segment
  }

  const ConstBytes record = spool.record(cursor_);
  if (chunk_bytes_ == 0) {
    chunk_began_ns_ = now_ns;
    chunk_crc_ = 0;
  }
  if (is_message) {
    index_.add(entry.channel_id, entry.log_time, chunk_bytes_);
  } else {
    index_.declare(entry.channel_id);
  }
  chunk_crc_ = crc32(chunk_crc_, record.data, record.size);
  chunk_bytes_ += record.size;
  cursor_ = next;
  const bool full_now = chunk_bytes_ >= chunk_limit_ || (entry.frame_end && chunk_bytes_ >= kFrameChunkBytes);
  return !full_now || write_chunk();
}

bool FileSink::write_chunk() {
  if (chunk_bytes_ == 0) {
    shipped_end_ = cursor_;
    return true;
  }
  const Spool& spool = *context_.spool;
  const uint64_t chunk_at = file_.position();
  uint8_t head[kChunkHeaderBytes];
  write_chunk_header(head, index_.start_time(), index_.end_time(), chunk_bytes_, chunk_crc_);
  file_.copy(ConstBytes(head, sizeof head));
  for (uint64_t at = shipped_end_; at != cursor_; at = spool.next(at)) {
    if (!is_declared_before(at, spool.entry(at))) file_.refer(spool.record(at));
  }
  index_.end_chunk(file_, chunk_at, chunk_bytes_);
  if (!file_.flush()) {
    repair_chunk(chunk_at);
    return fail("write");
  }
  chunk_bytes_ = 0;
  shipped_end_ = cursor_;
  segment_has_data_ = unsynced_ = true;
  return options_.sync != DH_SYNC_CHUNK || sync_file();
}

// The disk took only a part of the chunk: keeps the whole records of it under a header that fits them.
void FileSink::repair_chunk(uint64_t chunk_at) {
  const Spool& spool = *context_.spool;
  const uint64_t written = file_.written();
  const uint64_t room = written > chunk_at + kChunkHeaderBytes ? written - chunk_at - kChunkHeaderBytes : 0;
  uint64_t kept = 0, start = 0, end = 0, at = shipped_end_;
  uint32_t crc = 0;
  for (; at != cursor_; at = spool.next(at)) {
    const SpoolEntry& entry = spool.entry(at);
    if (is_declared_before(at, entry)) continue;
    const ConstBytes record = spool.record(at);
    if (kept + record.size > room) break;
    if (entry.kind == EntryKind::message) {
      if (start == 0 || entry.log_time < start) start = entry.log_time;
      if (entry.log_time > end) end = entry.log_time;
    }
    crc = crc32(crc, record.data, record.size);
    kept += record.size;
  }
  uint8_t head[kChunkHeaderBytes];
  write_chunk_header(head, start, end, kept, crc);
  const uint64_t whole = kept == 0 ? chunk_at : chunk_at + kChunkHeaderBytes + kept;
  const bool cut = file_.cut(whole);
  if (kept == chunk_bytes_ || (kept != 0 && file_.patch(chunk_at, ConstBytes(head, sizeof head)))) {
    shipped_end_ = at;
  } else if (cut) {
    file_.cut(chunk_at);
  }
}

bool FileSink::end_segment() {
  const uint64_t data_end = file_.position();
  write_summary(metadata_offset_, metadata_bytes_);
  if (!file_.flush()) {
    file_.cut(data_end);
    return fail("seal");
  }
  if (options_.sync != DH_SYNC_NEVER && !sync_file()) return false;
  file_.close();
  segment_begun_ = false;
  ++segment_;
  return true;
}

void FileSink::write_summary(uint64_t metadata_offset, uint64_t metadata_bytes) {
  StreamState& state = *context_.state;
  uint8_t buffer[128];
  const Bytes out(buffer, sizeof buffer);
  file_.copy(ConstBytes(buffer, write_data_end_record(out, 0)));

  const uint64_t summary_at = file_.position();
  file_.begin_crc();
  struct Group {
    McapOp op;
    uint64_t at, bytes;
  } groups[5];
  uint32_t group_count = 0;
  uint64_t group_at = summary_at;
  const auto end_group = [&](McapOp op) {
    const uint64_t bytes = file_.position() - group_at;
    if (bytes != 0) groups[group_count++] = {op, group_at, bytes};
    group_at = file_.position();
  };

  for (uint32_t i = state.schema_begin(); i < state.channel_begin(); ++i) copy_item(file_, state.item(i, 0, 0, 0));
  end_group(McapOp::kSchema);
  for (uint32_t i = state.channel_begin(); i < state.declaration_count(); ++i) {
    const StreamItem item = state.item(i, 0, 0, 0);
    if (index_.is_declared(channel_of(item))) copy_item(file_, item);
  }
  end_group(McapOp::kChannel);
  const uint16_t schemas = static_cast<uint16_t>(state.channel_begin() - state.schema_begin());
  file_.copy(index_.statistics_record(schemas, 1));
  end_group(McapOp::kStatistics);
  file_.copy(index_.chunk_index_records());
  end_group(McapOp::kChunkIndex);
  file_.copy(ConstBytes(buffer, write_metadata_index_record(out, metadata_offset, metadata_bytes, kMetadataName)));
  end_group(McapOp::kMetadataIndex);

  const uint64_t offsets_at = file_.position();
  for (uint32_t i = 0; i < group_count; ++i) {
    const Group& group = groups[i];
    file_.copy(ConstBytes(buffer, write_summary_offset_record(out, group.op, group.at, group.bytes)));
  }
  file_.copy(ConstBytes(buffer, write_footer_record(out, summary_at, offsets_at, file_.crc())));
  file_.copy(ConstBytes(buffer, write_magic(out)));
}

bool FileSink::sync_file() {
  const int error = file_.sync();
  if (error != 0) {
    say(context_.log, DH_LOG_ERROR, "sink: cannot bring %s to the medium: %s", segment_path_, ErrorText(error).text());
    abandon();
    return false;
  }
  if (!folder_synced_) FileWriter::sync_folder_of(segment_path_);
  folder_synced_ = true;
  unsynced_ = false;
  return true;
}

bool FileSink::fail(const char* doing) {
  say(context_.log, DH_LOG_ERROR,
      "sink: cannot %s %s: %s; it is usable up to byte %llu, what follows is counted as lost", doing, segment_path_,
      ErrorText(file_.error()).text(), static_cast<unsigned long long>(file_.written()));
  abandon();
  return false;
}

void FileSink::abandon() {
  if (state_ == SinkState::finished) return;
  file_.close();
  state_ = SinkState::failed;
}

}  // namespace dumphook
