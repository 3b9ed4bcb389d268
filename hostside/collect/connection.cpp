// SPDX-License-Identifier: Apache-2.0
#include "collect/connection.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "collect/host_message.h"
#include "wire/format.h"

namespace dumphook {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kReadsAtOnce = 8;  // then the other boards have their turn
constexpr size_t kMostHeaderBytes = 64 << 10;

template <class T>
std::optional<T> number(const TextMap& values, const char* key) {
  const auto at = values.find(key);
  if (at == values.end()) return std::nullopt;
  T value = 0;
  const char* end = at->second.data() + at->second.size();
  const auto [stop, error] = std::from_chars(at->second.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace

Connection::Connection(int socket, std::string peer) : peer_(std::move(peer)) { socket_.adopt(socket); }

bool Connection::refuse(const std::string& why) {
  why_closed_ = why;
  return false;
}

bool Connection::receive() {
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const IoResult got = socket_.receive(splitter_.room(kReadBytes));
    if (got.state == IoState::later) return true;
    if (got.state == IoState::failed) return refuse(strerror(got.error));
    if (got.state == IoState::closed) return splitter_.empty() ? false : refuse("cut within a record");
    splitter_.filled(got.bytes);
    for (RecordSplitter::Step step; (step = splitter_.next()) != RecordSplitter::Step::more;) {
      if (step == RecordSplitter::Step::broken) {
        return refuse(state_ == State::start ? "this is no capture stream" : "a record longer than 64 MiB");
      }
      if (!(step == RecordSplitter::Step::magic ? take_magic() : take_record())) return false;
    }
  }
  return true;
}

bool Connection::take_magic() {
  if (state_ == State::footer) {
    state_ = State::ended;
    return true;
  }
  header_.clear();
  identity_.reset();
  file_ = nullptr;
  state_ = State::preamble;
  return true;
}

bool Connection::take_record() {
  switch (state_) {
    case State::start:
    case State::ended:
    case State::footer: return refuse("this is no capture stream");
    case State::preamble:
      if (splitter_.is(McapOp::kMetadata)) return take_metadata();
      if (!splitter_.is(McapOp::kHeader)) return refuse("the stream does not say which session it is");
      if (splitter_.whole().size > kMostHeaderBytes) return refuse("its header is too long");
      header_.assign(reinterpret_cast<const char*>(splitter_.whole().data), splitter_.whole().size);
      return true;
    case State::messages:
      if (splitter_.is(McapOp::kDataEnd)) {
        state_ = State::summary;
        return true;
      }
      return splitter_.is(McapOp::kChunk) ? take_chunk(splitter_.content())
                                          : take_inner(splitter_.opcode(), splitter_.whole());
    case State::summary:
      if (splitter_.is(McapOp::kFooter)) state_ = State::footer;
      return true;
  }
  return true;
}

bool Connection::take_metadata() {
  const auto metadata = parse_metadata(splitter_.content());
  if (!metadata || splitter_.whole().size > kMostHeaderBytes) return refuse("its metadata cannot be read");
  if (metadata->name != kMetadataName) return true;
  const TextMap& values = metadata->values;
  StreamIdentity identity;
  const auto session = values.find("session");
  const auto current = number<uint16_t>(values, "format_current");
  const auto oldest = number<uint16_t>(values, "format_oldest");
  const auto first = number<uint64_t>(values, "first_stream_seq");
  if (session == values.end() || !parse_uuid(session->second, &identity.uuid) || !current || !oldest || !first ||
      *first == 0) {
    return refuse("its metadata lacks the session, the format or the first number");
  }
  if (*current < kFormatOldest || *oldest > kFormatCurrent) {
    return refuse(fmt::format("it writes format {} to {}, this dumphook reads {} to {}", *oldest, *current,
                              kFormatOldest, kFormatCurrent));
  }
  identity.session = session->second;
  const auto board = values.find("board");
  if (board != values.end()) identity.board = board->second.substr(0, kMaxNameBytes);
  identity.stream = number<uint64_t>(values, "stream").value_or(0);
  identity.first_stream_seq = *first;
  const ConstBytes header(reinterpret_cast<const uint8_t*>(header_.data()), header_.size());
  const Expected<SessionFile*> file = bind_(identity, header, splitter_.whole());
  if (!file.ok()) return refuse(file.error().what);
  identity_ = identity;
  file_ = *file;
  state_ = State::messages;
  return true;
}

bool Connection::take_chunk(ConstBytes content) {
  const auto header = parse_chunk_header(content);
  if (!header || !header->compression.empty() || header->records_size > content.size - header->header_bytes) {
    return refuse("a chunk that cannot be read");
  }
  ConstBytes rest = content.from(header->header_bytes).first(static_cast<size_t>(header->records_size));
  while (!rest.empty()) {
    if (rest.size < kRecordPrefixBytes) return refuse("a chunk that ends within a record");
    const uint64_t length = load_le<uint64_t>(rest.data + 1);
    if (length > rest.size - kRecordPrefixBytes) return refuse("a chunk that ends within a record");
    const size_t bytes = kRecordPrefixBytes + static_cast<size_t>(length);
    if (!take_inner(rest[0], rest.first(bytes))) return false;
    rest = rest.from(bytes);
  }
  return true;
}

bool Connection::take_inner(uint8_t opcode, ConstBytes whole) {
  if (file_ == nullptr) return true;
  switch (static_cast<McapOp>(opcode)) {
    case McapOp::kSchema:
      return file_->add_schema(whole) != SessionFile::Kept::refused ||
             refuse("a schema that contradicts an earlier one");
    case McapOp::kChannel:
      return file_->add_channel(whole) != SessionFile::Kept::refused ||
             refuse("a channel that contradicts an earlier one");
    case McapOp::kMessage:
      file_->add_message(whole);  // counts what it refuses
      return true;
    default: return true;
  }
}

bool Connection::say(const std::string& message) {
  if (!unsent_.empty()) return false;
  unsent_ = message;
  send();
  return true;
}

void Connection::send() {
  if (unsent_.empty()) return;
  iovec run;
  run.iov_base = unsent_.data();
  run.iov_len = unsent_.size();
  const IoResult sent = socket_.send(&run, 1);
  // A broken connection is noticed when receiving.
  if (sent.state == IoState::failed) unsent_.clear();
  unsent_.erase(0, sent.bytes);
}

}  // namespace dumphook
