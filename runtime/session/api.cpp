// SPDX-License-Identifier: Apache-2.0
// The C ABI: NULL-safe shells around Session. Contracts are in dumphook.h.
#include <cstdio>
#include <cstring>

#include "base/version.h"
#include "session/handle.h"
#include "session/session.h"

extern char** environ;

uint32_t dh_epoch = 1;

namespace {

using dumphook::Call;
using dumphook::ErrorText;
using dumphook::Handle;
using dumphook::Options;
using dumphook::Session;

void tell(const dh_options& options, const ErrorText& error) {
  if (options.on_log != nullptr && error.text[0] != '\0') options.on_log(options.on_log_user, DH_LOG_ERROR, error.text);
}

// The memory plan as a table: one line in the log for each part that takes anything.
void tell(const dh_options& options, const dh_memory_plan& plan) {
  if (options.on_log == nullptr) return;
  static constexpr struct {
    uint64_t dh_memory_plan::*bytes;
    const char* what;
  } kRows[] = {
      {&dh_memory_plan::raw_pool_bytes, "raw pool: tensors that wait for the worker, and what is known of them"},
      {&dh_memory_plan::spool_bytes, "spool: encoded, not yet shipped"},
      {&dh_memory_plan::pretrigger_bytes, "pre-trigger ring: frames that wait for a trigger"},
      {&dh_memory_plan::descriptor_bytes, "descriptors: names, attributes, model graphs"},
      {&dh_memory_plan::table_bytes, "tables: tensors with their counters, frames, the session"},
      {&dh_memory_plan::index_bytes, "index of a file segment, and what its sink writes with"},
      {&dh_memory_plan::scratch_bytes, "scratch: one part, and the codec's state"},
      {&dh_memory_plan::total_bytes, "in all"}};
  char line[128];
  for (const auto& row : kRows) {
    std::snprintf(line, sizeof line, "%12llu  %s", static_cast<unsigned long long>(plan.*row.bytes), row.what);
    if (plan.*row.bytes != 0) options.on_log(options.on_log_user, DH_LOG_INFO, line);
  }
}

dh_status take_over(const dh_options& from, Options* options, ErrorText* error) {
  const dh_status status = options->assign(from, error);
  const char* file = options->get().config_file;
  return status == DH_OK && file != nullptr ? options->read_file(file, error) : status;
}

dh_status open_with(Options& options, const char* const* environment, dh_session** session) {
  ErrorText error;
  Handle* handle = Handle::take();
  Session* opened = nullptr;
  dh_status status = options.finish(&error);
  if (status == DH_OK && handle == nullptr) {
    status = error.fail(DH_ERR_LIMIT, "%u sessions are open, the most there may be", Handle::kMaxSessions);
  }
  if (status == DH_OK) status = Session::open(options.get(), environment, &error, &opened);
  if (status == DH_OK) {
    handle->open(opened);
    *session = handle->as_session();
    return DH_OK;
  }
  if (handle != nullptr) handle->give_back();
  tell(options.get(), error);
  return status;
}

}  // namespace

extern "C" {

DH_API uint64_t dh_required_bytes(const dh_options* from, dh_memory_plan* plan) {
  if (from == nullptr || (plan != nullptr && plan->struct_size < 2 * sizeof(uint32_t))) return 0;
  Options options;
  ErrorText error;
  dh_status status = take_over(*from, &options, &error);
  if (status == DH_OK) status = options.finish(&error);
  if (status != DH_OK) {
    tell(options.get(), error);
    return 0;
  }
  dh_memory_plan whole = {};
  whole.struct_size = sizeof whole;
  const uint64_t bytes = Session::required_bytes(options.get(), &whole);
  if (bytes != 0) tell(options.get(), whole);
  if (plan != nullptr) {
    whole.struct_size = plan->struct_size;
    std::memcpy(plan, &whole, plan->struct_size < sizeof whole ? plan->struct_size : sizeof whole);
  }
  return bytes;
}

DH_API dh_status dh_open(const dh_options* from, dh_session** session) {
  if (session == nullptr) return DH_ERR_ARGUMENT;
  *session = nullptr;
  if (from == nullptr) return DH_ERR_ARGUMENT;
  Options options;
  ErrorText error;
  dh_status status = take_over(*from, &options, &error);
  if (status == DH_OK && dumphook::text_length(options.get().sink) == 0) {
    status = error.fail(DH_ERR_OPTION, "no sink: say where the capture goes, e.g. \"file:run.mcap\"");
  }
  if (status == DH_OK) return open_with(options, nullptr, session);
  tell(options.get(), error);
  return status;
}

DH_API dh_status dh_open_from_env(const dh_options* from, dh_session** session) {
  if (session == nullptr) return DH_ERR_ARGUMENT;
  *session = nullptr;
  const dh_options defaults = dh_options_default();
  Options options;
  ErrorText error;
  dh_status status = take_over(from == nullptr ? defaults : *from, &options, &error);
  if (status == DH_OK) status = options.read_environment(environ, &error);
  if (status != DH_OK) {
    tell(options.get(), error);
    return status;
  }
  if (dumphook::text_length(options.get().sink) == 0) return DH_SKIPPED;
  return open_with(options, environ, session);
}

DH_API dh_status dh_flush(dh_session* session, uint32_t timeout_ms) {
  if (session == nullptr) return DH_SKIPPED;
  const Call call(session);
  return call.session() == nullptr ? DH_ERR_CLOSED : call.session()->flush(timeout_ms);
}

DH_API dh_status dh_close(dh_session* session) {
  if (session == nullptr) return DH_SKIPPED;
  Handle* handle = Handle::of(session);
  Session* closing = handle == nullptr ? nullptr : handle->close();
  if (closing == nullptr) return DH_ERR_CLOSED;
  return closing->close(handle);
}

DH_API dh_status dh_configure(dh_session* session, const char* text) {
  if (session == nullptr) return DH_SKIPPED;
  if (text == nullptr) return DH_ERR_ARGUMENT;
  const Call call(session);
  return call.session() == nullptr ? DH_ERR_CLOSED : call.session()->configure(text);
}

DH_API dh_status dh_pump(dh_session* session, uint32_t budget_us) {
  const Call call(session);
  return call.session() == nullptr ? DH_SKIPPED : call.session()->pump(budget_us);
}

DH_API dh_status dh_declare_model(dh_session* session, const dh_model* model) {
  const Call call(session);
  if (call.session() == nullptr) return DH_SKIPPED;
  return model == nullptr ? DH_ERR_ARGUMENT : call.session()->declare_model(*model);
}

DH_API dh_status dh_attr(dh_session* session, const dh_attr_target* target, const char* key, const char* value) {
  const Call call(session);
  if (call.session() == nullptr) return DH_SKIPPED;
  const dh_attr_target whole_session = dh_attr_target_default();
  return call.session()->set_attribute(target == nullptr ? whole_session : *target, key, value);
}

DH_API dh_frame dh_frame_begin(dh_session* session, const dh_frame_info* info) {
  const Call call(session);
  if (call.session() == nullptr) return 0;
  if (info != nullptr && info->struct_size < sizeof(dh_frame_info)) info = nullptr;
  return call.session()->frame_begin(info);
}

DH_API dh_status dh_capture(dh_session* session, dh_tap* tap, dh_frame frame, const dh_tensor* tensor) {
  const Call call(session);
  if (call.session() == nullptr) {
    // Off until a session opens.
    if (tap != nullptr) {
      __atomic_store_n(&tap->off_epoch, __atomic_load_n(&dh_epoch, __ATOMIC_ACQUIRE), __ATOMIC_RELAXED);
    }
    return DH_SKIPPED;
  }
  return tensor == nullptr ? DH_ERR_ARGUMENT : call.session()->capture(tap, frame, *tensor);
}

DH_API dh_status dh_capture_by_name(dh_session* session, dh_frame frame, const dh_tensor* tensor) {
  const Call call(session);
  if (call.session() == nullptr) return DH_SKIPPED;
  return tensor == nullptr ? DH_ERR_ARGUMENT : call.session()->capture(nullptr, frame, *tensor);
}

DH_API dh_status dh_frame_end(dh_session* session, dh_frame frame) {
  const Call call(session);
  return call.session() == nullptr || frame == 0 ? DH_SKIPPED : call.session()->frame_end(frame);
}

DH_API dh_status dh_event(dh_session* session, const char* name) {
  const Call call(session);
  if (call.session() == nullptr) return DH_SKIPPED;
  return name == nullptr ? DH_ERR_ARGUMENT : call.session()->event(name);
}

DH_API dh_status dh_counters(dh_session* session, dh_counter_values* values) {
  if (values == nullptr || values->struct_size < 2 * sizeof(uint32_t)) return DH_ERR_ARGUMENT;
  std::memset(&values->acknowledged, 0, values->struct_size - sizeof(uint32_t));
  const Call call(session);
  return call.session() == nullptr ? DH_SKIPPED : call.session()->counters(values);
}

DH_API dh_status dh_serve(dh_session* session, const dh_serve_options* options) {
  const Call call(session);
  if (call.session() == nullptr) return DH_SKIPPED;
  return options == nullptr ? DH_ERR_ARGUMENT : DH_ERR_UNSUPPORTED;
}

DH_API dh_status dh_adopt_dir(dh_session* session, const dh_adopt_options* options) {
  const Call call(session);
  if (call.session() == nullptr) return DH_SKIPPED;
  return options == nullptr ? DH_ERR_ARGUMENT : DH_ERR_UNSUPPORTED;
}

DH_API const char* dh_status_text(dh_status status) {
  static const char* const kTexts[] = {"error: closed",
                                       "error: not in this build",
                                       "error: limit",
                                       "error: security",
                                       "error: address",
                                       "error: sink",
                                       "error: thread",
                                       "error: memory",
                                       "error: the tensor contradicts itself",
                                       "error: option",
                                       "error: argument",
                                       "ok",
                                       "skipped: nothing to do",
                                       "dropped: counted as lost",
                                       "timeout"};
  const auto index = static_cast<unsigned>(status - DH_ERR_CLOSED);
  return index < sizeof kTexts / sizeof *kTexts ? kTexts[index] : "unknown status";
}

DH_API const char* dh_loss_reason_text(dh_loss_reason reason) {
  static const char* const kTexts[DH_LOSS_REASON_COUNT] = {
      "pool_full",  "too_big",       "too_many_tensors", "no_descriptor_room", "frame_refused", "degraded",
      "sink_error", "not_connected", "quota_removed",    "not_triggered",      "abandoned",     "closed"};
  const auto index = static_cast<unsigned>(reason);
  return index < DH_LOSS_REASON_COUNT ? kTexts[index] : "unknown";
}

DH_API const char* dh_version(void) { return dumphook::kVersionText; }

}  // extern "C"
