// SPDX-License-Identifier: Apache-2.0
// The messages of a capture (schemas/*.fbs), from plain views to bytes.
//
// Each write_* puts one whole FlatBuffer at the front of `out`, its CRC and stream_seq set, and returns its length, a
// multiple of 8; or 0, with `out` in any state, when it does not fit. Nothing is ever written outside `out`, which
// begins at a multiple of 16 if payloads shall be aligned, of 8 otherwise. Equal views give equal bytes. Views own
// nothing; all strings may be NULL, and NULL strings and empty spans are absent in the message.
#pragma once

#include "base/bytes.h"
#include "dumphook/dumphook.h"
#include "wire/format.h"

namespace dumphook {

struct AttributeView {
  const char* key = nullptr;
  const char* value = nullptr;
};

// ---- Tensors

struct PlaneView {
  uint64_t row_stride = 0;
  uint64_t row_bytes = 0;
  uint64_t rows = 0;
};

// What FORMAT.md section 4 calls a descriptor. The enumerations have the values of dumphook.h.
struct DescriptorView {
  uint64_t hash = 0;  // descriptor_hash() of the rest, tensor_id excepted
  uint32_t tensor_id = 0;
  const char* model = nullptr;
  const char* name = nullptr;
  const char* op = nullptr;
  const char* raw_type = nullptr;
  const char* const* origin_names = nullptr;
  uint32_t origin_count = 0;
  uint8_t role = 0;
  uint8_t dtype = 0;
  uint8_t layout = 0;
  Span<const int64_t> shape;
  Span<const int64_t> logical_shape;  // empty: as shape
  Span<const int64_t> strides;        // bytes; empty: dense
  Span<const PlaneView> planes;
  uint8_t quant_kind = 0;  // with DH_QUANT_NONE the next three do not matter
  int32_t quant_axis = -1;
  Span<const float> scale;
  Span<const int32_t> zero_point;  // empty: all zero
  int32_t node_index = -1;
  int32_t output_slot = 0;
  Span<const AttributeView> attributes;
};

// Ignores `hash` and `tensor_id`.
uint64_t descriptor_hash(const DescriptorView& descriptor);

size_t write_descriptor(Bytes out, uint64_t stream_seq, const DescriptorView& descriptor);

// Which tensor of which frame.
struct TensorKey {
  uint64_t descriptor_hash = 0;
  uint64_t frame = 0;
  uint64_t capture_id = 0;
  uint32_t instance = 0;
  uint32_t occurrence = 0;
};

struct PartView : TensorKey {
  uint32_t part_index = 0;
  uint32_t part_count = 1;
  uint64_t offset = 0;  // of this part in the dense tensor, bytes
  uint64_t total = 0;   // dense tensor, bytes
  uint8_t dtype = 0;
  Span<const int64_t> shape;
  uint64_t capture_time_ns = 0;       // 0: not taken
  uint8_t digest_kind = kDigestNone;  // of the whole tensor, with its last part
  uint64_t digest = 0;
};

// A part is made in place: write_part_prefix, the payload encoded to out.data + its result, finish_part. The payload
// lies last, so that nothing is copied and its length may be unknown until it is there.
//
// Returns where the payload goes, a multiple of 16 and at most kMaxPartPrefixBytes, or 0 when it does not fit.
size_t write_part_prefix(Bytes out, uint64_t stream_seq, const PartView& part);

// `payload_offset` is what write_part_prefix returned for this `out`; `raw_size` is the payload's length after
// decoding. Needs up to 7 bytes behind the payload. Returns the length of the message, or 0 when it does not fit.
size_t finish_part(Bytes out, size_t payload_offset, uint32_t payload_bytes, uint8_t codec, uint32_t raw_size);

constexpr size_t kMaxPartPrefixBytes = 272;  // for rank <= kMaxRank
constexpr size_t kMaxPartSuffixBytes = 7;

struct DigestView : TensorKey {
  uint8_t kind = kDigestXxh64;
  uint64_t value = 0;
  uint8_t dtype = 0;
  Span<const int64_t> shape;
  uint64_t capture_time_ns = 0;
};

// A tensor of which only the digest is kept (DH_LEVEL_HASH).
size_t write_tensor_digest(Bytes out, uint64_t stream_seq, const DigestView& digest);

// Over the finite elements where not said otherwise.
struct StatisticsView : TensorKey {
  uint8_t dtype = 0;
  Span<const int64_t> shape;
  uint64_t count = 0;    // all elements
  uint64_t sampled = 0;  // elements looked at
  double min = 0, max = 0, mean = 0, variance = 0;
  uint64_t nan = 0, pos_inf = 0, neg_inf = 0;
  uint64_t zeros = 0;
  uint64_t saturated = 0;
  int32_t histogram_first_exponent = 0;
  Span<const uint64_t> histogram;
  uint64_t capture_time_ns = 0;
};

// A tensor of which only the statistics are kept (DH_LEVEL_STATS).
size_t write_tensor_statistics(Bytes out, uint64_t stream_seq, const StatisticsView& statistics);

// ---- Frames

struct FrameBeginView {
  uint64_t frame = 0;
  uint32_t instance = 0;
  const char* model = nullptr;
  uint64_t capture_time_ns = 0;  // as the app gave it
  uint64_t begin_time_ns = 0;    // session clock
};

size_t write_frame_begin(Bytes out, uint64_t stream_seq, const FrameBeginView& frame);

struct FrameEndView {
  uint64_t frame = 0;
  uint8_t state = kFrameComplete;
  uint32_t seen = 0;
  uint32_t accepted = 0;
  Span<const uint64_t> lost;  // counts by dh_loss_reason
  uint64_t end_time_ns = 0;   // session clock
  Span<const AttributeView> attributes;
};

size_t write_frame_end(Bytes out, uint64_t stream_seq, const FrameEndView& frame);

// ---- Model graph

struct NodeView {
  int32_t index = -1;
  const char* name = nullptr;
  const char* op = nullptr;
  Span<const char* const> inputs;
  Span<const char* const> outputs;
  const char* backend = nullptr;
  uint8_t visibility = DH_VISIBLE;
};

// A graph that is too large for one message goes in several, each with a run of its nodes.
struct GraphView {
  const char* model = nullptr;
  const char* model_hash = nullptr;
  uint32_t node_total = 0;
  uint32_t first_node = 0;  // position of nodes[0]
  Span<const NodeView> nodes;
  Span<const AttributeView> attributes;
};

size_t write_graph(Bytes out, uint64_t stream_seq, const GraphView& graph);

// ---- State of the session

struct LossRangeView {
  uint32_t tensor_id = kNoTensorId;
  uint8_t reason = 0;  // dh_loss_reason
  uint64_t first_frame = 0;
  uint64_t last_frame = 0;
  uint64_t count = 0;
  uint64_t pool_bytes_needed = 0;  // too_big only
};

size_t write_loss(Bytes out, uint64_t stream_seq, Span<const LossRangeView> ranges);
// One of the ranges of what write_loss made, but for pool_bytes_needed. False when there are no more.
bool read_loss_range(ConstBytes message, uint32_t index, LossRangeView* range);

struct TensorCountersView {
  uint32_t tensor_id = 0;
  uint64_t seen = 0;
  uint64_t shipped = 0;
  uint64_t in_flight = 0;
  Span<const uint64_t> lost;  // counts by dh_loss_reason
};

struct CountersView {
  uint64_t seen = 0;
  uint64_t shipped = 0;
  uint64_t in_flight = 0;
  Span<const uint64_t> lost;  // counts by dh_loss_reason
  uint64_t frames_begun = 0;
  uint64_t frames_ended = 0;
  uint64_t raw_bytes = 0;
  uint64_t encoded_bytes = 0;
  uint64_t pool_peak_bytes = 0;
  uint64_t spool_peak_bytes = 0;
  Span<const TensorCountersView> tensors;
  bool closing = false;
};

size_t write_counters(Bytes out, uint64_t stream_seq, const CountersView& counters);

struct ConfigChangeView {
  uint64_t first_frame = 0;
  const char* text = nullptr;
  const char* origin = nullptr;
};

size_t write_config_change(Bytes out, uint64_t stream_seq, const ConfigChangeView& change);

struct ClockSyncView {
  uint64_t session_ns = 0;
  uint64_t wall_ns = 0;
};

size_t write_clock_sync(Bytes out, uint64_t stream_seq, const ClockSyncView& sync);

struct LogView {
  uint8_t level = 0;  // dh_log_level
  const char* text = nullptr;
};

size_t write_log(Bytes out, uint64_t stream_seq, const LogView& log);

struct RunReplyView {
  uint64_t request_id = 0;
  uint8_t status = kReplyDone;
  const char* text = nullptr;
  uint64_t first_frame = 0;
  uint32_t frame_count = 0;
};

size_t write_run_reply(Bytes out, uint64_t stream_seq, const RunReplyView& reply);

// ---- CRC

// Where a message's crc32 field is, 0 when it has none. Safe on any bytes.
size_t find_crc_field(ConstBytes message);

// crc32 of the message with the four bytes at `crc_field_offset` taken as zero.
uint32_t message_crc(ConstBytes message, size_t crc_field_offset);

// crc32(crc, message) of a message whose CRC is known to be right, without reading the rest of it: about a microsecond.
uint32_t crc_of_sealed(uint32_t crc, ConstBytes message);

// True when the field is there and holds message_crc(). Safe on any bytes.
bool check_message_crc(ConstBytes message);

}  // namespace dumphook
