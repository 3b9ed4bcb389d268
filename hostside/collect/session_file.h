// SPDX-License-Identifier: Apache-2.0
// SessionFile: what a collector holds of one session: one MCAP stream without chunks, under a name that ends in .part
// until it is sealed. A .part that a killed collector left behind is taken up again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "collect/message_check.h"
#include "collect/seq_ranges.h"
#include "source/mcap_record.h"
#include "source/problem.h"

namespace dumphook {

class SessionFile {
 public:
  enum class Kept : uint8_t { yes, known, refused };

  // `stem`: path without extension; the file is <stem>-<first 8 digits of uuid>.mcap.part. `header` and `metadata` are
  // the whole records of the session's stream. Fails when another collector holds the file.
  static Expected<std::unique_ptr<SessionFile>> open(const std::string& stem, const std::string& uuid,
                                                     ConstBytes header, ConstBytes metadata);
  ~SessionFile();
  SessionFile(const SessionFile&) = delete;
  SessionFile& operator=(const SessionFile&) = delete;

  // A connection's stream begins, the board's `stream`-th from 0 on: its first new message will be `first_seq`.
  void begin_stream(uint64_t stream, uint64_t first_seq);
  // Whole Schema and Channel records. `refused`: not such a record, or at odds with an earlier one.
  Kept add_schema(ConstBytes record);
  Kept add_channel(ConstBytes record);
  // A whole Message record. `refused`: its CRC, its FlatBuffer or its channel is wrong.
  Kept add_message(ConstBytes record);

  // Everything to the kernel; everything to the medium. After an error the file ends with a whole record, and all that
  // was not written must come again.
  Expected<bool> write_out();
  Expected<bool> sync();
  // All messages up to it are on the medium. Bytes that are not.
  uint64_t durable_seq() const { return durable_seq_; }
  uint64_t unsynced_bytes() const { return unsynced_bytes_ + buffer_.size(); }

  // Ends the stream and gives the file its final name: `path`, replacing a file there if `replace` is set, else PATH
  // with the first free number. The name it has now.
  Expected<std::string> seal(const std::string& path, bool replace);

  const std::string& part_path() const { return part_path_; }
  bool resumed() const { return resumed_; }
  uint64_t messages() const { return messages_; }
  uint64_t bytes() const { return written_ + buffer_.size(); }
  uint64_t damaged() const { return damaged_; }  // messages that were refused
  // Numbers that no stream brought: also those before the first stream here, unless that is the session's first. What
  // was refused is among them, unless it came again.
  uint64_t missing() const { return kept_.missing(wanted_from_, next_seq_); }

 private:
  SessionFile() = default;
  Expected<bool> resume(const std::string& uuid);
  Kept check_message(ConstBytes record, uint64_t* seq);
  void append(ConstBytes record);
  Error write_error(const char* doing, int number) const;

  static constexpr size_t kBufferBytes = 1 << 20;
  static constexpr size_t kMostRanges = 1 << 20;

  int file_ = -1;
  std::string part_path_;
  bool resumed_ = false;
  std::vector<uint8_t> buffer_;
  uint64_t written_ = 0;
  uint64_t unsynced_bytes_ = 0;
  std::map<uint16_t, std::vector<uint8_t>> schema_records_, channel_records_;
  std::map<uint16_t, std::string> schema_names_;
  std::map<uint16_t, uint16_t> channel_schemas_;
  MessageCheck check_;
  SeqRanges kept_;
  uint64_t wanted_from_ = 0;  // the first number that should be here; 0: no stream has begun
  uint64_t next_seq_ = 0;     // 0: no stream has begun
  uint64_t durable_seq_ = 0;
  uint64_t messages_ = 0, damaged_ = 0;
  bool failed_ = false;
};

}  // namespace dumphook
