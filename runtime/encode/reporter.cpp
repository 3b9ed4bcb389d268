// SPDX-License-Identifier: Apache-2.0
#include "encode/reporter.h"

#include <cstdio>
#include <cstring>

#include "wire/messages.h"

namespace dumphook {
namespace {

constexpr uint64_t kReportIntervalNs = 1000000000;
constexpr uint64_t kClockJumpNs = 50000000;
constexpr uint32_t kBatch = 64;
constexpr size_t kBatchBytes = 32768;  // of 64 ranges, or 64 tensors' counters

}  // namespace

Totals read_totals(TensorTable& tensors) {
  Totals totals;
  const uint32_t count = tensors.count();
  for (uint32_t i = 0; i <= count; ++i) {
    TensorEntry& entry = i == count ? tensors.nobody() : tensors.entry(i);
    uint64_t lost[DH_LOSS_REASON_COUNT];
    totals.shipped += entry.read_outcomes(lost);
    for (uint32_t reason = 0; reason < DH_LOSS_REASON_COUNT; ++reason) totals.lost[reason] += lost[reason];
  }
  for (uint32_t i = 0; i <= count; ++i) {
    TensorEntry& entry = i == count ? tensors.nobody() : tensors.entry(i);
    totals.seen += entry.seen.load(std::memory_order_relaxed);
  }
  totals.in_flight = totals.seen - totals.shipped;
  for (const uint64_t lost : totals.lost) totals.in_flight -= lost;
  return totals;
}

void Reporter::open(TensorTable* tensors, FrameTable* frames, Pool* pool, Spool* spool, StreamState* state,
                    Emitter* emitter, Encoder* encoder, TriggerGate* gate, const Clock& clock) {
  tensors_ = tensors;
  frames_ = frames;
  pool_ = pool;
  spool_ = spool;
  state_ = state;
  emitter_ = emitter;
  encoder_ = encoder;
  gate_ = gate;
  clock_ = clock;
}

namespace {

void push(std::atomic<Notice*>* list, Notice* notice) {
  notice->next = list->load(std::memory_order_relaxed);
  while (!list->compare_exchange_weak(notice->next, notice, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

void Reporter::add_notice(Notice* notice) { push(&notices_, notice); }

Step Reporter::end_frame(uint32_t index) {
  FrameSlot& slot = frames_->slot(index);
  if (!slot.selected) {
    frames_->retire(index);
    return Step::progressed;
  }
  if (!encoder_->begin_frame(slot)) return Step::blocked;
  if (gate_->hides(slot)) {
    frames_ended_.fetch_add(1, std::memory_order_relaxed);
    frames_->retire(index);
    return Step::progressed;
  }
  constexpr size_t kMaxBytes = 2048;
  if (!gate_->prepare(slot, kMaxBytes)) return Step::blocked;
  FrameEndView view;
  uint64_t lost[DH_LOSS_REASON_COUNT];
  uint64_t lost_sum = 0;
  for (uint32_t reason = 0; reason < DH_LOSS_REASON_COUNT; ++reason) {
    lost[reason] = slot.lost[reason].load(std::memory_order_relaxed);
    lost_sum += lost[reason];
  }
  const bool abandoned = FrameTable::phase(slot.gate.state()) == FramePhase::abandoned;
  view.frame = slot.number;
  view.state = abandoned ? kFrameAbandoned : lost_sum != 0 ? kFrameIncomplete : kFrameComplete;
  view.seen = slot.seen.load(std::memory_order_relaxed);
  view.accepted = slot.accepted.load(std::memory_order_relaxed);
  view.lost = {lost, DH_LOSS_REASON_COUNT};
  view.end_time_ns = emitter_->session_ns();
  AttributeView attributes[FrameSlot::kMaxAttributes];
  const uint32_t attribute_count = slot.attribute_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < attribute_count; ++i) attributes[i] = {slot.attributes[i].key, slot.attributes[i].value};
  view.attributes = {attributes, attribute_count};
  SpoolEntry message;
  message.channel_id = kFrameEndChannel.channel;
  message.frame_end = true;
  if (!gate_->emit(slot, message, kMaxBytes, 0,
                   [&view](Bytes out, uint64_t seq) { return write_frame_end(out, seq, view); })) {
    return Step::blocked;
  }
  losses_due_ |= lost_sum != 0;
  frames_ended_.fetch_add(1, std::memory_order_relaxed);
  frames_->retire(index);
  return Step::progressed;
}

void Reporter::discard_frames() {
  for (;;) {
    const uint32_t index = frames_->next_finished();
    if (index == FrameTable::kRefused) return;
    frames_ended_.fetch_add(frames_->slot(index).selected ? 1 : 0, std::memory_order_relaxed);
    frames_->retire(index);
  }
}

void Reporter::start_over() {
  const uint32_t tensors = tensors_->count();
  for (uint32_t i = 0; i <= tensors; ++i) {
    TensorEntry& entry = i == tensors ? tensors_->nobody() : tensors_->entry(i);
    for (LossCell& cell : entry.lost) cell.retell();
  }
  reported_seen_ = ~uint64_t{0};
  clock_said_ = false;
  next_report_ns_ = 0;
}

Step Reporter::say_notice() {
  if (pending_ == nullptr) {
    Notice* taken = notices_.exchange(nullptr, std::memory_order_acquire);
    while (taken != nullptr) {
      Notice* next = taken->next;
      taken->next = pending_;
      pending_ = taken;
      taken = next;
    }
  }
  if (pending_ == nullptr) return Step::idle;
  Notice& notice = *pending_;
  bool emitted = false;
  if (notice.kind == Notice::Kind::graph) {
    const Bytes message(notice.message, notice.message_bytes);
    emitted = emitter_->emit(kModelGraphChannel, message.size, [this, message](Bytes out, uint64_t seq) {
      if (!set_stream_seq(message, seq) || !state_->add_graph(message)) return size_t{0};
      std::memcpy(out.data, message.data, message.size);
      return message.size;
    });
  } else {
    // The Metadata of later streams has the attribute; for this one, which may have begun, it is a change like others.
    char attribute[StreamState::kMaxAttributeKeyBytes + StreamState::kMaxAttributeValueBytes + 16];
    if (notice.kind == Notice::Kind::attribute) {
      state_->add_attribute(notice.key, notice.value);
      std::snprintf(attribute, sizeof attribute, "attr.%s = %s", notice.key, notice.value);
    }
    ConfigChangeView view;
    view.first_frame = notice.frame;
    view.text = notice.kind == Notice::Kind::attribute ? attribute : notice.value;
    view.origin = "app";
    emitted = emitter_->emit(kConfigChangeChannel, text_length(view.text) + 256,
                             [&view](Bytes out, uint64_t seq) { return write_config_change(out, seq, view); });
  }
  if (!emitted) return Step::blocked;
  pending_ = notice.next;
  if (notice.kind == Notice::Kind::config_change) push(&spent_, &notice);
  return Step::progressed;
}

// A tensor of which nothing was ever shipped has its name in its channel only.
Step Reporter::declare_lost_tensors() {
  const uint32_t tensors = tensors_->count();
  for (uint32_t i = 0; i < tensors; ++i) {
    TensorEntry& entry = tensors_->entry(i);
    if (state_->has_channel(entry.tensor_id) || !entry.has_untold_loss()) continue;
    Step step = Step::idle;
    if (encoder_->declare(entry, &step)) return Step::progressed;
    if (step == Step::blocked) return step;
  }
  return Step::idle;
}

Step Reporter::say_losses() {
  const Step declared = declare_lost_tensors();
  if (declared != Step::idle) return declared;
  LossRangeView ranges[kBatch];
  uint32_t count = 0;
  if (spool_->reserve(kMessageHeaderBytes + kBatchBytes).data == nullptr) return Step::blocked;
  const uint32_t tensors = tensors_->count();
  for (uint32_t i = 0; i <= tensors && count < kBatch; ++i) {
    TensorEntry& entry = i == tensors ? tensors_->nobody() : tensors_->entry(i);
    for (uint32_t reason = 0; reason < DH_LOSS_REASON_COUNT && count < kBatch; ++reason) {
      const LossCell::Range lost = entry.lost[reason].take();
      if (lost.count == 0) continue;
      LossRangeView& range = ranges[count++];
      range.tensor_id = entry.tensor_id;
      range.reason = static_cast<uint8_t>(reason);
      range.first_frame = lost.first_frame;
      range.last_frame = lost.last_frame;
      range.count = lost.count;
      range.pool_bytes_needed = reason == DH_LOSS_TOO_BIG ? entry.too_big_bytes.load(std::memory_order_relaxed) : 0;
    }
  }
  if (count == 0) return Step::idle;
  const Span<const LossRangeView> said(ranges, count);
  emitter_->emit(kLossChannel, kBatchBytes, [said](Bytes out, uint64_t seq) { return write_loss(out, seq, said); });
  return Step::progressed;
}

Step Reporter::say_counters(bool closing) {
  const Totals totals = read_totals(*tensors_);
  CountersView view;
  view.seen = totals.seen;
  view.shipped = totals.shipped;
  view.in_flight = totals.in_flight;
  view.lost = {totals.lost, DH_LOSS_REASON_COUNT};
  view.frames_begun = frames_begun();
  view.frames_ended = frames_ended();
  view.raw_bytes = encoder_->raw_bytes();
  view.encoded_bytes = encoder_->encoded_bytes();
  view.pool_peak_bytes = pool_->peak_bytes();
  view.spool_peak_bytes = spool_->peak_bytes();
  TensorCountersView tensors[kBatch];
  uint64_t lost[kBatch][DH_LOSS_REASON_COUNT];
  uint32_t count = 0;
  uint32_t next = closing_tensor_;
  for (; closing && next < tensors_->count() && count < kBatch; ++next) {
    TensorEntry& entry = tensors_->entry(next);
    TensorCountersView& tensor = tensors[count];
    tensor.tensor_id = entry.tensor_id;
    tensor.shipped = entry.read_outcomes(lost[count]);
    uint64_t gone = tensor.shipped;
    for (const uint64_t one : lost[count]) gone += one;
    tensor.seen = entry.seen.load(std::memory_order_relaxed);
    if (tensor.seen == 0) continue;
    tensor.in_flight = tensor.seen - gone;
    tensor.lost = {lost[count], DH_LOSS_REASON_COUNT};
    ++count;
  }
  view.tensors = {tensors, count};
  view.closing = closing && next >= tensors_->count();
  if (!emitter_->emit(kCountersChannel, kBatchBytes, [this, &view](Bytes out, uint64_t seq) {
        const size_t bytes = write_counters(out, seq, view);
        if (view.tensors.empty()) state_->keep_counters({out.data, bytes});
        return bytes;
      })) {
    return Step::blocked;
  }
  reported_seen_ = totals.seen;
  closing_tensor_ = next;
  closing_done_ = closing && next >= tensors_->count();
  return Step::progressed;
}

Step Reporter::say_clock(uint64_t now_ns) {
  const uint64_t offset = clock_.wall_ns() - now_ns;
  const uint64_t moved = offset > clock_offset_ns_ ? offset - clock_offset_ns_ : clock_offset_ns_ - offset;
  if (clock_said_ && moved < kClockJumpNs) return Step::idle;
  ClockSyncView view;
  view.session_ns = emitter_->session_ns(now_ns);
  view.wall_ns = now_ns + offset;
  if (!emitter_->emit(kClockSyncChannel, 128,
                      [&view](Bytes out, uint64_t seq) { return write_clock_sync(out, seq, view); })) {
    return Step::blocked;
  }
  clock_offset_ns_ = offset;
  clock_said_ = true;
  return Step::progressed;
}

bool Reporter::log(dh_log_level level, const char* text) {
  LogView view;
  view.level = static_cast<uint8_t>(level);
  view.text = text;
  return emitter_->emit(kLogChannel, text_length(text) + 128,
                        [&view](Bytes out, uint64_t seq) { return write_log(out, seq, view); });
}

Step Reporter::step(uint64_t now_ns) {
  const Step notice = say_notice();
  if (notice != Step::idle) return notice;
  const uint32_t finished = frames_->next_finished();
  if (finished != FrameTable::kRefused) return end_frame(finished);
  if (losses_due_) {
    const Step losses = say_losses();
    if (losses != Step::idle) return losses;
    losses_due_ = false;
  }
  if (now_ns < next_report_ns_) return Step::idle;
  const Step clock = say_clock(now_ns);
  if (clock != Step::idle) return clock;
  const Step losses = say_losses();
  if (losses != Step::idle) return losses;
  next_report_ns_ = now_ns + kReportIntervalNs;
  return read_totals(*tensors_).seen == reported_seen_ ? Step::idle : say_counters(false);
}

Step Reporter::close_step(uint64_t now_ns) {
  (void)now_ns;
  const Step losses = say_losses();
  if (losses == Step::progressed) {
    closing_done_ = false;  // a segment was removed since
    closing_tensor_ = 0;
  }
  return losses != Step::idle ? losses : closing_done_ ? Step::idle : say_counters(true);
}

}  // namespace dumphook
