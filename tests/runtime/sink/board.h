// SPDX-License-Identifier: Apache-2.0
// Board: all that a sink is given by a session, with a clock that tests set.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encode/emitter.h"
#include "sink/sink.h"
#include "wire/messages.h"

namespace dumphook {

class Board {
 public:
  explicit Board(size_t spool_bytes = 1 << 20, uint32_t max_tensors = 64) : max_tensors_(max_tensors) {
    clock_.user = this;
    clock_.read_monotonic = [](void* user) { return static_cast<Board*>(user)->now_ns; };
    clock_.read_wall = [](void* user) { return static_cast<Board*>(user)->now_ns + 1000; };
    memory_.resize((spool_bytes + kStringBytes + (128 << 10) + max_tensors * size_t{64}) / 64);
    Arena arena(Bytes(reinterpret_cast<uint8_t*>(memory_.data()), memory_.size() * 64));
    auto* spool_memory = static_cast<uint8_t*>(arena.take(spool_bytes, 64));
    auto* strings_memory = static_cast<uint8_t*>(arena.take(kStringBytes, 64));
    strings_ = Arena(Bytes(strings_memory, kStringBytes));
    EXPECT_TRUE(state.open(arena, max_tensors, &strings_));
    SessionInfo info;
    snprintf(info.uuid, sizeof info.uuid, "%016llx%016llx", 0x1234ull, 0x5678ull);
    state.set_info(info);
    spool.open(spool_memory, spool_bytes);
    emitter.open(&spool, &spool, &state, clock_);
    context.spool = &spool;
    context.state = &state;
    context.clock = clock_;
    context.log_offset_ns = emitter.session_ns(0);
    context.session_uuid = {0x1234, 0x5678};
    context.books.user = this;
    context.books.take_back = [](void* user, const SegmentShare& share) {
      auto* board = static_cast<Board*>(user);
      if (board->stepping != nullptr) board->free_shipped(*board->stepping);
      board->taken_back.push_back(share);
      (share.told ? board->told_again : board->removed)[share.tensor_id] += share.count;
      EXPECT_LE(board->removed[share.tensor_id], board->shipped[share.tensor_id]);
    };
    context.books.note = [](void* user, const char* text) { (static_cast<Board*>(user)->notes += text) += "\n"; };
    context.log.user = this;
    context.log.write = [](void* user, dh_log_level, const char* text) {
      (static_cast<Board*>(user)->log += text) += "\n";
    };
  }

  // A part of `bytes`. False when the spool is full.
  bool emit(uint32_t tensor_id, size_t bytes, bool frame_end = false, uint32_t part_index = 0, uint32_t part_count = 1,
            uint64_t capture_id = 0) {
    if (!state.has_channel(tensor_id) && !declare(tensor_id)) return false;
    const uint64_t fill_seq = state.next_stream_seq();
    const auto fill = static_cast<uint8_t>(fill_seq);
    const int64_t shape[] = {static_cast<int64_t>(bytes)};
    PartView part;
    part.total = bytes;
    part.dtype = DH_U8;
    part.shape = shape;
    SpoolEntry entry;
    entry.tensor_id = tensor_id;
    entry.frame = frame;
    entry.capture_id = capture_id;
    entry.first_part = part_index == 0;
    entry.last_part = part_index + 1 == part_count;
    entry.frame_end = frame_end;
    entry.channel_id = static_cast<uint16_t>(kFirstTensorChannel + tensor_id);
    const bool taken =
        emitter.emit(entry, kMaxPartPrefixBytes + bytes + kMaxPartSuffixBytes, 0, [&](Bytes out, uint64_t seq) {
          const size_t payload = write_part_prefix(out, seq, part);
          memset(out.data + payload, fill, bytes);
          return finish_part(out, payload, static_cast<uint32_t>(bytes), kCodecRaw, static_cast<uint32_t>(bytes));
        });
    if (taken) now_ns += 1000;
    if (taken) part_seqs[fill_seq] = {tensor_id, capture_id};
    return taken;
  }

  // A Loss of `count` captures.
  bool tell_loss(uint32_t tensor_id, uint8_t reason, uint64_t count) {
    LossRangeView range;
    range.tensor_id = tensor_id;
    range.reason = reason;
    range.first_frame = range.last_frame = frame;
    range.count = count;
    SpoolEntry entry;
    entry.channel_id = kLossChannel.channel;
    return emitter.emit(entry, 512, 0, [&](Bytes out, uint64_t seq) { return write_loss(out, seq, {&range, 1}); });
  }

  // A description that every later stream repeats.
  bool describe(uint32_t tensor_id, size_t bytes = 0) {
    if (!state.has_channel(tensor_id) && !declare(tensor_id)) return false;
    const std::string name = "t" + std::to_string(tensor_id) + std::string(bytes, 'x');
    DescriptorView view;
    view.tensor_id = tensor_id;
    view.name = name.c_str();
    SpoolEntry entry;
    entry.tensor_id = tensor_id;
    entry.descriptor = true;
    entry.channel_id = static_cast<uint16_t>(kFirstTensorChannel + tensor_id);
    return emitter.emit(entry, 1024 + bytes, 0, [&](Bytes out, uint64_t seq) {
      const size_t written = write_descriptor(out, seq, view);
      EXPECT_TRUE(state.reserve_descriptor(tensor_id, written));
      return written;
    });
  }

  // As the session does after each step.
  void free_shipped(const Sink& sink) {
    while (!spool.empty() && spool.begin() < sink.shipped_end()) {
      const SpoolEntry& entry = spool.entry(spool.begin());
      if (entry.stream_seq != 0) last_shipped_seq = entry.stream_seq;
      if (entry.last_part) ++shipped[entry.tensor_id];
      state.pass(spool.entry(spool.begin()), spool.record(spool.begin()));
      spool.pop();
    }
  }

  SinkStep step(Sink& sink) {
    stepping = &sink;
    const SinkStep result = sink.step(now_ns);
    free_shipped(sink);
    return result;
  }

  // What the session's books say, by tensor.
  std::map<uint32_t, uint64_t> shipped, removed, told_again;
  std::map<uint64_t, std::pair<uint32_t, uint64_t>> part_seqs;  // tensor and capture of each part emitted
  uint64_t frame = 0;
  std::vector<SegmentShare> taken_back;
  std::string notes;

  uint64_t now_ns = 1000000000;
  uint64_t last_shipped_seq = 0;
  const Sink* stepping = nullptr;
  Spool spool;
  StreamState state;
  Emitter emitter;
  SinkContext context;
  std::string log;
  uint32_t max_tensors() const { return max_tensors_; }

 private:
  bool declare(uint32_t tensor_id) {
    const Bytes room = spool.reserve(8192);
    if (room.data == nullptr) return false;
    EXPECT_TRUE(state.add_channel(tensor_id, "model", ("t" + std::to_string(tensor_id)).c_str()));
    SpoolEntry entry;
    entry.kind = EntryKind::channel;
    entry.channel_id = static_cast<uint16_t>(kFirstTensorChannel + tensor_id);
    entry.log_time = emitter.session_ns();
    entry.record_bytes = static_cast<uint32_t>(state.write_channel(room, tensor_id));
    spool.commit(entry);
    return true;
  }

  static constexpr size_t kStringBytes = 512 << 10;
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> memory_;
  Arena strings_{Bytes()};
  Clock clock_;
  uint32_t max_tensors_;
};

}  // namespace dumphook
