// SPDX-License-Identifier: Apache-2.0
#include "source/capture_writer.h"

#include <algorithm>

#include "wire/crc32.h"

namespace dumphook {
namespace {

void append(std::vector<uint8_t>& to, ConstBytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

}  // namespace

CaptureWriter::CaptureWriter(Write write, size_t chunk_bytes) : write_(std::move(write)), chunk_limit_(chunk_bytes) {}

Expected<bool> CaptureWriter::put(ConstBytes bytes) {
  const Expected<bool> written = write_(bytes);
  if (written.ok()) position_ += bytes.size;
  return written;
}

Expected<bool> CaptureWriter::add_header(ConstBytes record) {
  const Expected<bool> begun = put(kMcapMagic);
  return begun.ok() ? put(record) : begun;
}

Expected<bool> CaptureWriter::add_metadata(ConstBytes record, const std::string& name) {
  metadata_.push_back({position_, record.size, name});
  return put(record);
}

// Outside the chunks while there are none, so that a reader finds them at the front.
Expected<bool> CaptureWriter::add_schema(ConstBytes record) {
  append(schemas_, record);
  ++schema_count_;
  if (chunk_.empty() && chunk_count_ == 0) return put(record);
  append(chunk_, record);
  return true;
}

Expected<bool> CaptureWriter::add_channel(ConstBytes record) {
  append(channels_, record);
  ++channel_count_;
  if (chunk_.empty() && chunk_count_ == 0) return put(record);
  append(chunk_, record);
  return true;
}

Expected<bool> CaptureWriter::add_message(ConstBytes record) {
  const auto channel = load_le<uint16_t>(record.data + kRecordPrefixBytes);
  const auto log_time = load_le<uint64_t>(record.data + kRecordPrefixBytes + 6);
  const bool first = open_index_.empty();
  open_index_[channel].push_back({log_time, chunk_.size()});
  chunk_start_ = first ? log_time : std::min(chunk_start_, log_time);
  chunk_end_ = first ? log_time : std::max(chunk_end_, log_time);
  ++message_counts_[channel];
  start_ = messages_ == 0 ? log_time : std::min(start_, log_time);
  end_ = std::max(end_, log_time);
  ++messages_;
  append(chunk_, record);
  return chunk_.size() >= chunk_limit_ ? end_chunk() : true;
}

Expected<bool> CaptureWriter::end_chunk() {
  if (chunk_.empty()) return true;
  uint8_t head[kChunkHeaderBytes];
  write_chunk_header(head, chunk_start_, chunk_end_, chunk_.size(), crc32(0, chunk_.data(), chunk_.size()));
  ChunkIndexView view;
  view.chunk_offset = position_;
  view.chunk_bytes = sizeof head + chunk_.size();
  view.start_time = chunk_start_;
  view.end_time = chunk_end_;
  view.records_bytes = chunk_.size();
  if (Expected<bool> written = put(ConstBytes(head, sizeof head)); !written.ok()) return written;
  if (Expected<bool> written = put(ConstBytes(chunk_.data(), chunk_.size())); !written.ok()) return written;
  std::vector<ChannelNumber> offsets;
  const uint64_t indexes_at = position_;
  for (const auto& [channel, entries] : open_index_) {
    std::vector<uint8_t> record(32 + 16 * entries.size());
    const size_t bytes = write_message_index_record(Bytes(record.data(), record.size()), channel,
                                                    Span<const MessageIndexEntry>(entries.data(), entries.size()));
    offsets.push_back({channel, position_});
    if (Expected<bool> written = put(ConstBytes(record.data(), bytes)); !written.ok()) return written;
  }
  view.index_offsets = Span<const ChannelNumber>(offsets.data(), offsets.size());
  view.index_bytes = position_ - indexes_at;
  std::vector<uint8_t> record(128 + 10 * offsets.size());
  append(chunk_indexes_,
         ConstBytes(record.data(), write_chunk_index_record(Bytes(record.data(), record.size()), view)));
  ++chunk_count_;
  chunk_.clear();
  open_index_.clear();
  chunk_start_ = chunk_end_ = 0;
  return true;
}

Expected<bool> CaptureWriter::seal() {
  if (Expected<bool> written = end_chunk(); !written.ok()) return written;
  std::vector<ChannelNumber> counts;
  for (const auto& [channel, count] : message_counts_) counts.push_back({channel, count});
  std::vector<uint8_t> statistics(128 + 10 * counts.size()), metadata;
  McapStatisticsView view;
  view.message_count = messages_;
  view.schema_count = schema_count_;
  view.channel_count = channel_count_;
  view.metadata_count = static_cast<uint32_t>(metadata_.size());
  view.chunk_count = chunk_count_;
  view.start_time = start_;
  view.end_time = end_;
  view.message_counts = Span<const ChannelNumber>(counts.data(), counts.size());
  statistics.resize(write_statistics_record(Bytes(statistics.data(), statistics.size()), view));
  for (const Place& place : metadata_) {
    std::vector<uint8_t> record(64 + place.name.size());
    append(metadata,
           ConstBytes(record.data(), write_metadata_index_record(Bytes(record.data(), record.size()), place.offset,
                                                                 place.bytes, place.name.c_str())));
  }

  std::vector<uint8_t> end(kDataEndRecordBytes);
  write_data_end_record(Bytes(end.data(), end.size()), 0);
  const uint64_t summary_at = position_ + end.size();
  std::vector<uint8_t> summary, offsets;
  const std::pair<McapOp, const std::vector<uint8_t>*> groups[] = {{McapOp::kSchema, &schemas_},
                                                                   {McapOp::kChannel, &channels_},
                                                                   {McapOp::kStatistics, &statistics},
                                                                   {McapOp::kChunkIndex, &chunk_indexes_},
                                                                   {McapOp::kMetadataIndex, &metadata}};
  for (const auto& [op, records] : groups) {
    if (records->empty()) continue;
    uint8_t record[64];
    append(offsets, ConstBytes(record, write_summary_offset_record(Bytes(record), op, summary_at + summary.size(),
                                                                   records->size())));
    append(summary, ConstBytes(records->data(), records->size()));
  }
  const uint64_t offsets_at = summary_at + summary.size();
  append(summary, ConstBytes(offsets.data(), offsets.size()));
  uint8_t footer[kFooterRecordBytes + sizeof kMcapMagic];
  size_t bytes = write_footer_record(Bytes(footer), summary_at, offsets_at, crc32(0, summary.data(), summary.size()));
  bytes += write_magic(Bytes(footer).from(bytes));
  append(end, ConstBytes(summary.data(), summary.size()));
  append(end, ConstBytes(footer, bytes));
  return put(ConstBytes(end.data(), end.size()));
}

}  // namespace dumphook
