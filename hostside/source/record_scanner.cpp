// SPDX-License-Identifier: Apache-2.0
#include "source/record_scanner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wire/crc32.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

constexpr size_t kWindowBytes = size_t{1} << 18;
constexpr size_t kAlignment = 16;
constexpr uint64_t kLongestChunkHeader = 128;
constexpr uint64_t kResyncFree = uint64_t{64} << 20;  // plus 4 times the file: what looking again at bytes may cost

bool known(uint8_t opcode) { return opcode != 0 && opcode <= kLastKnownOpcode; }
bool carries_data(uint8_t opcode) {
  return opcode == static_cast<uint8_t>(McapOp::kSchema) || opcode == static_cast<uint8_t>(McapOp::kChannel) ||
         opcode == static_cast<uint8_t>(McapOp::kMessage);
}

}  // namespace

RecordScanner::RecordScanner(std::shared_ptr<const FileSource> source, uint32_t file_number, ProblemList& problems)
    : source_(std::move(source)), file_number_(file_number), problems_(problems) {}

RecordScanner::Step RecordScanner::next(bool final) {
  zero_tail_ = 0;
  for (;;) {
    if (unreadable_) return end(true);
    const uint64_t size = source_->size();
    if (chunk_.open && position_ >= chunk_.data_end) {
      close_chunk();
      continue;
    }
    if (position_ >= size) {
      if (final && may_look_back_ && resync()) continue;
      return end(chunk_.open);
    }

    const uint64_t remaining = size - position_;
    if (remaining >= sizeof kMcapMagic && magic_at(position_)) {
      if (chunk_.open) {
        report(Severity::error, chunk_.offset, "a stream begins inside this chunk: the chunk was cut off");
        chunk_.open = false;
      }
      const bool closes = after_footer_;
      after_footer_ = false;
      position_ += sizeof kMcapMagic;
      may_look_back_ = false;
      if (closes) return Step::sealed;
      stream_offset_ = position_ - sizeof kMcapMagic;
      stream_announced_ = true;
      chunked_ = false;
      return Step::stream;
    }
    if (position_ == 0 && !magic_missing_told_ && remaining >= sizeof kMcapMagic) {
      magic_missing_told_ = true;
      report(Severity::error, 0, "the file does not begin like an MCAP file");
    }
    if (remaining < kRecordPrefixBytes) {
      if (final && may_look_back_ && resync()) continue;
      if (only_zeros(position_)) zero_tail_ = remaining;
      return end(true);
    }

    RecordHeader header{};
    if (window(position_, kRecordPrefixBytes) == nullptr || !peek_header(position_, &header)) return end(true);
    if (header.opcode == 0 && only_zeros(position_)) {
      zero_tail_ = remaining;
      return end(true);
    }
    const uint64_t content = remaining - kRecordPrefixBytes;
    const bool fits = header.length <= content;
    bool plausible = length_plausible(header.opcode, header.length);
    // Anything may look like a record of an unknown kind: believe it when a record follows.
    if (plausible && !known(header.opcode)) {
      plausible = fits ? header_plausible(position_ + kRecordPrefixBytes + header.length, size) : !final;
    }
    if (plausible && header.opcode == static_cast<uint8_t>(McapOp::kChunk) && !chunk_.open) {
      if (enter_chunk(header.length)) continue;
      if (!fits && content < kLongestChunkHeader) {  // its header is not all there
        if (final && resync()) continue;
        return end(true);
      }
      plausible = false;
    }
    if (plausible && chunk_.open) {
      const bool belongs = carries_data(header.opcode);
      const bool crosses = header.length > chunk_.data_end - std::min(chunk_.data_end, position_ + kRecordPrefixBytes);
      if (!belongs || crosses) {
        if (chunk_.data_end <= size) {
          plausible = false;
        } else if (!belongs) {
          report(Severity::error, chunk_.offset, "this chunk is shorter than it says",
                 "its messages were read and checked one by one");
          chunk_.open = false;
        }
      }
    }
    if (!plausible) {
      if (resync()) continue;
      if (final && !unreadable_)
        report(Severity::error, position_, "damaged from here on: no record was found behind this place");
      return end(true);
    }
    if (!fits) {
      if (final && resync()) continue;
      return end(true);
    }
    if (header.opcode == static_cast<uint8_t>(McapOp::kHeader) && !stream_announced_) {
      stream_announced_ = true;
      stream_offset_ = position_;
      chunked_ = after_footer_ = false;
      return Step::stream;
    }
    return give_record(header.opcode, header.length);
  }
}

RecordScanner::Step RecordScanner::end(bool cut) {
  cut_ = cut;
  window_bytes_ = 0;  // when called again, the file may have changed there
  return Step::end;
}

RecordScanner::Step RecordScanner::give_record(uint8_t opcode, uint64_t length) {
  record_.opcode = opcode;
  record_.offset = position_;
  record_.content_offset = position_ + kRecordPrefixBytes;
  record_.content_size = length;
  record_.content = {};
  record_.sound = false;
  stream_announced_ = false;
  const bool message = opcode == static_cast<uint8_t>(McapOp::kMessage);
  if (known(opcode) && length <= kMaxRecordBytes + kMessageFieldsBytes) {
    if (!load(record_.content_offset, static_cast<size_t>(length), message ? kMessageFieldsBytes : 0)) return end(true);
    const size_t skew = message ? kAlignment * 2 - kMessageFieldsBytes : 0;
    record_.content = ConstBytes(content_.data() + skew, static_cast<size_t>(length));
    const Fit fit = fields_fit(opcode, record_.content);
    record_.sound = fit == Fit::exact && (!message || check_message_crc(record_.content.from(kMessageFieldsBytes)));
    if (fit == Fit::loose) report(Severity::note, record_.offset, "this record is longer than its fields");
    if (fit == Fit::broken) {
      report(Severity::error, record_.offset, "this record's fields do not fit into it");
      record_.content = {};
    }
  }
  // Only a message's CRC vouches for its length.
  may_look_back_ = !(message && record_.sound);
  if (!known(opcode) && opcode < kFirstPrivateOpcode) {
    report(Severity::warning, position_, "a record of an unknown kind was passed over", "");
  }
  after_footer_ = opcode == static_cast<uint8_t>(McapOp::kFooter);
  if (position_ < read_end_) resync_spent_ += std::min(length, read_end_ - position_);
  position_ = record_.content_offset + length;
  read_end_ = std::max(read_end_, position_);
  return Step::record;
}

// False when this is no chunk. Its records need not be there yet, or at all.
bool RecordScanner::enter_chunk(uint64_t length) {
  const uint64_t begin = position_ + kRecordPrefixBytes;
  const uint64_t there = source_->size() - begin;
  const size_t bytes = static_cast<size_t>(std::min<uint64_t>({length, there, kWindowBytes}));
  const uint8_t* content = window(begin, bytes);
  if (content == nullptr) return false;
  // The last field, the records, reaches beyond what is looked at here: leave its length to the checks below.
  const std::optional<ChunkHeader> header = parse_chunk_header(ConstBytes(content, bytes));
  if (!header || header->header_bytes > length) return false;
  const uint64_t room = length - header->header_bytes;
  may_look_back_ = false;
  chunked_ = true;
  if (!header->compression.empty()) {
    if (header->records_size != room || length > there) return false;
    report(Severity::error, position_, "this chunk is compressed with \"" + header->compression.substr(0, 16) + "\"",
           "write the file again with chunk compression none, e.g. with the mcap tool");
    position_ = begin + length;
    return true;
  }
  // Where the lengths contradict each other its records are read one after the other, as outside a chunk.
  chunk_.open = header->records_size == room && header->uncompressed_size == room;
  chunk_.offset = position_;
  chunk_.data_begin = begin + header->header_bytes;
  chunk_.data_end = chunk_.data_begin + room;
  chunk_.crc = header->uncompressed_crc;
  if (!chunk_.open) {
    report(Severity::error, position_, "this chunk's lengths contradict each other",
           "its messages were read and checked one by one");
  }
  position_ = chunk_.data_begin;
  return true;
}

void RecordScanner::close_chunk() {
  chunk_.open = false;
  position_ = chunk_.data_end;
  if (chunk_.crc != 0 && !crc_matches(chunk_.data_begin, chunk_.data_end, chunk_.crc)) {
    report(Severity::warning, chunk_.offset, "this chunk's CRC does not match", "its messages were checked one by one");
  }
}

// Looks for the next record behind damage. Where the last record given was not vouched for, its length may be what is
// damaged, and the search begins inside it.
bool RecordScanner::resync() {
  const uint64_t size = source_->size();
  const bool anchored = chunk_.open && chunk_.data_end <= size;
  const uint64_t limit = anchored ? chunk_.data_end : size;
  const bool look_back = may_look_back_ && resync_affordable();
  for (uint64_t at = (look_back ? record_.offset : position_) + 1; at < limit;) {
    const size_t bytes = static_cast<size_t>(std::min<uint64_t>(kWindowBytes / 2, limit - at));
    const uint8_t* bytes_at = window(at, bytes);
    if (bytes_at == nullptr) return false;
    size_t step = 0;
    for (; step < bytes; ++step) {
      const uint8_t byte = bytes_at[step];
      if (byte != kMcapMagic[0] && !known(byte)) continue;
      if (candidate(at + step, limit)) {
        go_on_at(at + step);
        return true;
      }
      bytes_at = window(at, bytes);  // candidate may have moved it
      if (bytes_at == nullptr) return false;
    }
    at += bytes;
    resync_spent_ += bytes;
  }
  if (anchored) {
    go_on_at(chunk_.data_end);
    return true;
  }
  return false;
}

void RecordScanner::go_on_at(uint64_t next) {
  const bool last_is_damaged = may_look_back_ && (!record_.sound || next < position_);
  const uint64_t damaged = last_is_damaged ? record_.offset : position_;
  report(Severity::error, damaged,
         "damaged here: " + std::to_string(next - damaged) + " bytes were skipped, reading goes on at offset " +
             std::to_string(next));
  position_ = next;
  may_look_back_ = false;
  after_footer_ = false;
}

// Whether a record that reading can go on with begins here.
bool RecordScanner::candidate(uint64_t at, uint64_t limit) {
  if (limit - at >= sizeof kMcapMagic && magic_at(at)) return true;
  RecordHeader header{};
  if (limit - at < kRecordPrefixBytes || !peek_header(at, &header)) return false;
  if (!known(header.opcode) || !length_plausible(header.opcode, header.length)) return false;
  const uint64_t content = at + kRecordPrefixBytes;
  const bool chunk = header.opcode == static_cast<uint8_t>(McapOp::kChunk);
  if (header.length > limit - content) return false;
  const uint64_t after = content + header.length;
  if (after != limit && !header_plausible(after, limit)) return false;
  if (chunk) {
    if (header.length < 40) return false;
    uint8_t fields[40];
    if (!peek(content, fields, sizeof fields)) return false;
    return load_le<uint32_t>(fields + 28) == 0 && load_le<uint64_t>(fields + 32) == header.length - 40;
  }
  if (header.length > kMaxRecordBytes) return false;
  // What a hostile file can make us read again and again is limited; behind the limit, one look must do.
  const bool affordable = resync_affordable();
  if (header.opcode == static_cast<uint8_t>(McapOp::kMessage)) {
    if (header.length < kMessageFieldsBytes + 8 || !affordable) return header.length >= kMessageFieldsBytes + 8;
    if (!load(content, static_cast<size_t>(header.length), kMessageFieldsBytes)) return false;
    resync_spent_ += header.length;
    const uint8_t* bytes = content_.data() + (kAlignment * 2 - kMessageFieldsBytes);
    return check_message_crc(ConstBytes(bytes, static_cast<size_t>(header.length)).from(kMessageFieldsBytes));
  }
  if (!affordable) return true;
  if (!load(content, static_cast<size_t>(header.length), 0)) return false;
  resync_spent_ += header.length;
  return fields_fit(header.opcode, ConstBytes(content_.data(), static_cast<size_t>(header.length))) == Fit::exact;
}

bool RecordScanner::header_plausible(uint64_t at, uint64_t limit) {
  if (at >= limit) return at == limit;
  if (limit - at >= sizeof kMcapMagic && magic_at(at)) return true;
  RecordHeader header{};
  if (limit - at < kRecordPrefixBytes) return true;  // cut off here
  if (!peek_header(at, &header) || !length_plausible(header.opcode, header.length)) return false;
  return known(header.opcode) || header.length <= limit - at - kRecordPrefixBytes;
}

bool RecordScanner::only_zeros(uint64_t from) {
  const uint64_t size = source_->size();
  while (from < size) {
    const size_t bytes = static_cast<size_t>(std::min<uint64_t>(kWindowBytes, size - from));
    const uint8_t* at = window(from, bytes);
    if (at == nullptr) return false;
    if (std::any_of(at, at + bytes, [](uint8_t byte) { return byte != 0; })) return false;
    from += bytes;
  }
  return true;
}

bool RecordScanner::crc_matches(uint64_t begin, uint64_t end_offset, uint32_t crc) {
  uint32_t sum = 0;
  while (begin < end_offset) {
    const size_t bytes = static_cast<size_t>(std::min<uint64_t>(kWindowBytes, end_offset - begin));
    const uint8_t* at = window(begin, bytes);
    if (at == nullptr) return false;
    sum = crc32(sum, at, bytes);
    begin += bytes;
  }
  return sum == crc;
}

bool RecordScanner::resync_affordable() const { return resync_spent_ <= kResyncFree + 4 * source_->size(); }

// A few bytes anywhere, without moving the window.
bool RecordScanner::peek(uint64_t at, void* to, size_t bytes) {
  if (at >= window_offset_ && at - window_offset_ <= window_bytes_ && bytes <= window_bytes_ - (at - window_offset_)) {
    memcpy(to, window_.data() + (at - window_offset_), bytes);
    return true;
  }
  return source_->read(at, to, bytes) == 0;
}

bool RecordScanner::peek_header(uint64_t at, RecordHeader* out) {
  uint8_t bytes[kRecordPrefixBytes];
  if (!peek(at, bytes, sizeof bytes)) return false;
  out->opcode = bytes[0];
  out->length = load_le<uint64_t>(bytes + 1);
  return true;
}

bool RecordScanner::magic_at(uint64_t at) {
  uint8_t bytes[sizeof kMcapMagic];
  return peek(at, bytes, sizeof bytes) && memcmp(bytes, kMcapMagic, sizeof bytes) == 0;
}

// `bytes` (<= kWindowBytes) at `at`, valid until the next call; null when they cannot be read.
const uint8_t* RecordScanner::window(uint64_t at, size_t bytes) {
  if (at >= window_offset_ && at - window_offset_ <= window_bytes_ && bytes <= window_bytes_ - (at - window_offset_)) {
    return window_.data() + (at - window_offset_);
  }
  const uint64_t size = source_->size();
  if (at > size || bytes > size - at) return nullptr;
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(kWindowBytes, size - at));
  if (window_.size() < wanted) window_.resize(wanted);
  window_bytes_ = 0;
  const int error = source_->read(at, window_.data(), wanted);
  if (error != 0) {
    unreadable_ = true;
    report(Severity::error, at, std::string("the file cannot be read on from here: ") + strerror(error));
    return nullptr;
  }
  window_offset_ = at;
  window_bytes_ = wanted;
  return window_.data();
}

// `bytes` at `at` into content_, so that what stands at `aligned_at` of them is 16-byte aligned when aligned_at > 0.
bool RecordScanner::load(uint64_t at, size_t bytes, size_t aligned_at) {
  const size_t skew = aligned_at > 0 ? kAlignment * 2 - aligned_at : 0;
  if (content_.size() < bytes + skew) content_.resize(bytes + skew);
  uint8_t* to = content_.data() + skew;
  if (bytes <= kWindowBytes / 4) {
    const uint8_t* from = window(at, bytes);
    if (from == nullptr) return false;
    memcpy(to, from, bytes);
    return true;
  }
  size_t have = 0;
  if (at >= window_offset_ && at - window_offset_ < window_bytes_) {
    have = std::min(bytes, window_bytes_ - static_cast<size_t>(at - window_offset_));
    memcpy(to, window_.data() + (at - window_offset_), have);
  }
  const int error = source_->read(at + have, to + have, bytes - have);
  if (error == 0) return true;
  unreadable_ = true;
  report(Severity::error, at, std::string("the file cannot be read on from here: ") + strerror(error));
  return false;
}

void RecordScanner::report(Severity severity, uint64_t offset, std::string what, std::string todo) {
  Problem problem;
  problem.severity = severity;
  problem.offset = offset;
  problem.what = std::move(what);
  problem.todo = std::move(todo);
  problem.file = file_number_;
  problems_.add(std::move(problem));
}

}  // namespace dumphook
