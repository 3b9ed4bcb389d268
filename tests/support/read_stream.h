// SPDX-License-Identifier: Apache-2.0
// An independent reader of captures for tests: MCAP records by hand, messages by flatc's classes. It knows FORMAT.md,
// not the runtime, and checks its rules on the way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace test_reader {

struct Tensor {
  std::string model, name, op, raw_type;
  std::vector<std::string> origin_names;
  std::map<std::string, std::string> attributes;
  uint32_t role = 0, dtype = 0, layout = 0, instance = 0, occurrence = 0;
  int32_t node_index = -1, output_slot = 0;
  uint64_t frame = 0, capture_id = 0, descriptor_hash = 0, total = 0, have = 0;
  uint32_t part_count = 0, parts = 0, quant_kind = 0;
  int32_t quant_axis = -1;
  std::vector<int64_t> shape, logical_shape, strides;
  std::vector<float> scale;
  std::vector<int32_t> zero_point;
  std::vector<uint32_t> part_sizes;
  std::string bytes;
  bool has_digest = false;
  uint64_t digest = 0;
  size_t planes = 0;

  bool whole() const { return have == total && (total != 0 || parts == 1); }
};

// A tensor of which only this was kept.
struct Summary {
  std::string name;
  uint64_t frame = 0, capture_id = 0;
  bool has_statistics = false;
  uint64_t digest = 0, count = 0, sampled = 0, nan = 0, zeros = 0, saturated = 0;
  double min = 0, max = 0, mean = 0, variance = 0;
  std::vector<float> scale;
};

struct Frame {
  uint64_t begins = 0, ends = 0, seen = 0, accepted = 0;
  uint32_t state = 99;
  std::map<uint32_t, uint64_t> lost;
  std::map<std::string, std::string> attributes;
  std::string model;
};

struct Loss {
  uint32_t tensor_id = 0, reason = 0;
  uint64_t first = 0, last = 0, count = 0, pool_bytes_needed = 0;
};

struct Counters {
  uint64_t seen = 0, shipped = 0, in_flight = 0, frames_begun = 0, frames_ended = 0;
  std::map<uint32_t, uint64_t> lost;
  bool closing = false;
  size_t tensors = 0;

  uint64_t lost_sum() const {
    uint64_t sum = 0;
    for (const auto& [reason, count] : lost) sum += count;
    return sum;
  }
};

struct Node {
  int32_t index = -1;
  std::string name, op;
  std::vector<std::string> inputs, outputs;
};

struct Graph {
  uint64_t node_total = 0;
  std::vector<Node> nodes;
  std::map<std::string, std::string> attributes;
};

struct Stream {
  std::vector<std::string> wrong;  // rules of FORMAT.md that are broken
  std::map<std::string, std::string> metadata;
  std::map<uint64_t, Tensor> tensors;  // by capture_id
  std::vector<Summary> summaries;
  std::map<uint64_t, Frame> frames;
  std::map<std::string, Graph> graphs;
  std::map<uint32_t, std::string> names;  // by tensor id
  std::vector<Loss> losses;
  std::vector<Counters> counters;
  std::vector<std::string> logs, config_changes;
  std::vector<std::pair<uint64_t, uint64_t>> config_frames;  // index into config_changes, first frame
  uint64_t first_seq = 0, last_seq = 0, messages = 0, repeats = 0;
  size_t streams = 0, descriptors = 0, clock_syncs = 0;
  bool cut = false;     // the bytes end in mid-record
  bool sealed = false;  // the last stream ended with Footer and magic

  std::vector<const Tensor*> of(const std::string& name) const;
  uint64_t lost(uint32_t tensor_id) const;
  // Whether a Loss covers this tensor and frame.
  bool lost_in(uint32_t tensor_id, uint64_t frame) const;
  uint32_t id_of(const std::string& name) const;
};

// One session's streams, one after the other.
Stream read_stream(const std::string& bytes);
std::string read_file(const std::string& path);

}  // namespace test_reader
