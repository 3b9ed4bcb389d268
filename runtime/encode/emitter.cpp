// SPDX-License-Identifier: Apache-2.0
#include "encode/emitter.h"

#include <cstring>

#include "wire/flat_fields.h"
#include "wire/message_crc.h"

namespace dumphook {
namespace {

constexpr size_t kPublishTimeOffset = kMessageHeaderBytes - 8;

}  // namespace

bool set_stream_seq(Bytes message, uint64_t stream_seq) {
  const size_t field = flat_field(message, flat_root(message), kStreamSeqField, sizeof stream_seq);
  if (field == 0) return false;
  store_le<uint64_t>(message.data + field, stream_seq);
  return seal_message(message) != 0;
}

void Emitter::open(Spool* spool, Spool* ring, StreamState* state, const Clock& clock) {
  spool_ = spool;
  ring_ = ring;
  state_ = state;
  clock_ = clock;
  wall_at_open_ = clock.wall_ns();
  monotonic_at_open_ = clock.monotonic_ns();
}

uint64_t Emitter::next_log_time() {
  const uint64_t now = session_ns();
  if (now > last_log_time_) last_log_time_ = now;
  return last_log_time_;
}

void Emitter::commit(const SpoolEntry& prototype, Bytes record, uint64_t publish_ns) {
  SpoolEntry entry = prototype;
  entry.record_bytes = static_cast<uint32_t>(record.size);
  if (entry.waits) {
    write_message_header(record.data, record.size - kMessageHeaderBytes, entry.channel_id, 0, 0, publish_ns);
    ring_->commit(entry);
    return;
  }
  entry.stream_seq = state_->take_stream_seq();
  entry.log_time = next_log_time();
  write_message_header(record.data, record.size - kMessageHeaderBytes, entry.channel_id,
                       static_cast<uint32_t>(entry.stream_seq), entry.log_time,
                       publish_ns == 0 ? entry.log_time : publish_ns);
  spool_->commit(entry);
}

bool Emitter::release_oldest() {
  const ConstBytes waiting = ring_->record(ring_->begin());
  const Bytes room = spool_->reserve(waiting.size);
  if (room.data == nullptr) return false;
  std::memcpy(room.data, waiting.data, waiting.size);
  SpoolEntry entry = ring_->entry(ring_->begin());
  entry.waits = false;
  set_stream_seq(room.from(kMessageHeaderBytes), state_->next_stream_seq());
  commit(entry, room, load_le<uint64_t>(waiting.data + kPublishTimeOffset));
  ring_->pop();
  return true;
}

}  // namespace dumphook
