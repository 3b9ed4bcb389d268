// SPDX-License-Identifier: Apache-2.0
// Session: wires the stages and owns their lifecycle. hook -> pool -> encoder -> spool -> sink, plus the worker that
// drives all but the first. session.cpp is the board path on one page.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "capture/frame_table.h"
#include "capture/hook.h"
#include "capture/tensor_table.h"
#include "control/options.h"
#include "dumphook/dumphook.h"
#include "encode/encoder.h"
#include "encode/reporter.h"
#include "encode/stream_state.h"
#include "pool/pool.h"
#include "session/handle.h"
#include "session/parking.h"
#include "sink/make_sink.h"
#include "spool/spool.h"

namespace dumphook {

class Session {
 public:
  // Bytes for `options` (finished), told apart in `plan`.
  static uint64_t required_bytes(const dh_options& options, dh_memory_plan* plan);
  static Status open(const dh_options& options, const char* const* environment, ErrorText* error, Session** session);
  // `handle` is closed. Frees the session and gives the handle back, unless a call is inside that does not come back.
  Status close(Handle* handle);

  Status capture(dh_tap* tap, dh_frame frame, const dh_tensor& tensor);
  dh_frame frame_begin(const dh_frame_info* info);
  Status frame_end(dh_frame frame);
  Status declare_model(const dh_model& model);
  Status set_attribute(const dh_attr_target& target, const char* key, const char* value);
  Status configure(const char* text);
  Status flush(uint32_t timeout_ms);
  Status pump(uint32_t budget_us);
  Status counters(dh_counter_values* values);
  Status event(const char* name);

  // False in a forked child: the session belongs to the parent.
  bool alive() const;
  void log(dh_log_level level, const char* text);

 private:
  explicit Session(const dh_options& options) : options_(options) {}
  Session(const Session&) = delete;

  bool carve(Arena& arena, dh_memory_plan* plan);
  Status start(const char* const* environment, ErrorText* error);
  Status start_worker(ErrorText* error);
  static void* run_worker(void* session);
  static bool wait_for_room(void* session, uint64_t deadline_ns);

  // --- the worker, or whoever pumps -------------------------------------------------------------------------------
  bool work();  // one round; false when there was nothing to do
  bool encode_round(uint64_t now_ns);
  void free_shipped();
  void take_back(const SegmentShare& share);
  void note(const char* text);
  void say_note();
  void drop_all(dh_loss_reason reason);
  void watch_triggers();
  bool discarding() const;
  void park(uint64_t deadline_ns);  // 0: until asked to close
  void drain_and_seal();
  bool wait_until_empty(const Handle& handle);
  void release_memory();
  dh_loss_reason reason_for_the_rest() const;
  void report_unmatched();

  void apply_pending_selection(uint64_t next_frame);
  // In memory that stays, texts copied; NULL when that is used up.
  Notice* make_attribute_notice(const char* key, const char* value);
  Notice* make_change_notice(const char* text);
  Status add_graph_message(const GraphView& view, size_t max_bytes);
  struct DeclaredModel;
  Status add_late_model_attribute(const DeclaredModel& model, const AttributeView& attribute);

  dh_options options_;
  Clock clock_ = Clock::system();
  uint8_t* memory_ = nullptr;
  size_t memory_bytes_ = 0;
  bool own_memory_ = false;
  uint32_t fork_count_ = 0;  // at open

  Arena names_{Bytes()};    // strings of the app's threads, under the tensor table's lock
  Arena strings_{Bytes()};  // strings of the worker
  Pool pool_;
  TensorTable tensors_;
  FrameTable frames_;
  Hook hook_;
  Spool spool_;
  Spool ring_;  // of frames that wait for a trigger
  StreamState state_;
  Emitter emitter_;
  TriggerGate gate_;
  Encoder encoder_;
  Reporter reporter_;
  SinkHolder sink_;
  SinkStep last_step_;
  bool sink_was_open_ = false;
  char note_[512] = {};

  std::atomic<uint64_t> next_frame_{0};
  // Under the tensor table's lock.
  uint64_t frames_selected_ = 0;
  Selection pending_selection_;
  Notice* pending_changes_ = nullptr;  // newest first
  Notice* spare_changes_ = nullptr;
  uint32_t change_count_ = 0;
  struct ModelAttribute {
    const char* model;
    const char* key;
    const char* value;
    ModelAttribute* next;
  };
  ModelAttribute* model_attributes_ = nullptr;
  struct DeclaredModel {
    const char* name;
    uint32_t node_count;
    DeclaredModel* next;
  };
  DeclaredModel* declared_models_ = nullptr;
  uint32_t graph_messages_ = 0;
  std::atomic<uint32_t> selection_pending_{false};
  char event_[Trigger::kTextBytes] = {};  // raised last, under the tensor table's lock
  std::atomic<uint32_t> event_raised_{false};
  std::atomic<uint32_t> triggers_changed_{false};

  Parking parking_;
  pthread_t worker_ = {};
  bool has_worker_ = false;
  std::atomic<uint32_t> leaving_{false};  // who waits inside a call gives up
  std::atomic<uint32_t> closing_{false};
  std::atomic<uint32_t> flush_asked_{false};
  // For flush: what was taken from the pool, where the spool ended then, and what has left it.
  std::atomic<uint32_t> rounds_{0};  // of the worker, after which nothing was on its way from the ring to the spool
  std::atomic<uint32_t> encoded_records_{0};
  std::atomic<uint64_t> encoded_end_{0};
  std::atomic<uint64_t> released_end_{0};
  std::atomic<uint32_t> acknowledged_{false};  // as the sink last said
  std::atomic<uint32_t> working_{false};       // somebody is inside work()
};

}  // namespace dumphook
