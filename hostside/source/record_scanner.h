// SPDX-License-Identifier: Apache-2.0
// RecordScanner: a file's bytes as MCAP records, in order, with chunks unpacked. Takes one stream or several, one after
// the other, with or without chunks and summary, cut off anywhere, and goes on after damage.
//
// On any input: a length is checked against the bytes there are before it is used; memory is one record (<= 64 MiB) and
// two windows; the bytes looked at are a fixed multiple of the file's size; next() always ends.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "source/file_source.h"
#include "source/mcap_record.h"
#include "source/problem_list.h"

namespace dumphook {

struct McapRecord {
  uint8_t opcode = 0;
  uint64_t offset = 0;          // of the opcode, in the file
  uint64_t content_offset = 0;  // in the file
  uint64_t content_size = 0;
  ConstBytes content;  // empty for private and unknown records. A message's data is 16-byte aligned
  bool sound = false;  // a message: its crc32 holds. Others: the fields fill the content exactly

  bool is(McapOp which) const { return opcode == static_cast<uint8_t>(which); }
};

class RecordScanner {
 public:
  enum class Step : uint8_t {
    stream,  // a stream begins; its records follow
    record,  // record() is the next one
    sealed,  // the stream has ended as its writer closed it: footer and closing magic are there
    end,     // no whole record is left
  };
  // `file_number` goes into the problems.
  RecordScanner(std::shared_ptr<const FileSource> source, uint32_t file_number, ProblemList& problems);

  // `final`: the source will not grow, so that what is left over at its end is cut off. Otherwise the scanner waits
  // there: after Step::end, call again when the source has grown.
  Step next(bool final);

  // After Step::record; its content is valid until the next call of next().
  const McapRecord& record() const { return record_; }

  // The chunk that record() lies in, or, between chunks, the last one; its records are [data_begin, data_end).
  struct ChunkPlace {
    bool open = false;
    uint64_t offset = 0, data_begin = 0, data_end = 0;
    uint32_t crc = 0;
  };
  const ChunkPlace& chunk() const { return chunk_; }

  // Of the stream that began last.
  uint64_t stream_offset() const { return stream_offset_; }
  bool stream_chunked() const { return chunked_; }
  // Where reading stands.
  uint64_t position() const { return position_; }
  // After Step::end.
  bool cut() const { return cut_; }  // in mid-record or mid-chunk
  uint64_t zero_tail_bytes() const { return zero_tail_; }

 private:
  struct RecordHeader {
    uint8_t opcode;
    uint64_t length;
  };

  Step end(bool cut);
  Step give_record(uint8_t opcode, uint64_t length);
  void close_chunk();
  bool enter_chunk(uint64_t length);
  bool resync();
  void go_on_at(uint64_t next);
  bool candidate(uint64_t at, uint64_t limit);
  bool header_plausible(uint64_t at, uint64_t limit);
  bool only_zeros(uint64_t from);
  bool crc_matches(uint64_t begin, uint64_t end, uint32_t crc);
  const uint8_t* window(uint64_t at, size_t bytes);
  bool peek(uint64_t at, void* to, size_t bytes);
  bool peek_header(uint64_t at, RecordHeader* out);
  bool magic_at(uint64_t at);
  bool resync_affordable() const;
  bool load(uint64_t at, size_t bytes, size_t aligned_at);
  void report(Severity severity, uint64_t offset, std::string what, std::string todo = "");

  std::shared_ptr<const FileSource> source_;
  uint32_t file_number_;
  ProblemList& problems_;

  uint64_t position_ = 0;
  McapRecord record_;
  bool may_look_back_ = false;  // the length of the record given last is not certain
  ChunkPlace chunk_;
  bool stream_announced_ = false;  // by its magic; its Header is still to come
  bool magic_missing_told_ = false;
  bool after_footer_ = false;
  bool chunked_ = false, cut_ = false;
  uint64_t stream_offset_ = 0;
  uint64_t zero_tail_ = 0;
  uint64_t read_end_ = 0;      // of the records given so far
  uint64_t resync_spent_ = 0;  // bytes looked at more than once
  bool unreadable_ = false;

  std::vector<uint8_t> window_;
  uint64_t window_offset_ = 0;
  size_t window_bytes_ = 0;
  std::vector<uint8_t> content_;
};

}  // namespace dumphook
