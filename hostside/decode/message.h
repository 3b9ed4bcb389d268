// SPDX-License-Identifier: Apache-2.0
// A message's bytes, hostile until read_message has looked at them, as plain values. Names are those of schemas/*.fbs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "decode/capture.h"

namespace dumphook {

enum class MessageKind : uint8_t {
  tensor,
  frame_begin,
  frame_end,
  model_graph,
  loss,
  counters,
  config_change,
  clock_sync,
  log,
  run_reply
};
// By the name of the schema; nothing when it is not one of ours.
std::optional<MessageKind> message_kind(const std::string& schema_name);

struct TensorPart {
  uint32_t part_index = 0, part_count = 0;
  uint64_t offset = 0, total = 0;
  uint32_t raw_bytes = 0;
  uint8_t codec = 0;
  size_t data_at = 0;  // of the encoded bytes in the message
  size_t data_bytes = 0;
};

struct TensorNews {
  struct Key {
    uint64_t descriptor_hash = 0, frame = 0, capture_id = 0;
    uint32_t instance = 0, occurrence = 0;
  };
  std::optional<Key> key;
  std::shared_ptr<Descriptor> descriptor;
  std::optional<TensorPart> part;
  std::optional<TensorStatistics> statistics;
  std::optional<uint64_t> digest;
  bool has_digest = false;   // of any kind
  DType dtype = DType::raw;  // of the part, the statistics or the digest
  Shape shape;
  uint64_t capture_time_ns = 0;
};

struct FrameBeginNews {
  uint64_t frame = 0, capture_time_ns = 0, begin_time_ns = 0;
  std::string model;
};

struct FrameEndNews {
  uint64_t frame = 0, seen = 0, accepted = 0, end_time_ns = 0;
  FrameState state = FrameState::incomplete;
  LossCounts lost;
  std::map<std::string, std::string> attributes;
};

struct GraphNews {
  std::string model, model_hash;
  uint64_t node_total = 0, first_node = 0;
  std::vector<GraphNode> nodes;
  std::map<std::string, std::string> attributes;
};

struct LossNews {
  std::vector<LossRange> ranges;
};

struct RunReplyNews {
  uint64_t request_id = 0;
  std::string text;
};

struct Message {
  uint64_t stream_seq = 0;
  std::variant<TensorNews, FrameBeginNews, FrameEndNews, GraphNews, LossNews, SessionCounters, ConfigChange, ClockSync,
               LogLine, RunReplyNews>
      body;
  std::vector<std::string> remarks;  // what is odd in it and was left out or corrected
};

// `data` is a multiple of 8 in memory and its crc32 holds. The Error says which invariant of FORMAT.md section 9 does
// not.
Expected<Message> read_message(MessageKind kind, ConstBytes data);

}  // namespace dumphook
