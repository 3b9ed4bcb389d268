// SPDX-License-Identifier: Apache-2.0
// What the app's threads ask of a session between open and close.
#include <cstdio>
#include <cstring>

#include "session/process.h"
#include "session/session.h"

namespace dumphook {
namespace {

constexpr size_t kMaxConfigBytes = 16384;

}  // namespace

bool Session::wait_for_room(void* self, uint64_t deadline_ns) {
  auto* session = static_cast<Session*>(self);
  const uint64_t now_ns = session->clock_.monotonic_ns();
  if (now_ns >= deadline_ns || session->leaving_.load(std::memory_order_relaxed)) return false;
  if (!session->has_worker_ && session->pump(1000) == DH_OK) return true;
  session->parking_.wake();
  const uint64_t left_ns = deadline_ns - now_ns;
  session->parking_.wait(left_ns < 5 * kMillisecond ? left_ns : 5 * kMillisecond);
  return true;
}

Status Session::capture(dh_tap* tap, dh_frame frame, const dh_tensor& tensor) {
  return hook_.capture(tap, frame, tensor);
}

void Session::apply_pending_selection(uint64_t next_frame) {
  tensors_.lock();
  const bool pending = selection_pending_.exchange(false, std::memory_order_relaxed);
  if (pending && std::strcmp(pending_selection_.triggers, tensors_.selection().triggers) != 0) {
    triggers_changed_.store(true, std::memory_order_release);
  }
  if (pending) tensors_.select_locked(pending_selection_);
  Notice* changes = nullptr;  // oldest first
  while (pending_changes_ != nullptr) {
    Notice* change = pending_changes_;
    pending_changes_ = change->next;
    change->next = changes;
    changes = change;
  }
  tensors_.unlock();
  if (!pending) return;
  __atomic_fetch_add(&dh_epoch, 1u, __ATOMIC_RELEASE);
  while (changes != nullptr) {
    Notice* change = changes;
    changes = change->next;
    change->frame = next_frame;
    reporter_.add_notice(change);
  }
}

dh_frame Session::frame_begin(const dh_frame_info* info) {
  const bool numbered = info != nullptr && info->number_given != 0;
  const uint64_t number = numbered ? info->number : next_frame_.fetch_add(1, std::memory_order_relaxed);
  if (selection_pending_.load(std::memory_order_relaxed)) apply_pending_selection(number);
  uint64_t deadline_ns = 0;
  uint32_t index = frames_.begin(number);
  while (index == FrameTable::kRefused && options_.policy == DH_POLICY_BLOCK) {
    if (deadline_ns == 0) deadline_ns = clock_.monotonic_ns() + options_.block_timeout_ms * kMillisecond;
    if (!wait_for_room(this, deadline_ns)) break;
    index = frames_.begin(number);
  }
  if (index == FrameTable::kRefused) {
    tensors_.lock();
    const bool selected = tensors_.selection().selects_frame(number, frames_selected_);
    tensors_.unlock();
    return selected ? FrameTable::refused_handle(number) : FrameTable::unselected_handle(number);
  }
  FrameSlot& slot = frames_.slot(index);
  slot.capture_time_ns = info != nullptr ? info->capture_time_ns : 0;
  slot.begin_time_ns = clock_.monotonic_ns();
  slot.instance = info != nullptr ? info->instance : 0;
  const char* model = info != nullptr && info->model != nullptr ? info->model : "";
  std::snprintf(slot.model, sizeof slot.model, "%s", model);
  tensors_.lock();
  slot.selected = tensors_.selection().selects_frame(number, frames_selected_);
  slot.byte_limit = tensors_.selection().bytes_per_frame;
  const bool refused = slot.selected && options_.policy == DH_POLICY_DROP_FRAME &&
                       !frames_.fits(pool_.used_bytes(), pool_.capacity_bytes());
  frames_selected_ += slot.selected && !refused ? 1 : 0;
  tensors_.unlock();
  if (refused) {
    frames_.refuse(index);
    parking_.wake();
    return FrameTable::refused_handle(number);
  }
  if (slot.selected) reporter_.count_frame_begun();
  frames_.admit(index);
  parking_.wake();
  return FrameTable::handle(number, index);
}

Status Session::frame_end(dh_frame frame) {
  if ((frame & 0xFF) == FrameTable::kUnselected) return DH_OK;
  if (!frames_.end(frame)) return (frame & 0xFF) == FrameTable::kRefused ? DH_DROPPED : DH_ERR_ARGUMENT;
  parking_.wake();
  return DH_OK;
}

Status Session::configure(const char* text) {
  ErrorText error;
  if (strnlen(text, kMaxConfigBytes + 1) > kMaxConfigBytes) {
    error.fail(DH_ERR_LIMIT, "dh_configure: the text is longer than %zu bytes", kMaxConfigBytes);
    log(DH_LOG_ERROR, error.text);
    return DH_ERR_LIMIT;
  }
  const auto lay_over = [&](Selection* selection) {
    *selection = selection_pending_.load(std::memory_order_relaxed) ? pending_selection_ : tensors_.selection();
    return set_selection_lines(text, selection, &error);
  };
  Selection changed;
  tensors_.lock();
  Status status = lay_over(&changed);
  tensors_.unlock();
  if (status != DH_OK) {
    log(DH_LOG_ERROR, error.text);
    return status;
  }
  Notice* notice = make_change_notice(text);
  if (notice == nullptr)
    log(DH_LOG_WARNING, "dh_configure: no room to record the change in the stream; it holds all the same");
  tensors_.lock();
  status = lay_over(&changed);  // somebody else may have changed something meanwhile
  pending_selection_ = changed;
  selection_pending_.store(true, std::memory_order_relaxed);
  if (notice != nullptr) {
    notice->next = pending_changes_;
    pending_changes_ = notice;
  }
  tensors_.unlock();
  return status;
}

Status Session::event(const char* name) {
  tensors_.lock();
  const bool known = names_event(tensors_.selection().triggers, name);
  if (known) std::snprintf(event_, sizeof event_, "%s", name);
  tensors_.unlock();
  if (!known) return DH_SKIPPED;
  event_raised_.store(true, std::memory_order_release);
  parking_.wake();
  return DH_OK;
}

Status Session::flush(uint32_t timeout_ms) {
  const uint64_t deadline_ns = clock_.monotonic_ns() + timeout_ms * kMillisecond;
  // First all that is in the pool now must be encoded, then all that is in the spool then must have left it. Two rounds,
  // so that one has seen an event that was raised before.
  const uint32_t published = pool_.published();
  const uint32_t round = rounds_.load(std::memory_order_acquire);
  uint64_t encoded_end = ~uint64_t{0};
  for (;;) {
    if (encoded_end == ~uint64_t{0} && rounds_.load(std::memory_order_acquire) - round >= 2 &&
        static_cast<int32_t>(encoded_records_.load(std::memory_order_acquire) - published) >= 0) {
      encoded_end = encoded_end_.load(std::memory_order_relaxed);
    }
    if (encoded_end != ~uint64_t{0} && released_end_.load(std::memory_order_acquire) >= encoded_end) return DH_OK;
    const uint64_t now_ns = clock_.monotonic_ns();
    if (now_ns >= deadline_ns) return DH_TIMEOUT;
    if (leaving_.load(std::memory_order_relaxed)) return DH_ERR_CLOSED;
    flush_asked_.store(true, std::memory_order_relaxed);
    if (!has_worker_ && pump(1000) == DH_OK) continue;
    parking_.wake();
    const uint64_t left_ns = deadline_ns - now_ns;
    parking_.wait(left_ns < 2 * kMillisecond ? left_ns : 2 * kMillisecond);
  }
}

Status Session::pump(uint32_t budget_us) {
  if (has_worker_ || working_.exchange(true, std::memory_order_acquire)) return DH_SKIPPED;
  const WriteSignalsHeldBack held_back;
  const uint64_t until_ns = clock_.monotonic_ns() + uint64_t{budget_us} * 1000;
  bool progressed = work();
  const bool any = progressed;
  while (progressed && clock_.monotonic_ns() < until_ns) progressed = work();
  working_.store(false, std::memory_order_release);
  return any ? DH_OK : DH_SKIPPED;
}

Status Session::counters(dh_counter_values* values) {
  const Totals totals = read_totals(tensors_);
  dh_counter_values all = {};
  all.struct_size = values->struct_size;
  all.acknowledged = acknowledged_.load(std::memory_order_relaxed) ? 1 : 0;
  all.seen = totals.seen;
  all.shipped = totals.shipped;
  all.in_flight = totals.in_flight;
  for (uint32_t i = 0; i < DH_LOSS_REASON_COUNT; ++i) all.lost[i] = totals.lost[i];
  all.frames_begun = reporter_.frames_begun();
  all.frames_ended = reporter_.frames_ended();
  all.raw_bytes = encoder_.raw_bytes();
  all.encoded_bytes = encoder_.encoded_bytes();
  all.pool_peak_bytes = pool_.peak_bytes();
  all.spool_peak_bytes = spool_.peak_bytes();
  std::memcpy(values, &all, values->struct_size < sizeof all ? values->struct_size : sizeof all);
  return DH_OK;
}

}  // namespace dumphook
