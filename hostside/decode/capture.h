// SPDX-License-Identifier: Apache-2.0
// Capture: all that one or several files of a capture hold, indexed. Opening reads everything once and checks every
// CRC; tensors' values are read when they are asked for.
//
//     Expected<Capture> capture = Capture::open("run.mcap");
//     if (!capture) return fail(capture.error());
//     for (const CapturedTensor& tensor : capture->tensors())
//       if (tensor.state == TensorState::whole) use(capture->load(tensor));
//
// What cannot be read is in problems(), and the rest is here. On any input: lengths are checked before use, nothing is
// allocated from `total` alone, and what is kept is bounded by a fixed multiple of the file's size.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decode/tensor.h"
#include "source/problem.h"
#include "source/problem_list.h"

namespace dumphook {

// Values as in schemas/types.fbs and dumphook.h.
enum class LossReason : uint8_t {
  pool_full,
  too_big,
  too_many_tensors,
  no_descriptor_room,
  frame_refused,
  degraded,
  sink_error,
  not_connected,
  quota_removed,
  not_triggered,
  abandoned,
  closed
};
enum class Visibility : uint8_t { visible, inside_delegate, fused_away, constant };
enum class FrameState : uint8_t { complete, abandoned, incomplete };
enum class LogLevel : uint8_t { error, warning, info };

const char* loss_reason_name(LossReason reason);  // "pool_full"; "unknown" for values of a later version
const char* visibility_name(Visibility visibility);

using LossCounts = std::map<LossReason, uint64_t>;

// ---- Tensors

enum class TensorState : uint8_t {
  whole,
  truncated,   // parts are missing
  damaged,     // parts contradict each other; why says how
  statistics,  // only statistics were kept
  digest,      // only a digest was kept
};
const char* tensor_state_name(TensorState state);

struct TensorStatistics {
  uint64_t count = 0, sampled = 0;
  double min = 0, max = 0, mean = 0, variance = 0;
  uint64_t nan = 0, pos_inf = 0, neg_inf = 0, zeros = 0, saturated = 0;
  int histogram_first_exponent = 0;
  std::vector<uint64_t> histogram;
};

// Where a part's encoded bytes lie.
struct PartLocation {
  uint64_t file_offset = 0;  // of the encoded bytes
  uint64_t offset = 0;       // in the dense tensor
  uint32_t file = 0;
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;
  uint32_t part_index = 0;
  uint8_t codec = 0;
};

struct CapturedTensor {
  uint32_t session = 0;  // position in sessions()
  uint64_t frame = 0;
  uint64_t capture_id = 0;  // order of capture in the session
  uint32_t instance = 0, occurrence = 0;
  std::shared_ptr<const Descriptor> descriptor;  // never null. Made up from topic and part when the capture has none
  bool described = false;                        // the capture has the descriptor
  DType dtype = DType::raw;                      // of the bytes
  Shape shape;
  TensorState state = TensorState::truncated;
  std::string why;            // not whole: what is missing or wrong
  uint64_t total_bytes = 0;   // of the dense tensor, as its parts say; nothing is to be allocated from it
  uint64_t raw_bytes = 0;     // in the parts that are here
  uint64_t stored_bytes = 0;  // the same, encoded
  std::vector<PartLocation> parts;
  uint32_t part_count = 0;     // as the parts say
  uint8_t codec = 0;           // the most elaborate of its parts
  bool contradictory = false;  // its messages do not agree
  std::optional<TensorStatistics> statistics;
  std::optional<uint64_t> digest;  // XXH64 of the dense bytes
  uint64_t capture_time_ns = 0;    // 0: not taken
  uint64_t file_offset = 0;        // of its first message
  uint32_t file = 0;

  const std::string& name() const { return descriptor->name; }
  const std::string& model() const { return descriptor->model; }
  std::string label() const;  // name and, where it is not the only one of that name in the frame, run_suffix()
};

// ---- What else a capture says

struct CapturedFrame {
  uint32_t session = 0;
  uint64_t number = 0;
  std::string model;
  bool begun = false, ended = false;
  FrameState state = FrameState::incomplete;  // as FrameEnd says
  uint64_t seen = 0, accepted = 0;            // as FrameEnd says
  LossCounts lost;                            // as FrameEnd says
  uint64_t tensors = 0, whole = 0;            // here; whole counts statistics and digests, too
  uint64_t begin_time_ns = 0, end_time_ns = 0, capture_time_ns = 0;
  std::map<std::string, std::string> attributes;

  // FrameEnd is here and says so, and all its accepted tensors are here.
  bool complete() const { return ended && state == FrameState::complete && whole >= accepted; }
  const char* state_name() const;  // "complete", "incomplete", "abandoned", "open" (no FrameEnd)
};

struct GraphNode {
  int index = -1;
  std::string name, op, backend;
  std::vector<std::string> inputs, outputs;
  Visibility visibility = Visibility::visible;
};

struct CapturedGraph {
  uint32_t session = 0;
  std::string model, model_hash;
  uint64_t node_total = 0;       // as declared; nodes.size() of them are here
  std::vector<GraphNode> nodes;  // in execution order
  std::map<std::string, std::string> attributes;

  bool complete() const { return nodes.size() == node_total; }
};

struct LossRange {
  std::optional<uint32_t> tensor_id;  // none: tensors that never got an id
  LossReason reason = LossReason::pool_full;
  uint64_t first_frame = 0, last_frame = 0, count = 0, pool_bytes_needed = 0;
};

struct SessionTensorCounters {
  uint64_t seen = 0, shipped = 0, in_flight = 0;
  LossCounts lost;
};

struct SessionCounters {
  uint64_t stream_seq = 0;
  uint64_t seen = 0, shipped = 0, in_flight = 0;
  LossCounts lost;
  uint64_t frames_begun = 0, frames_ended = 0, raw_bytes = 0, encoded_bytes = 0, pool_peak_bytes = 0,
           spool_peak_bytes = 0;
  std::map<uint32_t, SessionTensorCounters> tensors;  // the last word on each
  bool closing = false;
};

struct LogLine {
  LogLevel level = LogLevel::info;
  std::string text;
  uint64_t log_time = 0;
};

struct ConfigChange {
  uint64_t first_frame = 0, log_time = 0;
  std::string text, origin;
};

struct ClockSync {
  uint64_t session_ns = 0, wall_ns = 0;
};

// Both included.
struct SeqRange {
  uint64_t first = 0, last = 0;
};

// One stream: a connection or a file segment.
struct CaptureStream {
  uint32_t file = 0;
  uint64_t file_offset = 0;
  std::optional<uint32_t> session;  // position in sessions(); none: it does not say
  std::string library;
  std::map<std::string, std::string> metadata;  // the record `libdumphook`
  uint64_t first_stream_seq = 0;                // 0: not known
  uint64_t messages = 0, repeats = 0;
  bool chunked = false;
  bool sealed = false;  // closed by its writer
  bool cut = false;     // ends in mid-record
  uint64_t zero_tail_bytes = 0;
};

struct CaptureSession {
  std::string uuid;  // empty: not known
  std::string board, soc, sdk, build, model_hash, clock;
  std::map<std::string, std::string> attributes;
  uint64_t first_log_time = 0, last_log_time = 0;  // of new messages
  uint64_t first_seq = 0, last_seq = 0;            // of the messages that are here
  std::vector<SeqRange> gaps;                      // between them
  std::map<uint32_t, std::string> tensor_names;    // by tensor_id
  std::map<uint32_t, std::string> tensor_models;
  std::vector<LossRange> losses;
  std::optional<SessionCounters> counters;  // the last
  std::vector<LogLine> log;
  std::vector<ConfigChange> config_changes;
  std::vector<ClockSync> clock_syncs;

  bool begins = false;  // its first stream is here: what the board said before was for nobody

  // Every message from the first to the closing one is here. Otherwise the end, or more, may be missing.
  bool confirmed() const { return counters && counters->closing && (begins || first_seq == 1) && gaps.empty(); }
  LossCounts lost() const;  // by reason, from losses
};

// ---- The capture

// Frames to look at: all, or some.
struct FrameSelection {
  std::vector<SeqRange> ranges;  // empty: all
  bool contains(uint64_t frame) const;
};

struct OpenOptions {
  bool follow = false;  // the files still grow: do not take their ends for cuts; refresh() reads on
};

class CaptureReader;

class Capture {
 public:
  // A file, "-" for standard input, or a folder: all its *.mcap files. An error when nothing in it can be read as a
  // capture.
  static Expected<Capture> open(const std::string& path, const OpenOptions& options = {});
  // Files that belong together: the segments of a session, in any order.
  static Expected<Capture> open(const std::vector<std::string>& paths, const OpenOptions& options = {});
  Capture(Capture&&) noexcept;
  Capture& operator=(Capture&&) noexcept;
  ~Capture();

  // With `follow`: reads what has come since, waiting up to timeout_ms for a pipe. True when there was something. What
  // tensors() and frames() returned before is invalid then.
  Expected<bool> refresh(int timeout_ms = 0);

  const std::vector<std::string>& files() const;
  uint64_t file_bytes() const;
  const std::vector<CaptureSession>& sessions() const;
  const std::vector<CaptureStream>& streams() const;
  // By session, frame and capture_id.
  const std::vector<CapturedTensor>& tensors() const;
  const std::vector<CapturedFrame>& frames() const;  // by session and number
  const std::vector<CapturedGraph>& graphs() const;
  const ProblemList& problems() const;

  // Positions in tensors() of a frame's tensors in execution order: as the model graph has them, tensors that it does
  // not know behind the one captured before them; without a graph, the order of capture.
  std::vector<size_t> execution_order(uint32_t session, uint64_t frame) const;

  // The values. An error when the tensor is not whole, its bytes cannot be read, or its digest does not hold. Any
  // thread.
  Expected<Tensor> load(const CapturedTensor& tensor) const;

 private:
  explicit Capture(std::unique_ptr<CaptureReader> reader);
  std::unique_ptr<CaptureReader> reader_;
};

}  // namespace dumphook
