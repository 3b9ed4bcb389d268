// SPDX-License-Identifier: Apache-2.0
#include "cli/file_examination.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/crc32.h"
#include "wire/format.h"

namespace dumphook {
namespace {

constexpr const char* kRecover = "dumphook recover makes a sound file of what is whole in it";

// Numbers of a record, one after the other; zeros where it is too short.
class Numbers {
 public:
  explicit Numbers(ConstBytes bytes) : rest_(bytes) {}
  template <class T>
  T next() {
    if (rest_.size < sizeof(T)) return rest_ = {}, T{0};
    const T value = load_le<T>(rest_.data);
    rest_ = rest_.from(sizeof(T));
    return value;
  }
  // (channel, number) pairs behind their length.
  std::map<uint16_t, uint64_t> map() {
    std::map<uint16_t, uint64_t> pairs;
    for (size_t left = std::min<size_t>(next<uint32_t>(), rest_.size); left >= 10; left -= 10) {
      const auto key = next<uint16_t>();
      pairs[key] = next<uint64_t>();
    }
    return pairs;
  }
  void skip_text() { rest_ = rest_.from(std::min<size_t>(next<uint32_t>(), rest_.size)); }

 private:
  ConstBytes rest_;
};

std::vector<uint8_t> copy_of(ConstBytes bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

void FileExamination::damaged(uint64_t offset, std::string what, std::string todo) {
  ++harmed_;
  result_.add(Harm::damaged, number_, offset, std::move(what), std::move(todo));
}

// What the scanner found on its way to the record it gave.
void FileExamination::take_problems() {
  for (; problems_taken_ < problems_.kept().size(); ++problems_taken_) {
    const Problem& problem = problems_.kept()[problems_taken_];
    const bool note = problem.severity == Severity::note;
    if (!note) ++harmed_;
    result_.add(note ? Harm::none : Harm::damaged, number_, problem.offset, problem.what,
                note || !problem.todo.empty() ? problem.todo : kRecover);
  }
}

std::optional<uint32_t> FileExamination::crc_of(uint64_t begin, uint64_t end) const {
  std::vector<uint8_t> buffer(size_t{1} << 18);
  uint32_t sum = 0;
  while (begin < end) {
    const size_t bytes = static_cast<size_t>(std::min<uint64_t>(buffer.size(), end - begin));
    if (source_->read(begin, buffer.data(), bytes) != 0) return std::nullopt;
    sum = crc32(sum, buffer.data(), bytes);
    begin += bytes;
  }
  return sum;
}

void FileExamination::run(std::vector<SeqJump>& jumps) {
  jumps_ = &jumps;
  for (RecordScanner::Step step; (step = scanner_.next(true)) != RecordScanner::Step::end;) {
    take_problems();
    if (step == RecordScanner::Step::stream) {
      begin_stream(scanner_.stream_offset());
    } else if (step == RecordScanner::Step::sealed) {
      stream_.sealed = true;
    } else {
      if (!in_stream_) begin_stream(scanner_.record().offset);
      take(scanner_.record());
    }
  }
  take_problems();
  const uint64_t at = scanner_.position();
  if (const uint64_t zeros = scanner_.zero_tail_bytes(); zeros != 0) {
    result_.add(Harm::missing, number_, at, fmt::format("{} bytes of zeros at the end, as after a power cut", zeros),
                kRecover);
  } else if (scanner_.cut()) {
    result_.add(Harm::missing, number_, at,
                fmt::format("the file is cut off in mid-record, {} bytes before its end", source_->size() - at),
                kRecover);
  }
  if (in_stream_) {
    end_stream();
  } else {
    damaged(0, "no stream begins in this file", "is it a capture?");
  }
}

void FileExamination::begin_stream(uint64_t offset) {
  if (in_stream_) end_stream();
  stream_ = Stream();
  stream_.offset = offset;
  summary_groups_.clear();
  in_stream_ = true;
  in_chunk_ = false;
  harmed_at_ = harmed_;
  ++result_.streams;
}

void FileExamination::end_stream() {
  leave_chunk();
  in_stream_ = false;
  if (!stream_.sealed) {
    result_.add(
        Harm::missing, number_, stream_.offset,
        "the stream that begins here was not closed by its writer: a crash, a cut cable, or still being written",
        kRecover);
    return;
  }
  if (stream_.session.empty()) damaged(stream_.offset, "this stream has no metadata that says whose it is");
  if (!stream_.has_statistics || !unharmed()) return;
  const auto indexed = [](const Chunk& chunk) { return chunk.indexed; };
  if (std::none_of(stream_.chunks.begin(), stream_.chunks.end(), indexed)) return;  // a summary without them is allowed
  for (const Chunk& chunk : stream_.chunks) {
    if (!chunk.indexed) damaged(chunk.offset, "the summary does not know this chunk", kRecover);
  }
}

void FileExamination::take(const McapRecord& record) {
  const RecordScanner::ChunkPlace& place = scanner_.chunk();
  const bool inside = place.open && record.offset >= place.data_begin && record.offset < place.data_end;
  if (inside && (stream_.chunks.empty() || stream_.chunks.back().offset != place.offset)) enter_chunk();
  if (!inside) leave_chunk();
  if (stream_.data_ended && !record.is(McapOp::kFooter) && !record.is(McapOp::kSummaryOffset)) {
    auto& group = summary_groups_.try_emplace(record.opcode, record.offset, 0).first->second;
    group.second = record.content_offset + record.content_size - group.first;
  }
  if (!record.sound && !record.is(McapOp::kMessage)) return;  // the scanner has told
  switch (static_cast<McapOp>(record.opcode)) {
    case McapOp::kSchema:
    case McapOp::kChannel: take_declaration(record); break;
    case McapOp::kMetadata: take_metadata(record); break;
    case McapOp::kMessage: take_message(record); break;
    case McapOp::kMessageIndex: check_message_index(record); break;
    case McapOp::kDataEnd: check_data_end(record); break;
    case McapOp::kStatistics: check_statistics(record); break;
    case McapOp::kChunkIndex: check_chunk_index(record); break;
    case McapOp::kSummaryOffset: check_summary_offset(record); break;
    case McapOp::kMetadataIndex: {
      Numbers in(record.content);
      const uint64_t offset = in.next<uint64_t>() + stream_.offset;
      const auto found = stream_.metadata.find(offset);
      if (found == stream_.metadata.end() || found->second != in.next<uint64_t>())
        damaged(record.offset, fmt::format("the index says that a Metadata record is at {}, which is not so", offset));
      break;
    }
    case McapOp::kFooter: check_footer(record); break;
    default: break;
  }
}

void FileExamination::enter_chunk() {
  leave_chunk();
  const RecordScanner::ChunkPlace& place = scanner_.chunk();
  Chunk chunk;
  chunk.offset = place.offset;
  chunk.bytes = place.data_end - place.offset;
  stream_.chunks.push_back(chunk);
  stream_.open_index.clear();
  in_chunk_ = true;
  ++result_.chunks;
}

void FileExamination::leave_chunk() {
  if (!in_chunk_) return;
  in_chunk_ = false;
  Chunk& chunk = stream_.chunks.back();
  uint8_t times[16];
  if (source_->read(chunk.offset + kRecordPrefixBytes, times, sizeof times) != 0) return;
  const bool cut = chunk.offset + chunk.bytes > source_->size();
  if (!cut && unharmed() && !stream_.open_index.empty() &&
      (load_le<uint64_t>(times) != chunk.start || load_le<uint64_t>(times + 8) != chunk.end)) {
    damaged(chunk.offset, "this chunk's times are not those of its messages");
  }
}

// Schemas and channels; the summary repeats them.
void FileExamination::take_declaration(const McapRecord& record) {
  const bool schema = record.is(McapOp::kSchema);
  const auto id = load_le<uint16_t>(record.content.data);
  auto& known = schema ? stream_.schemas : stream_.channels;
  const char* what = schema ? "schema" : "channel";
  const auto found = known.find(id);
  if (found != known.end()) {
    if (found->second != copy_of(record.content))
      damaged(record.offset, fmt::format("{} {} is not what it was before in this stream", what, id));
    return;
  }
  if (stream_.data_ended) {
    damaged(record.offset, fmt::format("the summary has a {} {} that the data do not have", what, id));
  } else if (!schema) {
    const auto channel = parse_channel(record.content);
    if (channel->schema_id != 0 && stream_.schemas.count(channel->schema_id) == 0)
      damaged(record.offset,
              fmt::format("channel {} is of schema {}, which does not come before it", id, channel->schema_id));
  }
  known[id] = copy_of(record.content);
  if (schema) stream_.schema_names[id] = parse_schema(record.content)->name;
}

void FileExamination::take_metadata(const McapRecord& record) {
  stream_.metadata[record.offset] = record.content_offset + record.content_size - record.offset;
  const auto metadata = parse_metadata(record.content);
  if (metadata->name != kMetadataName || !stream_.session.empty()) return;
  const auto text = [&metadata](const char* key) {
    const auto found = metadata->values.find(key);
    return found == metadata->values.end() ? std::string() : found->second;
  };
  stream_.session = text("session");
  stream_.first_seq = std::strtoull(text("first_stream_seq").c_str(), nullptr, 10);
  if (std::strtoull(text("format_oldest").c_str(), nullptr, 10) > kFormatCurrent)
    damaged(record.offset, "this stream is of a later format than this program knows", "use a newer dumphook");
  if (stream_.session.size() != 32) damaged(record.offset, "the metadata have no session uuid");
  if (stream_.first_seq == 0) damaged(record.offset, "the metadata have no first_stream_seq");
}

void FileExamination::take_message(const McapRecord& record) {
  ++result_.messages;
  const auto header = parse_message_header(record.content);
  if (!header) return;
  ++stream_.messages;
  ++stream_.counts[header->channel_id];
  stream_.start = stream_.messages == 1 ? header->log_time : std::min(stream_.start, header->log_time);
  stream_.end = std::max(stream_.end, header->log_time);
  if (in_chunk_) {
    Chunk& chunk = stream_.chunks.back();
    const bool first = stream_.open_index.empty();
    chunk.start = first ? header->log_time : std::min(chunk.start, header->log_time);
    chunk.end = first ? header->log_time : std::max(chunk.end, header->log_time);
    stream_.open_index[header->channel_id].emplace_back(header->log_time, record.offset - scanner_.chunk().data_begin);
  } else if (!stream_.chunks.empty()) {
    damaged(record.offset, "a message outside the chunks", kRecover);
  }
  const auto channel = stream_.channels.find(header->channel_id);
  const auto parsed = channel == stream_.channels.end()
                          ? std::nullopt
                          : parse_channel(ConstBytes(channel->second.data(), channel->second.size()));
  if (!parsed)
    return damaged(record.offset,
                   fmt::format("a message of channel {}, which does not come before it", header->channel_id), kRecover);
  if (!record.sound)
    return damaged(record.offset, fmt::format("a message of {} is damaged: its CRC does not match", parsed->topic),
                   kRecover);
  const auto kind = message_kind(stream_.schema_names[parsed->schema_id]);
  if (!kind || parsed->message_encoding != kEncoding) return;  // of somebody else
  const Expected<Message> message = read_message(*kind, record.content.from(kMessageFieldsBytes));
  if (!message.ok())
    return damaged(record.offset, fmt::format("a message of {}: {}", parsed->topic, message.error().what),
                   message.error().todo);
  for (const std::string& remark : message->remarks) damaged(record.offset, remark);
  const uint64_t seq = message->stream_seq;
  if (seq == 0) return damaged(record.offset, "a message has no stream_seq");
  if (header->sequence != static_cast<uint32_t>(seq))
    damaged(record.offset, fmt::format("the record's sequence {} is not that of message {}", header->sequence, seq));
  take_content(record, *message);
  if (stream_.first_seq != 0 && seq < stream_.first_seq) return;  // a repeat
  const uint64_t expected = stream_.last_seq == 0 ? stream_.first_seq : stream_.last_seq + 1;
  if (seq > expected && expected != 0) jumps_->push_back({stream_.session, expected, seq - 1, number_, record.offset});
  if (seq < expected) return;
  if (header->log_time < stream_.last_log_time)
    damaged(record.offset, fmt::format("the time of message {} is before that of the message before it", seq));
  stream_.last_log_time = header->log_time;
  stream_.last_seq = seq;
}

void FileExamination::take_content(const McapRecord& record, const Message& message) {
  if (const auto* tensor = std::get_if<TensorNews>(&message.body)) {
    if (tensor->descriptor != nullptr) stream_.descriptors.insert(tensor->descriptor->hash);
    if (tensor->key && stream_.descriptors.count(tensor->key->descriptor_hash) == 0)
      damaged(record.offset,
              fmt::format("message {} is of a tensor whose descriptor does not come before it", message.stream_seq),
              "its values can be had, its meaning cannot");
  } else if (const auto* counters = std::get_if<SessionCounters>(&message.body)) {
    uint64_t sum = counters->shipped + counters->in_flight;
    for (const auto& [reason, count] : counters->lost) sum += count;
    if (sum != counters->seen)
      damaged(record.offset, fmt::format("the counters do not add up: seen {}, but shipped, in flight and lost are {}",
                                         counters->seen, sum));
  }
}

void FileExamination::check_message_index(const McapRecord& record) {
  if (stream_.chunks.empty()) return damaged(record.offset, "a message index before any chunk");
  Numbers in(record.content);
  const auto channel = in.next<uint16_t>();
  Entries entries(in.next<uint32_t>() / 16);
  for (auto& [time, offset] : entries) {
    time = in.next<uint64_t>();
    offset = in.next<uint64_t>();
  }
  stream_.chunks.back().index_at[channel] = record.offset;
  const auto found = stream_.open_index.find(channel);
  if (unharmed() && entries != (found == stream_.open_index.end() ? stream_.none : found->second))
    damaged(record.offset, fmt::format("the message index of channel {} is not what its chunk holds", channel),
            kRecover);
}

void FileExamination::check_data_end(const McapRecord& record) {
  stream_.data_ended = true;
  stream_.summary_at = record.content_offset + record.content_size;
  const auto crc = load_le<uint32_t>(record.content.data);
  if (crc == 0) return;
  const auto found = crc_of(stream_.offset, record.offset);
  if (found && *found != crc) damaged(record.offset, "the CRC over the data section does not match", kRecover);
}

void FileExamination::check_statistics(const McapRecord& record) {
  stream_.has_statistics = true;
  if (!unharmed()) return;  // would only say it again
  Numbers in(record.content);
  const auto expect = [&](const char* what, uint64_t said, uint64_t found) {
    if (said != found)
      damaged(record.offset, fmt::format("the statistics say {} {}, and there are {}", said, what, found), kRecover);
  };
  expect("messages", in.next<uint64_t>(), stream_.messages);
  expect("schemas", in.next<uint16_t>(), stream_.schemas.size());
  expect("channels", in.next<uint32_t>(), stream_.channels.size());
  in.next<uint32_t>();  // attachments
  expect("metadata records", in.next<uint32_t>(), stream_.metadata.size());
  expect("chunks", in.next<uint32_t>(), stream_.chunks.size());
  expect("as the first time", in.next<uint64_t>(), stream_.start);
  expect("as the last time", in.next<uint64_t>(), stream_.end);
  if (in.map() != stream_.counts)
    damaged(record.offset, "the statistics have other numbers of messages by channel than there are", kRecover);
}

void FileExamination::check_chunk_index(const McapRecord& record) {
  Numbers in(record.content);
  const auto start = in.next<uint64_t>(), end = in.next<uint64_t>();
  const uint64_t offset = in.next<uint64_t>() + stream_.offset, bytes = in.next<uint64_t>();
  std::map<uint16_t, uint64_t> indexes = in.map();
  for (auto& entry : indexes) entry.second += stream_.offset;
  const auto chunk = std::find_if(stream_.chunks.begin(), stream_.chunks.end(),
                                  [offset](const Chunk& one) { return one.offset == offset; });
  if (chunk == stream_.chunks.end())
    return damaged(record.offset, fmt::format("the index says that a chunk is at {}, where there is none", offset),
                   kRecover);
  chunk->indexed = true;
  if (chunk->bytes != bytes ||
      (unharmed() && (chunk->start != start || chunk->end != end || chunk->index_at != indexes)))
    damaged(record.offset, fmt::format("what the index says of the chunk at {} is not so", offset), kRecover);
}

void FileExamination::check_summary_offset(const McapRecord& record) {
  Numbers in(record.content);
  const auto op = in.next<uint8_t>();
  const uint64_t begin = in.next<uint64_t>() + stream_.offset, bytes = in.next<uint64_t>();
  const auto found = summary_groups_.find(op);
  if (found == summary_groups_.end() || found->second != std::make_pair(begin, bytes))
    damaged(record.offset, "the summary's own index is wrong", kRecover);
}

void FileExamination::check_footer(const McapRecord& record) {
  Numbers in(record.content);
  const auto summary = in.next<uint64_t>(), offsets = in.next<uint64_t>();
  const auto crc = in.next<uint32_t>();
  if (!stream_.data_ended) return damaged(record.offset, "the footer comes before the data section's end", kRecover);
  if (summary == 0) return;
  if (summary + stream_.offset != stream_.summary_at ||
      (offsets != 0 && (offsets < summary || offsets + stream_.offset > record.offset)))
    return damaged(record.offset, "the footer does not say where the summary is", kRecover);
  const auto found = crc_of(stream_.summary_at, record.offset + kRecordPrefixBytes + 16);
  if (crc != 0 && found && *found != crc) damaged(record.offset, "the summary's CRC does not match", kRecover);
}

}  // namespace dumphook
