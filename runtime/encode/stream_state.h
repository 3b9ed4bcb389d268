// SPDX-License-Identifier: Apache-2.0
// StreamState: what every new stream (connection or file segment) must say before its messages, kept ready in fixed
// memory: header, metadata, schemas, channels, and the repeats (counters, model graph, current descriptors). Used by
// the worker only.
#pragma once

#include <cstdint>

#include "base/arena.h"
#include "base/bytes.h"
#include "spool/spool.h"

namespace dumphook {

struct SessionInfo {
  char uuid[33] = {};  // 32 hexadecimal digits
  // Texts stay valid as long as the session.
  const char* board = "";
  const char* soc = "";
  const char* sdk = "";
  const char* build = "";
  const char* model_hash = "";
};

// A record in one or two pieces; both stay valid until the next call of item(). Empty when there is nothing to say.
struct StreamItem {
  ConstBytes head;
  ConstBytes body;
  uint16_t channel_id = 0;  // of a repeat: its message's channel
  uint64_t log_time = 0;
};

class StreamState {
 public:
  static constexpr uint32_t kMaxGraphMessages = 256;
  static constexpr size_t kMaxAttributeKeyBytes = 63;
  static constexpr size_t kMaxAttributeValueBytes = 4096;

  // Topics, descriptors and graphs go to `strings`, which the worker alone may use from now on.
  bool open(Arena& tables, uint32_t max_tensors, Arena* strings);
  void set_info(const SessionInfo& info) { info_ = info; }

  // --- filled by encode -------------------------------------------------------------------------------------------
  // Declares the tensor's channel. False when the topic does not fit.
  bool add_channel(uint32_t tensor_id, const char* model, const char* name);
  bool has_channel(uint32_t tensor_id) const;
  // Room for an encoded descriptor that later streams will repeat. False when there is none.
  bool reserve_descriptor(uint32_t tensor_id, size_t bytes);
  // The message stays valid as long as the session. False when there are kMaxGraphMessages already.
  bool add_graph(ConstBytes message);
  // The latest totals, which every later stream begins with.
  void keep_counters(ConstBytes message);
  // A later value of a key replaces the earlier one. Both texts stay valid as long as the session. False when there are
  // too many.
  bool add_attribute(const char* key, const char* value);
  uint32_t channel_count() const { return channel_count_; }
  // The Channel record of a declared tensor; 0 when `out` is too small.
  size_t write_channel(Bytes out, uint32_t tensor_id) const;
  uint64_t take_stream_seq() { return next_stream_seq_++; }
  uint64_t next_stream_seq() const { return next_stream_seq_; }
  const SessionInfo& info() const { return info_; }

  // --- told by whoever moves a stream's beginning -------------------------------------------------------------------
  // A stream that begins behind this entry of the spool repeats what it says. In order; once more does no harm.
  void pass(const SpoolEntry& entry, ConstBytes record);

  // --- read by sinks ----------------------------------------------------------------------------------------------
  // The preamble of stream number `stream`, item by item: first magic and Header, then Metadata, Schemas, Channels (the
  // declarations), then the repeats. `first_stream_seq` is the first new message that will follow.
  uint32_t declaration_count() const;
  uint32_t item_count() const;
  StreamItem item(uint32_t index, uint32_t stream, uint64_t first_stream_seq, uint64_t log_time);
  // The part of the declarations that an MCAP summary repeats: Schemas, then Channels.
  uint32_t schema_begin() const { return 2; }
  uint32_t channel_begin() const;

 private:
  struct Channel;
  struct Kept;
  struct Attribute {
    const char* key;
    const char* value;
  };
  static constexpr uint32_t kMaxAttributes = 64;
  static constexpr size_t kScratchBytes = 16384;
  static constexpr size_t kMaxCountersBytes = 640;  // without tensors of their own

  StreamItem repeat(ConstBytes message, uint16_t channel_id, uint64_t log_time);
  size_t write_metadata(Bytes out, uint32_t stream, uint64_t first_stream_seq) const;

  SessionInfo info_;
  Channel* channels_ = nullptr;        // by tensor id
  uint32_t* channel_order_ = nullptr;  // tensor ids in order of declaration
  ConstBytes graphs_[kMaxGraphMessages];
  alignas(8) uint8_t counters_[kMaxCountersBytes];
  size_t counters_bytes_ = 0;
  uint8_t* scratch_ = nullptr;
  Arena* strings_ = nullptr;
  uint32_t max_tensors_ = 0;
  uint32_t channel_count_ = 0;
  uint32_t graph_count_ = 0;
  uint32_t attribute_count_ = 0;
  Attribute attributes_[kMaxAttributes] = {};
  uint64_t next_stream_seq_ = 1;
};

}  // namespace dumphook
