// SPDX-License-Identifier: Apache-2.0
#include "collect/session_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "collect/record_splitter.h"
#include "wire/format.h"

namespace dumphook {
namespace {

bool write_all(int file, const uint8_t* data, size_t bytes, size_t* written) {
  *written = 0;
  while (*written < bytes) {
    const ssize_t taken = ::write(file, data + *written, bytes - *written);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return false;
    *written += static_cast<size_t>(taken);
  }
  return true;
}

void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const int folder =
      ::open(slash == std::string::npos ? "." : path.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  ::close(folder);
}

// PATH, or with `attempt` 2, 3 ... PATH-2 and so on, before the extension.
std::string numbered(const std::string& path, int attempt) {
  if (attempt == 1) return path;
  const size_t dot = path.rfind('.');
  const size_t slash = path.rfind('/');
  const bool has_dot = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return has_dot ? fmt::format("{}-{}{}", path.substr(0, dot), attempt, path.substr(dot))
                 : fmt::format("{}-{}", path, attempt);
}

uint64_t number_in(const MetadataRecord& metadata, const char* key) {
  const auto found = metadata.values.find(key);
  return found == metadata.values.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

}  // namespace

Error SessionFile::write_error(const char* doing, int number) const {
  return Error{fmt::format("cannot {} {}: {}", doing, part_path_, strerror(number)),
               number == ENOSPC ? "the disk is full; the board keeps what its spool holds" : ""};
}

Expected<std::unique_ptr<SessionFile>> SessionFile::open(const std::string& stem, const std::string& uuid,
                                                         ConstBytes header, ConstBytes metadata) {
  for (int attempt = 1; attempt < 100; ++attempt) {
    std::unique_ptr<SessionFile> session(new SessionFile);
    session->part_path_ = numbered(stem + "-" + uuid.substr(0, 8) + ".mcap", attempt) + ".part";
    do {
      session->file_ = ::open(session->part_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    } while (session->file_ < 0 && errno == EINTR);
    if (session->file_ < 0) return session->write_error("create", errno);
    if (flock(session->file_, LOCK_EX | LOCK_NB) != 0) {
      return Error{fmt::format("{} is in use", session->part_path_), "is another collector at work in this folder?"};
    }
    const off_t size = lseek(session->file_, 0, SEEK_END);
    if (size < 0) return session->write_error("read", errno);
    if (size > 0) {
      const Expected<bool> same = session->resume(uuid);
      if (!same.ok()) return same.error();
      if (!*same) continue;  // another session's
      return session;
    }
    session->append(kMcapMagic);
    session->append(header);
    session->append(metadata);
    sync_folder_of(session->part_path_);
    return session;
  }
  return Error{fmt::format("too many unfinished files {}-*.part", stem), "remove those that are not needed"};
}

SessionFile::~SessionFile() {
  if (file_ >= 0) ::close(file_);
}

// Takes up what is whole in the file. False when it is of another session.
Expected<bool> SessionFile::resume(const std::string& uuid) {
  RecordSplitter splitter;
  off_t offset = 0;
  bool end_of_file = false, ours = false, ended = false;
  uint64_t whole = 0;
  while (!ended) {
    const RecordSplitter::Step step = splitter.next();
    if (step == RecordSplitter::Step::broken || (step == RecordSplitter::Step::more && end_of_file)) break;
    if (step == RecordSplitter::Step::more) {
      const Bytes room = splitter.room(kBufferBytes);
      const ssize_t got = pread(file_, room.data, room.size, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return write_error("read", errno);
      end_of_file = got == 0;
      splitter.filled(static_cast<size_t>(got));
      offset += got;
      continue;
    }
    if (step == RecordSplitter::Step::record) {
      if (splitter.is(McapOp::kMetadata)) {
        const auto metadata = parse_metadata(splitter.content());
        const auto session = metadata ? metadata->values.find("session") : TextMap::const_iterator();
        if (!metadata || session == metadata->values.end() || session->second != uuid) return false;
        ours = true;
        wanted_from_ = number_in(*metadata, "stream") == 0 ? number_in(*metadata, "first_stream_seq") : 1;
      }
      uint64_t seq = 0;
      if (splitter.is(McapOp::kSchema) && add_schema(splitter.whole()) == Kept::refused) break;
      if (splitter.is(McapOp::kChannel) && add_channel(splitter.whole()) == Kept::refused) break;
      if (splitter.is(McapOp::kMessage)) {
        if (check_message(splitter.whole(), &seq) == Kept::refused) break;
        if (kept_.add(seq)) ++messages_;
        if (seq > durable_seq_) durable_seq_ = seq;
      }
      ended = splitter.is(McapOp::kDataEnd);  // killed while sealing
      if (ended) break;
    }
    whole = splitter.position();
    buffer_.clear();  // what add_* appended is there
  }
  if (!ours) return false;
  buffer_.clear();
  if (ftruncate(file_, static_cast<off_t>(whole)) != 0 || lseek(file_, static_cast<off_t>(whole), SEEK_SET) < 0) {
    return write_error("resume", errno);
  }
  if (fdatasync(file_) != 0) return write_error("resume", errno);
  written_ = whole;
  next_seq_ = durable_seq_ == 0 ? 0 : durable_seq_ + 1;
  resumed_ = true;
  return true;
}

void SessionFile::begin_stream(uint64_t stream, uint64_t first_seq) {
  if (wanted_from_ == 0) wanted_from_ = stream == 0 ? first_seq : 1;
  if (next_seq_ == 0) {
    next_seq_ = first_seq;
    durable_seq_ = first_seq - 1;
  } else if (first_seq > next_seq_) {
    next_seq_ = first_seq;
  }
}

void SessionFile::append(ConstBytes record) { buffer_.insert(buffer_.end(), record.begin(), record.end()); }

SessionFile::Kept SessionFile::add_schema(ConstBytes record) {
  const auto schema = parse_schema(record.from(kRecordPrefixBytes));
  if (!schema || schema->id == 0) return Kept::refused;
  const auto [at, is_new] = schema_records_.try_emplace(schema->id, record.begin(), record.end());
  if (!is_new)
    return std::equal(record.begin(), record.end(), at->second.begin(), at->second.end()) ? Kept::known : Kept::refused;
  schema_names_[schema->id] = schema->name;
  append(record);
  return Kept::yes;
}

SessionFile::Kept SessionFile::add_channel(ConstBytes record) {
  const auto channel = parse_channel(record.from(kRecordPrefixBytes));
  if (!channel || schema_names_.count(channel->schema_id) == 0) return Kept::refused;
  const auto [at, is_new] = channel_records_.try_emplace(channel->id, record.begin(), record.end());
  if (!is_new)
    return std::equal(record.begin(), record.end(), at->second.begin(), at->second.end()) ? Kept::known : Kept::refused;
  channel_schemas_[channel->id] = channel->schema_id;
  append(record);
  return Kept::yes;
}

SessionFile::Kept SessionFile::check_message(ConstBytes record, uint64_t* seq) {
  if (record.size < kMessageHeaderBytes) return Kept::refused;
  const auto channel = channel_schemas_.find(load_le<uint16_t>(record.data + kRecordPrefixBytes));
  if (channel == channel_schemas_.end()) return Kept::refused;
  const auto found = check_.stream_seq(schema_names_[channel->second], record.from(kMessageHeaderBytes));
  if (!found) return Kept::refused;
  *seq = *found;
  return Kept::yes;
}

SessionFile::Kept SessionFile::add_message(ConstBytes record) {
  uint64_t seq = 0;
  if (check_message(record, &seq) == Kept::refused || kept_.range_count() > kMostRanges) {
    ++damaged_;
    return Kept::refused;
  }
  if (!kept_.add(seq)) return Kept::known;
  if (seq >= next_seq_) next_seq_ = seq + 1;
  ++messages_;
  append(record);
  return Kept::yes;
}

Expected<bool> SessionFile::write_out() {
  if (failed_) return write_error("write", EIO);
  size_t written = 0;
  const bool all = write_all(file_, buffer_.data(), buffer_.size(), &written);
  const int number = errno;
  unsynced_bytes_ += written;
  if (all) {
    written_ += buffer_.size();
    buffer_.clear();
    return true;
  }
  // Back to whole records. What is lost here was not acknowledged; this object has counted it, so it is of no more use.
  failed_ = true;
  if (ftruncate(file_, static_cast<off_t>(written_)) != 0) return write_error("repair", errno);
  return write_error("write", number);
}

Expected<bool> SessionFile::sync() {
  const Expected<bool> written = write_out();
  if (!written.ok()) return written;
  if (unsynced_bytes_ != 0 && fdatasync(file_) != 0) {
    failed_ = true;
    return write_error("write", errno);
  }
  unsynced_bytes_ = 0;
  if (next_seq_ != 0) durable_seq_ = next_seq_ - 1;
  return true;
}

Expected<std::string> SessionFile::seal(const std::string& path, bool replace) {
  uint8_t end[kDataEndRecordBytes + kFooterRecordBytes + sizeof kMcapMagic];
  Bytes out(end);
  size_t bytes = write_data_end_record(out, 0);
  bytes += write_footer_record(out.from(bytes), 0, 0, 0);
  bytes += write_magic(out.from(bytes));
  append(ConstBytes(end, bytes));
  const Expected<bool> synced = sync();
  if (!synced.ok()) return synced.error();
  std::string name = path;
  for (int attempt = 1; attempt < 10000; ++attempt) {
    name = numbered(path, attempt);
    if (replace) {
      if (rename(part_path_.c_str(), name.c_str()) != 0) return write_error("rename", errno);
      break;
    }
    // link() refuses to replace; where the file system has no links, look first.
    if (link(part_path_.c_str(), name.c_str()) == 0) {
      unlink(part_path_.c_str());
      break;
    }
    if (errno == EEXIST || access(name.c_str(), F_OK) == 0) continue;
    if (rename(part_path_.c_str(), name.c_str()) != 0) return write_error("rename", errno);
    break;
  }
  sync_folder_of(name);
  ::close(file_);
  file_ = -1;
  return name;
}

}  // namespace dumphook
