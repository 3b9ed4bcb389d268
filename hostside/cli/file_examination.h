// SPDX-License-Identifier: Apache-2.0
// FileExamination: one file's structure, record by record: what the records say of each other against what is there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/examination.h"
#include "decode/message.h"
#include "source/file_source.h"
#include "source/record_scanner.h"

namespace dumphook {

// Where a stream's numbers do not follow each other: `first` ... `last` would come before the message at `offset`.
struct SeqJump {
  std::string session;
  uint64_t first = 0, last = 0;
  uint32_t file = 0;
  uint64_t offset = 0;
};

class FileExamination {
 public:
  FileExamination(std::shared_ptr<FileSource> source, uint32_t number, Examination& result)
      : source_(std::move(source)), number_(number), result_(result), scanner_(source_, number, problems_) {}

  // Reads the file once. The jumps are for whoever knows the session's other files.
  void run(std::vector<SeqJump>& jumps);

 private:
  using Entries = std::vector<std::pair<uint64_t, uint64_t>>;  // log_time, offset in the chunk
  struct Chunk {
    uint64_t offset = 0, bytes = 0, start = 0, end = 0;
    std::map<uint16_t, uint64_t> index_at;
    bool indexed = false;
  };
  struct Stream {
    uint64_t offset = 0;
    std::string session;
    uint64_t first_seq = 0, last_seq = 0, last_log_time = 0;
    std::map<uint16_t, std::vector<uint8_t>> schemas, channels;  // contents
    std::map<uint16_t, std::string> schema_names;
    std::set<uint64_t> descriptors;
    std::map<uint64_t, uint64_t> metadata;  // record offset -> bytes
    std::map<uint16_t, uint64_t> counts;
    uint64_t messages = 0, start = 0, end = 0;
    std::vector<Chunk> chunks;
    Entries none;
    std::map<uint16_t, Entries> open_index;  // of the last chunk
    bool data_ended = false, sealed = false, has_statistics = false;
    uint64_t summary_at = 0;
    size_t problems_before = 0;
  };

  void begin_stream(uint64_t offset);
  void end_stream();
  void take(const McapRecord& record);
  void enter_chunk();
  void leave_chunk();
  void take_declaration(const McapRecord& record);
  void take_metadata(const McapRecord& record);
  void take_message(const McapRecord& record);
  void take_content(const McapRecord& record, const Message& message);
  void check_message_index(const McapRecord& record);
  void check_data_end(const McapRecord& record);
  void check_statistics(const McapRecord& record);
  void check_chunk_index(const McapRecord& record);
  void check_summary_offset(const McapRecord& record);
  void check_footer(const McapRecord& record);
  void take_problems();

  bool unharmed() const { return harmed_at_ == harmed_; }  // nothing was found in this stream yet
  void damaged(uint64_t offset, std::string what, std::string todo = "");
  std::optional<uint32_t> crc_of(uint64_t begin, uint64_t end) const;

  std::shared_ptr<FileSource> source_;
  uint32_t number_;
  Examination& result_;
  ProblemList problems_;
  RecordScanner scanner_;
  size_t problems_taken_ = 0;
  size_t harmed_ = 0, harmed_at_ = 0;
  bool in_stream_ = false;
  Stream stream_;
  bool in_chunk_ = false;
  std::map<uint8_t, std::pair<uint64_t, uint64_t>> summary_groups_;  // opcode -> offset, bytes
  std::vector<SeqJump>* jumps_ = nullptr;
};

}  // namespace dumphook
