// SPDX-License-Identifier: Apache-2.0
// StreamSink: the capture as an unchunked MCAP stream to a peer, one complete stream per connection.
//
//   waiting -> connecting -> preamble -> records -> goodbye -> parting
//      ^____________|____________|__________|__________|__________|      a cut: back off, then the next stream
//
// Unacknowledged (the peer never said Hello within hello_ns): what the kernel took is shipped. Acknowledged: what the
// peer calls durable is; after a cut the first entry that is not goes out again. Until it is known which, entries are
// held back from shipped_end(): at most for hello_ns.
#pragma once

#include "sink/host_receiver.h"
#include "sink/sink.h"
#include "sink/transport.h"

namespace dumphook {

class StreamSink final : public Sink {
 public:
  // `transport` must stay valid.
  void open(const SinkContext& context, Transport* transport);

  SinkStep step(uint64_t now_ns) override;
  void finish() override { finishing_ = true; }
  void abandon() override;

 private:
  enum class Phase : uint8_t { waiting, connecting, preamble, records, goodbye, parting };
  enum class Progress : uint8_t { none, some, blocked, cut };

  bool is_connected() const { return phase_ >= Phase::preamble; }
  void follow_spool();
  void begin_stream(uint64_t now_ns);
  void lose_connection(uint64_t now_ns, const char* why);
  void end(SinkState state);

  Progress send_something();
  Progress send_preamble();
  void fill_outbox();
  bool next_item(StreamItem* item, bool* declaration);
  void pass_item(bool declaration);
  Progress send_large_item();
  Progress send_outbox();
  Progress send_records();
  bool is_skipped(uint64_t position) const;
  Progress sent(const IoResult& result, size_t* bytes);

  bool listen(uint64_t now_ns);
  bool obey(const HostMessageView& message);
  void note_durable(uint64_t durable_seq);
  void update_shipped();

  static constexpr size_t kOutboxBytes = 64 << 10;
  static constexpr uint64_t kLeastDelayNs = 100000000;
  static constexpr uint64_t kMostDelayNs = 5000000000;
  static constexpr uint64_t kPollNs = 10000000;  // without a descriptor

  SinkContext context_;
  Transport* transport_ = nullptr;
  HostReceiver receiver_;
  Phase phase_ = Phase::waiting;
  bool finishing_ = false;

  // Back-off.
  uint64_t retry_ns_ = 0;
  uint64_t delay_ns_ = kLeastDelayNs;
  uint64_t random_ = 0;
  bool said_absent_ = false;

  // This connection.
  uint32_t stream_ = 0;  // its number
  uint64_t began_ns_ = 0;
  uint64_t shipped_at_begin_ = 0;
  uint64_t hello_until_ns_ = 0;
  bool decided_ = false;  // whether it is acknowledged
  bool greeted_ = false;  // Hello came
  bool deaf_ = false;     // what the peer says does not matter any more
  uint64_t first_stream_seq_ = 1;
  uint64_t log_time_ = 0;
  uint32_t declarations_sent_ = 0;
  uint32_t repeats_sent_ = 0;
  uint64_t preamble_end_ = 0;
  size_t large_sent_ = 0;  // of an item larger than the outbox
  uint32_t large_crc_ = 0;

  // The next entry to go, and how much of it went.
  uint64_t cursor_ = 0;
  size_t cursor_sent_ = 0;

  int error_ = 0;
  size_t outbox_begin_ = 0;
  size_t outbox_end_ = 0;
  uint8_t outbox_[kOutboxBytes];
};

}  // namespace dumphook
