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
#include "wire/messages.h"

namespace dumphook {
namespace {

// From here on it is cheaper to derive a message's CRC from the one it holds.
constexpr uint64_t kKnownCrcBytes = 16 << 10;
// A chunk may end at a frame's end from here on.
constexpr uint64_t kFrameChunkBytes = 64 << 10;
// Of a summary: all records but schemas, channels and chunk indexes; and what a channel adds to the statistics.
constexpr uint64_t kSummaryBytes = 320;
constexpr uint64_t kChannelCountBytes = 10;
constexpr uint64_t kReserveStepBytes = 16 << 10;
constexpr uint64_t kLeastBackOffNs = 100 * kMillisecond;
constexpr uint64_t kMostBackOffNs = 3200 * kMillisecond;

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

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
  ledger_.open(options.ledger_memory);
  const uint64_t quarter = context_.spool->capacity() / 4;
  chunk_limit_ = options.chunk_bytes < quarter ? options.chunk_bytes : quarter;
  segment_limit_ = options.segment_bytes;
  if (const uint64_t quota = options.quota_bytes) {
    // Of two segments one is always sealed; of eight, one that goes takes little with it.
    if (segment_limit_ == 0) segment_limit_ = quota / 8;
    if (chunk_limit_ > quota / 8) chunk_limit_ = quota / 8;
  }
  cursor_ = shipped_end_ = context_.spool->begin();
  if (!open_file()) return DH_ERR_SINK;
  state_ = SinkState::open;
  return DH_OK;
}

bool FileSink::open_file() {
  if (!name_segment(path_, segment_, segment_path_, sizeof segment_path_)) return fail("name", "too long", false);
  int error = 0;
  while ((error = file_.open(segment_path_, options_.overwrite, options_.calls)) != 0 && segment_ != 0) {
    const After after = after_error(0);
    if (after == After::later) return false;
    if (after == After::over) break;
  }
  if (segment_ == 0 && error == 0) reserve_.open(segment_path_, options_.calls);
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
  now_ns_ = now_ns;
  if (opened_ns_ == 0) opened_ns_ = synced_ns_ = now_ns;
  if (now_ns < retry_ns_ && !finishing_) {
    result.wake_ns = retry_ns_;
    return result;
  }
  retry_ns_ = 0;
  const uint64_t shipped_before = shipped_end_;
  advance();
  result.progressed = shipped_end_ != shipped_before || state_ == SinkState::finished;
  if (retry_ns_ != 0) {
    result.wake_ns = retry_ns_;
    return result;
  }
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

bool FileSink::advance() {
  const Spool& spool = *context_.spool;
  if (cursor_ < spool.begin()) cursor_ = shipped_end_ = spool.begin();
  const bool preamble_due =
      !segment_begun_ && segment_ == 0 && (finishing_ || now_ns_ - opened_ns_ >= context_.window_ns);
  if (preamble_due && !begin_segment()) return false;
  while (cursor_ != spool.end()) {
    if (!take_entry()) return false;
  }
  const bool window_passed = chunk_bytes_ != 0 && now_ns_ - chunk_began_ns_ >= context_.window_ns;
  if ((window_passed || flush_asked_ || finishing_) && !write_chunk()) return false;
  flush_asked_ = false;

  const bool segment_over = options_.segment_ns != 0 && now_ns_ - segment_began_ns_ >= options_.segment_ns;
  if (segment_begun_ && (finishing_ || (segment_over && (segment_has_data_ || chunk_bytes_ != 0)))) {
    if (!write_chunk() || !end_segment()) return false;
  }
  if (finishing_) {
    state_ = SinkState::finished;
    reserve_.close();
    return true;
  }
  if (options_.sync == DH_SYNC_INTERVAL && unsynced_ && now_ns_ - synced_ns_ >= options_.sync_interval_ns) {
    synced_ns_ = now_ns_;
    return sync_file();
  }
  return true;
}

bool FileSink::begin_segment() {
  if (!file_.is_open() && !open_file()) return false;
  const SpoolEntry* first = first_message(*context_.spool, cursor_);
  first_stream_seq_ = first != nullptr ? first->stream_seq : context_.state->next_stream_seq();
  preamble_end_ = context_.spool->end();
  // What is written but still in the spool lies before this segment.
  const Spool& spool = *context_.spool;
  for (uint64_t at = spool.begin(); at < cursor_; at = spool.next(at)) {
    context_.state->pass(spool.entry(at), spool.record(at));
  }
  segment_began_ns_ = now_ns_;
  segment_has_data_ = folder_synced_ = false;
  const uint64_t log_time = first != nullptr ? first->log_time : now_ns_ + context_.log_offset_ns;
  while (!write_declarations() || !write_repeats(log_time) || !file_.flush()) {
    if (state_ != SinkState::open) return false;
    const After after = after_error(0);
    if (after == After::later) return false;
    if (after == After::again) continue;
    const ErrorText error(file_.error());
    keep_whole_declarations();
    return fail("write", error.text(), false);
  }
  segment_end_ = segment_limit_;
  if (options_.quota_bytes != 0) {
    // Unless it was asked for, no segment of which most is preamble and summary.
    const uint64_t least = options_.segment_bytes != 0 ? 0 : 3 * (file_.position() + summary_bytes_);
    if (segment_end_ < least) segment_end_ = least;
    if (segment_end_ > options_.quota_bytes / 2) segment_end_ = options_.quota_bytes / 2;
  }
  reserve_.grow(summary_bytes_ + 2 * kReserveStepBytes);
  ledger_.begin_segment(segment_);
  segment_begun_ = true;
  return true;
}

bool FileSink::write_declarations() {
  StreamState& state = *context_.state;
  uint64_t bytes = 0;
  index_.begin_segment();
  summary_bytes_ = kSummaryBytes;
  for (uint32_t i = 0; i < state.declaration_count(); ++i) {
    const StreamItem item = state.item(i, segment_, first_stream_seq_, 0);
    if (i == 1) metadata_offset_ = bytes;
    if (i == 1) metadata_bytes_ = item_bytes(item);
    if (i >= state.schema_begin()) summary_bytes_ += item_bytes(item);
    if (i >= state.channel_begin()) summary_bytes_ += kChannelCountBytes;
    if (i >= state.channel_begin()) index_.declare(channel_of(item));
    bytes += item_bytes(item);
  }
  if (!make_quota_room(bytes + summary_bytes_)) return false;
  for (uint32_t i = 0; i < state.declaration_count(); ++i)
    copy_item(file_, state.item(i, segment_, first_stream_seq_, 0));
  return file_.ok();
}

// Less than a magic and a header is of no use, and a later segment without anything need not be there.
void FileSink::keep_whole_declarations() {
  StreamState& state = *context_.state;
  const uint64_t written = file_.written();
  uint64_t whole = 0;
  for (uint32_t i = 0; i < state.declaration_count(); ++i) {
    const uint64_t next = whole + item_bytes(state.item(i, segment_, first_stream_seq_, 0));
    if (next > written) break;
    whole = next;
  }
  file_.cut(whole);
  if (segment_ != 0) options_.calls.remove(options_.calls.user, segment_path_);
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
  summary_bytes_ += index_.chunk_index_bytes();
  if (!make_quota_room(chunk_at + kChunkHeaderBytes + bytes + index_.indexes_bytes() + summary_bytes_)) return false;
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
  index_.write_indexes(file_);
  index_.end_chunk(chunk_at, bytes);
  return file_.ok();
}

// What the segment would come to, sealed, with this entry in its chunk.
uint64_t FileSink::bytes_with(const SpoolEntry& entry) const {
  constexpr uint64_t kMostPerEntry = 64 + kChannelCountBytes;  // in the indexes
  return file_.position() + kChunkHeaderBytes + chunk_bytes_ + entry.record_bytes + index_.indexes_bytes() +
         summary_bytes_ + index_.chunk_index_bytes() + kMostPerEntry +
         (entry.kind == EntryKind::channel ? entry.record_bytes : 0);
}

// Moves the entry at the cursor into the open chunk, ending chunks and segments before and after it where needed.
bool FileSink::take_entry() {
  const Spool& spool = *context_.spool;
  if (!segment_begun_ && !begin_segment()) return false;
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
  const bool segment_full = segment_end_ != 0 && bytes_with(entry) > segment_end_;
  const bool index_full =
      chunk_bytes_ == 0 && (index_.is_nearly_full() || (is_message && !index_.has_room(entry.channel_id)));
  if ((segment_full || index_full) && (segment_has_data_ || chunk_bytes_ != 0)) {
    return write_chunk() && end_segment() && take_entry();  // once more, in a new segment
  }

  const ConstBytes record = spool.record(cursor_);
  if (chunk_bytes_ == 0) {
    chunk_began_ns_ = now_ns_;
    chunk_crc_ = 0;
  }
  if (is_message) {
    index_.add(entry.channel_id, entry.log_time, chunk_bytes_);
  } else {
    index_.declare(entry.channel_id);
    summary_bytes_ += entry.record_bytes + kChannelCountBytes;
  }
  if (is_message && record.size >= kKnownCrcBytes) {
    chunk_crc_ = crc32(chunk_crc_, record.data, kMessageHeaderBytes);
    chunk_crc_ = crc_of_sealed(chunk_crc_, record.from(kMessageHeaderBytes));
  } else {
    chunk_crc_ = crc32(chunk_crc_, record.data, record.size);
  }
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
  const uint64_t chunk_at = file_.position();
  const uint64_t chunk_end = chunk_at + kChunkHeaderBytes + chunk_bytes_ + index_.indexes_bytes();
  const uint64_t summary_bytes = summary_bytes_ + index_.chunk_index_bytes();
  if (!make_quota_room(chunk_end + summary_bytes)) return false;
  // A step ahead, so that what is there still suffices when it cannot grow.
  reserve_.grow((summary_bytes + index_.indexes_bytes() + 2 * kReserveStepBytes) & ~(kReserveStepBytes - 1));
  for (;;) {
    put_chunk();
    index_.write_indexes(file_);
    if (file_.flush()) break;
    const After after = after_error(chunk_at);
    if (after == After::later) return false;
    if (after == After::again) continue;
    const ErrorText error(file_.error());
    return fail("write", error.text(), repair_chunk(chunk_at));
  }
  commit_chunk(chunk_at, cursor_);
  return options_.sync != DH_SYNC_CHUNK || sync_file();
}

void FileSink::put_chunk() {
  const Spool& spool = *context_.spool;
  uint8_t head[kChunkHeaderBytes];
  write_chunk_header(head, index_.start_time(), index_.end_time(), chunk_bytes_, chunk_crc_);
  file_.copy(ConstBytes(head, sizeof head));
  for (uint64_t at = shipped_end_; at != cursor_; at = spool.next(at)) {
    if (!is_declared_before(at, spool.entry(at))) file_.refer(spool.record(at));
  }
}

// The chunk is in the file, with all entries before `next`.
void FileSink::commit_chunk(uint64_t chunk_at, uint64_t next) {
  const Spool& spool = *context_.spool;
  summary_bytes_ += index_.chunk_index_bytes();
  index_.end_chunk(chunk_at, chunk_bytes_);
  const uint64_t first = shipped_end_;
  shipped_end_ = next;
  for (uint64_t at = first; at != next; at = spool.next(at)) {
    const SpoolEntry& entry = spool.entry(at);
    if (!ledger_.add(entry, spool.record(at))) {
      context_.books.take_back(context_.books.user, {entry.tensor_id, 0, false, 1, entry.frame, entry.frame});
    }
  }
  chunk_bytes_ = 0;
  segment_has_data_ = unsynced_ = true;
  if (back_off_ns_ != 0) say(context_.log, DH_LOG_INFO, "sink: there is room on the disk again");
  back_off_ns_ = 0;
}

// The disk took only a part of the chunk, and will take no more: keeps the whole records of it under a header that fits
// them. Seals the segment with the room that was held for that; true when that worked.
bool FileSink::repair_chunk(uint64_t chunk_at) {
  const Spool& spool = *context_.spool;
  const uint64_t written = file_.written();
  const uint64_t room = written > chunk_at + kChunkHeaderBytes ? written - chunk_at - kChunkHeaderBytes : 0;
  uint64_t kept = 0, at = shipped_end_;
  uint32_t crc = 0;
  index_.drop_chunk();
  for (; at != cursor_; at = spool.next(at)) {
    const SpoolEntry& entry = spool.entry(at);
    if (is_declared_before(at, entry)) continue;
    const ConstBytes record = spool.record(at);
    if (kept + record.size > room) break;
    if (entry.kind == EntryKind::message) index_.add(entry.channel_id, entry.log_time, kept);
    crc = crc32(crc, record.data, record.size);
    kept += record.size;
  }
  uint8_t head[kChunkHeaderBytes];
  write_chunk_header(head, index_.start_time(), index_.end_time(), kept, crc);
  bool whole = file_.cut(kept == 0 ? chunk_at : chunk_at + kChunkHeaderBytes + kept);
  if (kept != 0 && (kept == chunk_bytes_ || file_.patch(chunk_at, ConstBytes(head, sizeof head)))) {
    chunk_bytes_ = kept;
  } else {
    kept = 0;
    at = shipped_end_;
    index_.drop_chunk();
    whole = whole && file_.cut(chunk_at);
  }
  for (uint64_t lost = at; lost != cursor_; lost = spool.next(lost)) {
    const SpoolEntry& entry = spool.entry(lost);
    if (entry.kind == EntryKind::channel && !is_declared_before(lost, entry)) index_.undeclare(entry.channel_id);
  }
  reserve_.release();
  const uint64_t end = file_.position();
  if (whole && kept != 0) index_.write_indexes(file_);
  if (kept != 0) commit_chunk(chunk_at, at);
  if (!whole) return false;
  write_summary();
  if (file_.flush()) return true;
  file_.cut(end);
  return false;
}

bool FileSink::end_segment() {
  const uint64_t data_end = file_.position();
  for (;;) {
    write_summary();
    if (file_.flush()) break;
    const ErrorText error(file_.error());
    if (is_full(file_.error()) && reserve_.release()) {
      if (file_.cut(data_end)) continue;
    }
    const After after = after_error(data_end);
    if (after == After::later) return false;
    if (after == After::again) continue;
    file_.cut(data_end);
    return fail("seal", error.text(), false);
  }
  if (options_.sync != DH_SYNC_NEVER && !sync_file()) return false;
  ledger_.end_segment(file_.position());
  file_.close();
  segment_begun_ = false;
  ++segment_;
  return true;
}

FileSink::After FileSink::after_error(uint64_t cut_to) {
  const ErrorText error(file_.error());
  if (!is_full(file_.error()) || options_.on_full == DH_ON_FULL_STOP) return After::over;
  if (finishing_) return After::over;  // the last words, which say what is here, are written
  const bool removed = options_.on_full == DH_ON_FULL_ROTATE && remove_oldest("the disk is full");
  if (file_.is_open() && !file_.cut(cut_to)) return After::over;
  if (removed) return After::again;
  if (back_off_ns_ == 0) {
    say(context_.log, DH_LOG_WARNING, "sink: %s: %s; trying again until there is room", segment_path_, error.text());
  }
  back_off_ns_ = back_off_ns_ == 0 ? kLeastBackOffNs : back_off_ns_ * 2;
  if (back_off_ns_ > kMostBackOffNs) back_off_ns_ = kMostBackOffNs;
  retry_ns_ = now_ns_ + back_off_ns_;
  return After::later;
}

// Removes old segments until the present one may come to `segment_bytes`.
bool FileSink::make_quota_room(uint64_t segment_bytes) {
  while (options_.quota_bytes != 0 && ledger_.bytes() + segment_bytes > options_.quota_bytes) {
    if (remove_oldest("quota_bytes")) continue;
    say(context_.log, DH_LOG_ERROR, "sink: quota_bytes is %llu, and one segment of this session needs %llu",
        static_cast<unsigned long long>(options_.quota_bytes), static_cast<unsigned long long>(segment_bytes));
    abandon();
    return false;
  }
  return true;
}

bool FileSink::remove_oldest(const char* why) {
  const SegmentLedger::Group* oldest = ledger_.oldest();
  if (oldest == nullptr) return false;
  char path[kPathBytes] = {};
  for (uint32_t number = oldest->first; number <= oldest->last; ++number) {
    if (!name_segment(path_, number, path, sizeof path)) return false;
    if (options_.calls.remove(options_.calls.user, path) != 0 && errno != ENOENT) {
      say(context_.log, DH_LOG_ERROR, "sink: cannot remove %s: %s", path, ErrorText(errno).text());
      return false;
    }
  }
  uint64_t tensors = 0;
  for (uint32_t i = 0; i < oldest->share_count; ++i) {
    if (!ledger_.share(i).told) tensors += ledger_.share(i).count;
    context_.books.take_back(context_.books.user, ledger_.share(i));
  }
  char text[256];
  const char* name = strrchr(path, '/');
  snprintf(text, sizeof text, "sink: removed segment %.150s%s with %llu tensors: %s", name == nullptr ? path : name + 1,
           oldest->first == oldest->last ? "" : " and some before it", static_cast<unsigned long long>(tensors), why);
  say(context_.log, DH_LOG_WARNING, "%s", text);
  context_.books.note(context_.books.user, text);
  ledger_.remove_oldest();
  return true;
}

void FileSink::write_summary() {
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
  file_.copy(ConstBytes(buffer, write_metadata_index_record(out, metadata_offset_, metadata_bytes_, kMetadataName)));
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

bool FileSink::fail(const char* doing, const char* error, bool sealed) {
  say(context_.log, DH_LOG_ERROR, "sink: cannot %s %s: %s; it is %s up to byte %llu, what follows is counted as lost",
      doing, segment_path_, error, sealed ? "sealed" : "usable", static_cast<unsigned long long>(file_.written()));
  abandon();
  return false;
}

void FileSink::abandon() {
  if (state_ == SinkState::finished) return;
  file_.close();
  reserve_.close();
  state_ = SinkState::failed;
}

}  // namespace dumphook
