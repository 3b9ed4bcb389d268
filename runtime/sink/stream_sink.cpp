// SPDX-License-Identifier: Apache-2.0
#include "sink/stream_sink.h"

#include <poll.h>

#include <cstring>

#include "net/error_text.h"
#include "sink/preamble.h"
#include "sink/sink_log.h"
#include "wire/crc32.h"
#include "wire/format.h"
#include "wire/mcap.h"

namespace dumphook {
namespace {

// A step ends after this much, so that the worker comes back to encoding.
constexpr size_t kStepBytes = 4 << 20;
constexpr size_t kSendBytes = 1 << 20;
constexpr int kMostMessagesAtOnce = 64;

iovec run_of(ConstBytes bytes) {
  iovec run;
  run.iov_base = const_cast<uint8_t*>(bytes.data);
  run.iov_len = bytes.size;
  return run;
}

}  // namespace

void StreamSink::open(const SinkContext& context, Transport* transport) {
  context_ = context;
  transport_ = transport;
  cursor_ = shipped_end_ = context_.spool->begin();
  random_ = (context_.clock.wall_ns() ^ reinterpret_cast<uintptr_t>(this)) | 1;
}

// While nobody is connected the session may discard entries.
void StreamSink::follow_spool() {
  const uint64_t begin = context_.spool->begin();
  if (shipped_end_ < begin) shipped_end_ = begin;
  if (cursor_ < begin) cursor_ = begin;
}

SinkStep StreamSink::step(uint64_t now_ns) {
  SinkStep result;
  if (state_ == SinkState::failed || state_ == SinkState::finished) return result;
  follow_spool();

  if (phase_ == Phase::waiting) {
    if (finishing_ && state_ == SinkState::absent && context_.spool->end() == shipped_end_) {
      end(SinkState::finished);
      return result;
    }
    if (now_ns < retry_ns_) {
      result.wake_ns = retry_ns_;
      return result;
    }
    transport_->connect(now_ns, context_.connect_ns);
    phase_ = Phase::connecting;
  }

  if (phase_ == Phase::connecting) {
    const ConnectState connection = transport_->connect_step(now_ns);
    if (connection == ConnectState::connecting) {
      result.fd = transport_->fd();
      result.poll_events = POLLOUT;
      result.wake_ns = transport_->connect_deadline_ns();
      return result;
    }
    result.progressed = true;
    if (connection != ConnectState::connected) {
      lose_connection(now_ns, ErrorText(transport_->connect_error()).text());
      return result;
    }
    begin_stream(now_ns);
  }

  const bool listening = listen(now_ns);
  if (!is_connected()) {
    result.progressed = true;
    return result;
  }
  if (!decided_ && now_ns >= hello_until_ns_) decided_ = true;

  const uint64_t cursor_before = cursor_;
  Progress progress = Progress::none;
  size_t steps = 0;
  do {
    progress = send_something();
    if (progress == Progress::some) result.progressed = true;
  } while (progress == Progress::some && cursor_ - cursor_before < kStepBytes && ++steps < 64);
  if (progress == Progress::cut) {
    lose_connection(now_ns, ErrorText(error_).text());
    result.progressed = true;
    return result;
  }
  update_shipped();

  if (phase_ == Phase::parting && decided_ && context_.spool->end() == shipped_end_) {
    end(SinkState::finished);
    result.progressed = true;
    return result;
  }
  if (!decided_) result.wake_ns = hello_until_ns_;
  result.poll_events = static_cast<short>((listening ? POLLIN : 0) | (progress == Progress::blocked ? POLLOUT : 0));
  if (result.poll_events != 0) result.fd = transport_->fd();
  if (progress == Progress::blocked && result.fd < 0 && now_ns + kPollNs < result.wake_ns)
    result.wake_ns = now_ns + kPollNs;
  return result;
}

void StreamSink::begin_stream(uint64_t now_ns) {
  const SpoolEntry* first = first_message(*context_.spool, cursor_);
  first_stream_seq_ = first != nullptr ? first->stream_seq : context_.state->next_stream_seq();
  log_time_ = first != nullptr ? first->log_time : now_ns + context_.log_offset_ns;
  began_ns_ = now_ns;
  shipped_at_begin_ = shipped_end_;
  hello_until_ns_ = now_ns + context_.hello_ns;
  decided_ = !transport_->can_answer();
  greeted_ = false;
  deaf_ = decided_;
  declarations_sent_ = repeats_sent_ = 0;
  large_sent_ = 0;
  outbox_begin_ = outbox_end_ = 0;
  cursor_sent_ = 0;
  receiver_.reset();
  phase_ = Phase::preamble;
  state_ = SinkState::open;
  said_absent_ = false;
  say(context_.log, DH_LOG_INFO, "sink: connected to %s", transport_->name());
}

void StreamSink::lose_connection(uint64_t now_ns, const char* why) {
  const bool was_connected = is_connected();
  if (was_connected) update_shipped();
  if (was_connected && (acknowledged_ || !decided_)) {
    cursor_ = shipped_end_;
  } else if (was_connected) {
    shipped_end_ = cursor_;
  }
  cursor_sent_ = 0;
  transport_->close();
  if (!said_absent_) {
    say(context_.log, DH_LOG_WARNING, was_connected ? "sink: lost %s: %s" : "sink: cannot connect to %s: %s; trying on",
        transport_->name(), why);
  }
  said_absent_ = true;
  if (!transport_->can_reconnect()) {
    end(SinkState::failed);
    return;
  }
  if (was_connected) {
    ++stream_;
    // A peer that takes nothing, since its disk is full say, is not asked ten times a second.
    const bool was_of_use = shipped_end_ != shipped_at_begin_ || now_ns - began_ns_ > kMostDelayNs;
    if (decided_ && was_of_use) delay_ns_ = kLeastDelayNs;
  }
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  retry_ns_ = now_ns + delay_ns_ / 2 + random_ % (delay_ns_ / 2 + 1);
  delay_ns_ = delay_ns_ * 2 < kMostDelayNs ? delay_ns_ * 2 : kMostDelayNs;
  state_ = SinkState::absent;
  phase_ = Phase::waiting;
}

void StreamSink::end(SinkState state) {
  transport_->close();
  state_ = state;
  phase_ = Phase::waiting;
}

void StreamSink::abandon() {
  if (state_ != SinkState::finished && transport_ != nullptr) end(SinkState::failed);
}

// ---------------------------------------------------------------------------------------------------------- sending

StreamSink::Progress StreamSink::sent(const IoResult& result, size_t* bytes) {
  *bytes = 0;
  if (result.state == IoState::moved) {
    *bytes = result.bytes;
    return Progress::some;
  }
  if (result.state == IoState::later) return Progress::blocked;
  error_ = result.error;
  return Progress::cut;
}

StreamSink::Progress StreamSink::send_something() {
  if (outbox_begin_ != outbox_end_) return send_outbox();
  if (phase_ == Phase::preamble) return send_preamble();
  if (phase_ == Phase::records) {
    const Progress progress = send_records();
    if (progress != Progress::none || !finishing_) return progress;
    const Bytes out(outbox_, sizeof outbox_);
    outbox_begin_ = 0;
    outbox_end_ = write_data_end_record(out, 0);
    outbox_end_ += write_footer_record(out.from(outbox_end_), 0, 0, 0);
    outbox_end_ += write_magic(out.from(outbox_end_));
    phase_ = Phase::goodbye;
    return send_outbox();
  }
  if (phase_ == Phase::goodbye) {
    transport_->shutdown_write();
    phase_ = Phase::parting;
    return Progress::some;
  }
  return Progress::none;
}

StreamSink::Progress StreamSink::send_outbox() {
  const iovec run = run_of(ConstBytes(outbox_ + outbox_begin_, outbox_end_ - outbox_begin_));
  size_t bytes = 0;
  const Progress progress = sent(transport_->send(&run, 1), &bytes);
  outbox_begin_ += bytes;
  return progress;
}

// Items are copied to the outbox, since what the state says next time may differ: sessions go on while the peer is
// slow.
StreamSink::Progress StreamSink::send_preamble() {
  if (large_sent_ != 0) return send_large_item();
  fill_outbox();
  if (outbox_end_ != 0) return send_outbox();
  StreamItem item;
  bool declaration = false;
  if (next_item(&item, &declaration)) return send_large_item();
  // All channels known by now are declared.
  preamble_end_ = context_.spool->end();
  phase_ = Phase::records;
  return Progress::some;
}

void StreamSink::fill_outbox() {
  outbox_begin_ = outbox_end_ = 0;
  StreamItem item;
  bool declaration = false;
  while (next_item(&item, &declaration)) {
    const size_t bytes = item.head.size + item.body.size;
    if (bytes > sizeof outbox_ - outbox_end_) return;
    memcpy(outbox_ + outbox_end_, item.head.data, item.head.size);
    if (!item.body.empty()) memcpy(outbox_ + outbox_end_ + item.head.size, item.body.data, item.body.size);
    outbox_end_ += bytes;
    pass_item(declaration);
  }
}

// The first item that is not sent: declarations, also those that came while the repeats went out, before repeats. Items
// are only ever inserted among the repeats, so that one may go twice but none is left out.
bool StreamSink::next_item(StreamItem* item, bool* declaration) {
  StreamState& state = *context_.state;
  *declaration = declarations_sent_ < state.declaration_count();
  if (*declaration) {
    *item = state.item(declarations_sent_, stream_, first_stream_seq_, log_time_);
    return true;
  }
  for (; repeats_sent_ < state.item_count() - state.declaration_count(); ++repeats_sent_) {
    *item = state.item(state.declaration_count() + repeats_sent_, stream_, first_stream_seq_, log_time_);
    if (is_repeat(*item, first_stream_seq_)) return true;
  }
  return false;
}

void StreamSink::pass_item(bool declaration) { ++(declaration ? declarations_sent_ : repeats_sent_); }

// Straight from the state. When that changed in the middle, the stream cannot go on.
StreamSink::Progress StreamSink::send_large_item() {
  StreamItem item;
  bool declaration = false;
  if (!next_item(&item, &declaration)) return Progress::cut;
  const uint32_t crc = crc32(crc32(0, item.head.data, item.head.size), item.body.data, item.body.size);
  const size_t total = item.head.size + item.body.size;
  if (large_sent_ != 0 && (crc != large_crc_ || large_sent_ >= total)) return Progress::cut;
  large_crc_ = crc;
  iovec runs[2];
  int count = 0;
  if (large_sent_ < item.head.size) runs[count++] = run_of(item.head.from(large_sent_));
  runs[count++] = run_of(item.body.from(large_sent_ < item.head.size ? 0 : large_sent_ - item.head.size));
  size_t bytes = 0;
  const Progress progress = sent(transport_->send(runs, count), &bytes);
  large_sent_ += bytes;
  if (large_sent_ == total) {
    large_sent_ = 0;
    pass_item(declaration);
  }
  return progress;
}

// Channels that the preamble had, and messages that the peer has.
bool StreamSink::is_skipped(uint64_t position) const {
  const SpoolEntry& entry = context_.spool->entry(position);
  if (entry.kind == EntryKind::channel) return position < preamble_end_;
  // What follows may refer to a descriptor that this stream did not repeat.
  return acknowledged_ && entry.stream_seq <= durable_seq_ && !entry.descriptor;
}

StreamSink::Progress StreamSink::send_records() {
  const Spool& spool = *context_.spool;
  if (cursor_sent_ == 0) {
    while (cursor_ != spool.end() && is_skipped(cursor_)) cursor_ = spool.next(cursor_);
  }
  iovec runs[TcpSocket::kMostRuns];
  int count = 0;
  size_t total = 0;
  for (uint64_t at = cursor_; at != spool.end() && count < TcpSocket::kMostRuns && total < kSendBytes;
       at = spool.next(at)) {
    const size_t offset = at == cursor_ ? cursor_sent_ : 0;
    if (offset == 0 && is_skipped(at)) break;
    runs[count] = run_of(spool.record(at).from(offset));
    total += runs[count++].iov_len;
  }
  if (count == 0) return Progress::none;
  size_t bytes = 0;
  const Progress progress = sent(transport_->send(runs, count), &bytes);
  while (bytes != 0) {
    const size_t left = spool.record(cursor_).size - cursor_sent_;
    if (bytes < left) {
      cursor_sent_ += bytes;
      break;
    }
    bytes -= left;
    cursor_sent_ = 0;
    cursor_ = spool.next(cursor_);
  }
  return progress;
}

// -------------------------------------------------------------------------------------------------------- listening

// False when there is no need to listen any more, or the connection is gone.
bool StreamSink::listen(uint64_t now_ns) {
  if (!transport_->can_answer()) return false;
  for (int i = 0; i < kMostMessagesAtOnce; ++i) {
    HostMessageView message;
    switch (deaf_ ? receiver_.discard(*transport_) : receiver_.next(*transport_, &message)) {
      case HostInput::nothing: return true;
      case HostInput::message:
        if (obey(message)) break;
        lose_connection(now_ns, "its answer makes no sense");
        return false;
      case HostInput::malformed:
        if (acknowledged_) {
          lose_connection(now_ns, "its answer is damaged");
          return false;
        }
        // Perhaps somebody types into nc. Nothing it says can be understood from now on.
        if (!deaf_) say(context_.log, DH_LOG_WARNING, "sink: %s answers in no language of ours", transport_->name());
        deaf_ = decided_ = true;
        break;
      case HostInput::closed:
        // An unacknowledged peer may have closed only its own direction, as `nc < /dev/null` does.
        if (!acknowledged_) return false;
        update_shipped();
        if (phase_ == Phase::parting && context_.spool->end() == shipped_end_) {
          end(SinkState::finished);
        } else {
          lose_connection(now_ns, "it closed the connection");
        }
        return false;
      case HostInput::failed: lose_connection(now_ns, ErrorText(receiver_.error()).text()); return false;
    }
  }
  return true;
}

bool StreamSink::obey(const HostMessageView& message) {
  if (message.command == HostCommand::kHello) {
    if (message.format_current < kFormatOldest || message.format_oldest > kFormatCurrent) {
      say(context_.log, DH_LOG_WARNING, "sink: %s reads format %u to %u, this is %u; going on unacknowledged",
          transport_->name(), unsigned{message.format_oldest}, unsigned{message.format_current},
          unsigned{kFormatCurrent});
      deaf_ = decided_ = true;
      return true;
    }
    greeted_ = decided_ = acknowledged_ = true;
    if (message.session == context_.session_uuid) note_durable(message.durable_seq);
    return true;
  }
  if (message.command == HostCommand::kAck) {
    if (!greeted_) return false;
    note_durable(message.durable_seq);
  }
  return true;
}

void StreamSink::note_durable(uint64_t durable_seq) {
  // Nobody holds what does not exist.
  const uint64_t last = context_.state->next_stream_seq() - 1;
  if (durable_seq > last) durable_seq = last;
  if (durable_seq > durable_seq_) durable_seq_ = durable_seq;
}

void StreamSink::update_shipped() {
  const Spool& spool = *context_.spool;
  if (acknowledged_) {
    while (shipped_end_ != cursor_) {
      const SpoolEntry& entry = spool.entry(shipped_end_);
      if (entry.kind == EntryKind::message && entry.stream_seq > durable_seq_) break;
      shipped_end_ = spool.next(shipped_end_);
    }
  } else if (decided_) {
    shipped_end_ = cursor_;
  }
}

}  // namespace dumphook
