// SPDX-License-Identifier: Apache-2.0
// Recovery: what is whole in a crashed, cut or damaged file, as sealed captures, one for each session in it.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decode/message.h"
#include "source/capture_writer.h"
#include "source/file_source.h"
#include "source/mcap_record.h"
#include "source/problem_list.h"

namespace dumphook {

// What was found of one session.
struct RecoveredSession {
  std::string uuid;  // empty: not known
  uint64_t streams = 0;
  uint64_t messages = 0;  // written
  uint64_t repeats = 0;   // left out, since they are there already
  uint64_t damaged = 0;   // left out
};

class Recovery {
 public:
  // Reads the file once and learns what is in it. An error when nothing of it is ours.
  static Expected<Recovery> open(const std::string& path);

  const std::vector<RecoveredSession>& sessions() const { return found_; }
  // Writes one of them. Reads the file once more.
  Expected<bool> write(size_t session, CaptureWriter& writer);
  // What is wrong with the file.
  const ProblemList& problems() const { return *problems_; }
  const FileSource& source() const { return *source_; }

 private:
  using Record = std::vector<uint8_t>;  // whole
  struct Stream {
    size_t session = 0;
    std::map<uint16_t, Record> schemas, channels;
  };
  struct Session {
    Record header, metadata;
    std::map<uint16_t, std::string> topics;  // by channel, made of the descriptors
  };
  class Output;

  Expected<bool> learn();

  std::shared_ptr<FileSource> source_;
  std::unique_ptr<ProblemList> problems_;
  std::vector<Stream> streams_;
  std::vector<Session> sessions_;
  std::vector<RecoveredSession> found_;
};

}  // namespace dumphook
