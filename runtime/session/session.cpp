// SPDX-License-Identifier: Apache-2.0
// The board path on one page: what the worker does with what the hooks left in the pool, from open to close.
#include "session/session.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "session/process.h"

namespace dumphook {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kWorkerStackBytes = 512 * 1024;
constexpr uint64_t kGoodbyeNs = 1000 * kMillisecond;  // at most, of close_ms
// While a frame is open hooks publish without waking the worker, so it looks by itself this often.
constexpr uint64_t kOpenFramePollNs = kMillisecond;
constexpr uint64_t kIdlePollNs = 200 * kMillisecond;
constexpr uint64_t kLeastPatienceNs = 2000 * kMillisecond;  // with calls that are inside at close, whatever close_ms is
constexpr int kPartsPerRound = 16;
constexpr uint32_t kMostNotes = 256;  // tensors waiting for the worker without their bytes

std::atomic<uint32_t> next_serial{1};

uint16_t take_serial() {
  for (;;) {
    const auto serial = static_cast<uint16_t>(next_serial.fetch_add(1, std::memory_order_relaxed));
    if (serial != 0) return serial;
  }
}

UuidValue random_uuid() {
  UuidValue uuid;
  if (getrandom(&uuid, sizeof uuid, 0) != static_cast<ssize_t>(sizeof uuid)) {
    const Clock clock = Clock::system();
    uuid.high = clock.wall_ns();
    uuid.low = clock.monotonic_ns() ^ static_cast<uint64_t>(getpid()) << 32;
  }
  return uuid;
}

size_t round_to_page(size_t bytes) { return align_up(bytes, kPageBytes); }

}  // namespace

// ---------------------------------------------------------------------------------------------------------- memory

// One function carves the block and, on an arena that only measures, tells how large it must be.
bool Session::carve(Arena& arena, dh_memory_plan* plan) {
  dh_memory_plan parts = {};
  size_t mark = arena.used_bytes();
  const auto account = [&arena, &mark](uint64_t* part) {
    *part += arena.used_bytes() - mark;
    mark = arena.used_bytes();
  };
  pool_.open(arena, options_.raw_pool_bytes, options_.block_bytes,
             options_.max_tensors < kMostNotes ? options_.max_tensors : kMostNotes);
  account(&parts.raw_pool_bytes);

  auto* spool_memory = static_cast<uint8_t*>(arena.take(static_cast<size_t>(options_.spool_bytes), 64));
  account(&parts.spool_bytes);
  uint8_t* ring_memory = nullptr;
  if (options_.pretrigger_bytes != 0) {
    ring_memory = static_cast<uint8_t*>(arena.take(static_cast<size_t>(options_.pretrigger_bytes), 64));
  }
  account(&parts.pretrigger_bytes);

  const auto half = static_cast<size_t>(options_.descriptor_bytes / 2);
  auto* names_memory = static_cast<uint8_t*>(arena.take(half, 64));
  auto* strings_memory = static_cast<uint8_t*>(arena.take(half, 64));
  account(&parts.descriptor_bytes);

  tensors_.open(arena, &names_, options_.max_tensors);
  frames_.open(arena, options_.max_open_frames);
  state_.open(arena, options_.max_tensors, &strings_);
  account(&parts.table_bytes);

  sink_.carve(arena, options_);
  account(&parts.index_bytes);

  EncoderOptions encoding;
  encoding.part_bytes = options_.part_bytes;
  encoding.compress = (options_.flags & DH_FLAG_NO_COMPRESSION) == 0;
  encoding.digest = (options_.flags & DH_FLAG_DIGEST) != 0;
  encoder_.open(encoding, arena, &pool_, &tensors_, &frames_, &spool_, &state_, &emitter_, &gate_);
  account(&parts.scratch_bytes);

  if (plan != nullptr) {
    parts.struct_size = plan->struct_size;
    *plan = parts;
  }
  if (arena.is_measuring() || !arena.ok()) return arena.ok();
  names_ = Arena(Bytes(names_memory, half));
  strings_ = Arena(Bytes(strings_memory, half));
  spool_.open(spool_memory, static_cast<size_t>(options_.spool_bytes));
  ring_.open(ring_memory, static_cast<size_t>(options_.pretrigger_bytes));
  return true;
}

uint64_t Session::required_bytes(const dh_options& options, dh_memory_plan* plan) {
  // Stages that only measure themselves. Not on the stack: the app's thread may have a small one.
  void* storage = mmap(nullptr, sizeof(Session), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (storage == MAP_FAILED) return 0;
  Arena arena = Arena::measuring();
  arena.take(sizeof(Session), 64);
  dh_memory_plan parts = {};
  const bool measured = (::new (storage) Session(options))->carve(arena, &parts);
  munmap(storage, sizeof(Session));
  if (!measured) return 0;
  const size_t carved = arena.used_bytes();
  const uint64_t total = round_to_page(carved);  // the session itself, too
  parts.table_bytes += total - (parts.raw_pool_bytes + parts.spool_bytes + parts.pretrigger_bytes +
                                parts.descriptor_bytes + parts.table_bytes + parts.index_bytes + parts.scratch_bytes);
  parts.total_bytes = total;
  if (plan != nullptr) {
    parts.struct_size = sizeof parts;
    *plan = parts;
  }
  return total;
}

bool Session::alive() const { return fork_count_ == fork_count(); }

void Session::release_memory() {
  if (own_memory_) munmap(memory_, memory_bytes_);
}

// ---------------------------------------------------------------------------------------------------------- open

Status Session::open(const dh_options& options, const char* const* environment, ErrorText* error, Session** out) {
  const uint64_t total = required_bytes(options, nullptr);
  if (total == 0 || total > SIZE_MAX / 2)
    return error->fail(DH_ERR_MEMORY, "the budget does not fit the address space");
  const auto carved = static_cast<size_t>(total);
  if (!watch_forks()) return error->fail(DH_ERR_MEMORY, "no memory to watch for forks");
  void* memory = options.memory;
  if (memory != nullptr) {
    if (options.memory_bytes < total || reinterpret_cast<uintptr_t>(memory) % 64 != 0) {
      return error->fail(DH_ERR_MEMORY, "`memory` must be 64-byte aligned and have %llu bytes (dh_required_bytes)",
                         static_cast<unsigned long long>(total));
    }
  } else {
    memory = mmap(nullptr, carved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
      return error->fail(DH_ERR_MEMORY, "%llu bytes (dh_required_bytes): %s", static_cast<unsigned long long>(total),
                         std::strerror(errno));
    }
  }
  // Touched here rather than in the first frames; MAP_POPULATE may have been ignored.
  for (size_t at = 0; at < carved; at += kPageBytes) static_cast<volatile uint8_t*>(memory)[at] = 0;

  Arena arena{Bytes(static_cast<uint8_t*>(memory), carved)};
  Session* session = ::new (arena.take(sizeof(Session), 64)) Session(options);
  session->memory_ = static_cast<uint8_t*>(memory);
  session->memory_bytes_ = carved;
  session->own_memory_ = options.memory == nullptr;
  session->fork_count_ = fork_count();
  if (!session->carve(arena, nullptr)) {
    session->release_memory();
    return error->fail(DH_ERR_MEMORY, "the budget is too small for itself; this is a defect of libdumphook");
  }
  const Status status = session->start(environment, error);
  if (status != DH_OK) {
    session->tensors_.close();
    session->parking_.close();
    session->release_memory();
    return status;
  }
  __atomic_fetch_add(&dh_epoch, 1u, __ATOMIC_RELEASE);
  *out = session;
  return DH_OK;
}

Status Session::start(const char* const* environment, ErrorText* error) {
  // Texts the caller passed die with dh_open's stack frame.
  const char** const texts[] = {&options_.board, &options_.soc,        &options_.sdk,         &options_.build,
                                &options_.sink,  &options_.model_hash, &options_.thread_name, &options_.include};
  for (const char** text : texts) {
    *text = tensors_.keep_string(*text);
    if (*text == nullptr) return error->fail(DH_ERR_MEMORY, "descriptor_bytes is too small for the options' texts");
  }
  Selection selection;
  Status status = make_selection(options_, &selection, error);
  if (status != DH_OK) return status;
  tensors_.select(selection);

  const UuidValue uuid = random_uuid();
  SessionInfo info;
  std::snprintf(info.uuid, sizeof info.uuid, "%016llx%016llx", static_cast<unsigned long long>(uuid.high),
                static_cast<unsigned long long>(uuid.low));
  info.board = options_.board;
  info.soc = options_.soc;
  info.sdk = options_.sdk;
  info.build = options_.build;
  info.model_hash = options_.model_hash;
  state_.set_info(info);
  for (const char* const* variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
    static constexpr char kPrefix[] = "DUMPHOOK_META_";
    const char* equals = std::strchr(*variable, '=');
    if (equals == nullptr || std::strncmp(*variable, kPrefix, sizeof kPrefix - 1) != 0) continue;
    char key[64] = {};
    const char* name = *variable + sizeof kPrefix - 1;
    for (size_t i = 0; name + i < equals && i + 1 < sizeof key; ++i) {
      key[i] = name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
    }
    const char* kept_key = tensors_.keep_string(key);
    const char* kept_value = tensors_.keep_string(equals + 1);
    if (kept_key != nullptr && kept_value != nullptr) state_.add_attribute(kept_key, kept_value);
  }
  emitter_.open(&spool_, &ring_, &state_, clock_);
  gate_.open(&tensors_, &frames_, &ring_, &emitter_);
  gate_.set_list(selection.triggers);
  reporter_.open(&tensors_, &frames_, &pool_, &spool_, &state_, &emitter_, &encoder_, &gate_, clock_);

  HookOptions hook;
  hook.policy = static_cast<dh_policy>(options_.policy);
  hook.block_timeout_ns = options_.block_timeout_ms * kMillisecond;
  hook.part_bytes = options_.part_bytes;
  hook.session_serial = take_serial();
  hook.stamp_time = getauxval(AT_SYSINFO_EHDR) != 0;  // without a vDSO reading the clock is a system call
  hook.clock = clock_;
  hook.wait_for_room = wait_for_room;
  hook.wait_user = this;
  hook_.open(hook, &pool_, &tensors_, &frames_);

  status = parking_.open();
  if (status != DH_OK) return error->fail(status, "no eventfd: %s", std::strerror(errno));

  SinkContext context;
  context.spool = &spool_;
  context.state = &state_;
  context.clock = clock_;
  context.log_offset_ns = emitter_.session_ns(0);
  context.session_uuid = uuid;
  context.log = {
      [](void* user, dh_log_level level, const char* text) { static_cast<Session*>(user)->log(level, text); }, this};
  context.books.user = this;
  context.books.take_back = [](void* user, const SegmentShare& share) {
    static_cast<Session*>(user)->take_back(share);
  };
  context.books.note = [](void* user, const char* text) { static_cast<Session*>(user)->note(text); };
  context.window_ns = options_.window_ms * kMillisecond;
  context.hello_ns = options_.hello_ms * kMillisecond;
  context.connect_ns = options_.connect_ms * kMillisecond;
  error->text[0] = '\0';
  status = sink_.open(context, options_);
  if (status != DH_OK) return status;
  status = (options_.flags & DH_FLAG_NO_WORKER) != 0 ? DH_OK : start_worker(error);
  if (status != DH_OK) sink_.get()->abandon();
  return status;
}

Status Session::start_worker(ErrorText* error) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return error->fail(DH_ERR_THREAD, "no thread attributes");
  pthread_attr_setstacksize(&attributes, kWorkerStackBytes);
  // Signals are the app's: the worker is born with all of them blocked.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&worker_, &attributes, run_worker, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failed != 0) return error->fail(DH_ERR_THREAD, "cannot start the worker: %s", std::strerror(failed));
  has_worker_ = true;
  return DH_OK;
}

void Session::log(dh_log_level level, const char* text) {
  if (options_.on_log != nullptr) options_.on_log(options_.on_log_user, level, text);
}

// ---------------------------------------------------------------------------------------------------------- worker

void* Session::run_worker(void* self) {
  auto* session = static_cast<Session*>(self);
  char name[16] = {};
  std::snprintf(name, sizeof name, "%s", session->options_.thread_name);
  pthread_setname_np(pthread_self(), name);
  if (session->options_.thread_affinity != 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (unsigned cpu = 0; cpu < 64; ++cpu) {
      if ((session->options_.thread_affinity >> cpu & 1) != 0) CPU_SET(cpu, &cpus);
    }
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) session->log(DH_LOG_WARNING, "thread_affinity was refused");
  }
  if (session->options_.thread_priority != 0 && !add_niceness(session->options_.thread_priority)) {
    session->log(DH_LOG_WARNING, "thread_priority was refused");
  }
  while (!session->closing_.load(std::memory_order_acquire)) {
    if (!session->work()) session->park(0);
  }
  session->drain_and_seal();
  return nullptr;
}

// Before the first peer nobody waits for the data, unless the app wants it kept; a sink that failed takes nothing.
bool Session::discarding() const {
  const Sink* sink = sink_.get();
  if (sink->state() == SinkState::failed || sink->state() == SinkState::finished) return true;
  return sink->state() == SinkState::absent && !sink_was_open_ && (options_.flags & DH_FLAG_KEEP_EARLY) == 0;
}

void Session::watch_triggers() {
  if (event_raised_.exchange(false, std::memory_order_acquire)) {
    char name[sizeof event_];
    tensors_.lock();
    std::memcpy(name, event_, sizeof name);
    tensors_.unlock();
    gate_.fire_event(name);
  }
  if (triggers_changed_.exchange(false, std::memory_order_acquire)) {
    char list[sizeof Selection::triggers];
    tensors_.lock();
    std::memcpy(list, tensors_.selection().triggers, sizeof list);
    tensors_.unlock();
    gate_.set_list(list);
  }
  const char* report = gate_.report();
  if (report == nullptr || !reporter_.log(DH_LOG_INFO, report)) return;
  log(DH_LOG_INFO, report);
  gate_.clear_report();
}

bool Session::encode_round(uint64_t now_ns) {
  bool progressed = false;
  watch_triggers();
  say_note();
  for (int i = 0; i < kPartsPerRound; ++i) {
    const Step step = gate_.releasing() ? gate_.release() : encoder_.step();
    progressed |= step == Step::progressed;
    if (step != Step::progressed) break;
  }
  for (int i = 0; i < kPartsPerRound && !gate_.releasing(); ++i) {
    const Step step = reporter_.step(now_ns);
    progressed |= step == Step::progressed;
    if (step != Step::progressed) break;
  }
  return progressed;
}

bool Session::work() {
  const uint64_t now_ns = clock_.monotonic_ns();
  Sink* sink = sink_.get();
  sink_was_open_ |= sink->state() == SinkState::open;
  bool progressed = false;
  if (discarding()) {
    progressed = !encoder_.idle() || !spool_.empty();
    drop_all(sink->state() == SinkState::absent ? DH_LOSS_NOT_CONNECTED : DH_LOSS_SINK_ERROR);
  } else {
    progressed = encode_round(now_ns);
  }
  if (!gate_.releasing() && !event_raised_.load(std::memory_order_acquire)) {
    encoded_end_.store(spool_.end(), std::memory_order_relaxed);
    encoded_records_.store(pool_.released(), std::memory_order_release);
    rounds_.fetch_add(1, std::memory_order_release);
  }
  if (flush_asked_.exchange(false, std::memory_order_relaxed)) sink->flush();
  last_step_ = sink->step(now_ns);
  progressed |= last_step_.progressed;
  acknowledged_.store(sink->acknowledged(), std::memory_order_relaxed);
  free_shipped();
  parking_.notify();
  return progressed;
}

void Session::free_shipped() {
  const uint64_t shipped_end = sink_.get()->shipped_end();
  while (!spool_.empty() && spool_.begin() < shipped_end) {
    const SpoolEntry& entry = spool_.entry(spool_.begin());
    if (entry.last_part) tensors_.entry(entry.tensor_id).shipped.fetch_add(1, std::memory_order_release);
    state_.pass(entry, spool_.record(spool_.begin()));
    spool_.pop();
  }
  released_end_.store(spool_.begin(), std::memory_order_release);
}

// A segment was removed: what it held was shipped, and is lost now; what was told in it must be told again.
void Session::take_back(const SegmentShare& share) {
  free_shipped();  // counts as shipped first
  const bool known = share.tensor_id != SpoolEntry::kNoTensor;
  LossCell* cells = (known ? tensors_.entry(share.tensor_id) : tensors_.nobody()).lost;
  if (share.told) {
    cells[share.reason].retell(share.first_frame, share.last_frame, share.count);
  } else {
    cells[DH_LOSS_QUOTA_REMOVED].add(share.first_frame, share.last_frame, share.count);
  }
}

// For the stream's log, when the spool has room. What comes before that is appended.
void Session::note(const char* text) {
  const size_t used = std::strlen(note_);
  std::snprintf(note_ + used, sizeof note_ - used, "%s%s", used == 0 ? "" : "; ", text);
}

void Session::say_note() {
  if (note_[0] != '\0' && reporter_.log(DH_LOG_WARNING, note_)) note_[0] = '\0';
}

// What is in the spool and in the pool becomes a counted loss.
void Session::drop_all(dh_loss_reason reason) {
  if (!spool_.empty()) reporter_.start_over();
  while (!spool_.empty()) {
    const SpoolEntry& entry = spool_.entry(spool_.begin());
    if (entry.last_part) tensors_.entry(entry.tensor_id).lost[reason].add(entry.frame);
    state_.pass(entry, spool_.record(spool_.begin()));
    spool_.pop();
  }
  gate_.drop_all(reason);
  while (encoder_.discard(reason)) {
  }
  reporter_.discard_frames();
  released_end_.store(spool_.begin(), std::memory_order_release);
}

void Session::park(uint64_t deadline_ns) {
  parking_.prepare();
  const bool asked = reporter_.has_notices() || event_raised_.load(std::memory_order_seq_cst) ||
                     flush_asked_.load(std::memory_order_relaxed) ||
                     (deadline_ns == 0 && closing_.load(std::memory_order_seq_cst));
  const bool work_left = !discarding() && !encoder_.idle() && spool_.empty();
  const uint64_t now_ns = clock_.monotonic_ns();
  uint64_t until_ns = now_ns + (frames_.any_busy() ? kOpenFramePollNs : kIdlePollNs);
  if (last_step_.wake_ns < until_ns) until_ns = last_step_.wake_ns;
  if (deadline_ns != 0 && deadline_ns < until_ns) until_ns = deadline_ns;
  const bool now = asked || work_left || until_ns <= now_ns;
  parking_.sleep(last_step_.fd, last_step_.poll_events, now ? 0 : until_ns - now_ns);
}

// Ships what is left, as long as close_ms allows; then the rest is counted, and the counters are the last words. A part
// of close_ms is theirs.
void Session::drain_and_seal() {
  const uint64_t close_ns = options_.close_ms * kMillisecond;
  const uint64_t goodbye_ns = clock_.monotonic_ns() + close_ns;
  const uint64_t deadline_ns = goodbye_ns - (close_ns / 4 < kGoodbyeNs ? close_ns / 4 : kGoodbyeNs);
  Sink* sink = sink_.get();
  frames_.abandon_all();
  while (clock_.monotonic_ns() < deadline_ns) {
    sink->flush();
    if (work()) continue;
    if (discarding()) break;
    if (encoder_.idle() && !frames_.any_busy()) {
      gate_.drop_waiting();
      if (read_totals(tensors_).in_flight == 0) break;
    }
    park(deadline_ns);
  }
  if (discarding()) {
    drop_all(reason_for_the_rest());
    sink->abandon();
    return;
  }
  gate_.drop_all(reason_for_the_rest());
  gate_.set_list("");
  while (encoder_.discard(reason_for_the_rest())) {
  }
  report_unmatched();
  bool said_all = false;
  // A connection that is cut now may come back in time.
  while (clock_.monotonic_ns() < goodbye_ns && !discarding()) {
    Step step = Step::idle;
    const uint64_t now_ns = clock_.monotonic_ns();
    if (!said_all) {
      step = frames_.any_busy() ? reporter_.step(now_ns) : Step::idle;
      say_note();
      if (step == Step::idle) step = reporter_.close_step(now_ns);
      if (step == Step::idle) {
        said_all = sink->is_settled();
        said_all ? sink->finish() : sink->flush();
      }
    }
    last_step_ = sink->step(now_ns);
    free_shipped();
    if (!last_step_.progressed && step != Step::progressed) park(goodbye_ns);
  }
  if (!said_all) {  // no room for more words: close what there is
    sink->finish();
    sink->step(clock_.monotonic_ns());
    free_shipped();
  }
  drop_all(reason_for_the_rest());
  sink->abandon();
}

// What is not shipped when time is up: because the time was too short, or nobody was there?
dh_loss_reason Session::reason_for_the_rest() const {
  switch (sink_.get()->state()) {
    case SinkState::absent: return DH_LOSS_NOT_CONNECTED;
    case SinkState::failed: return DH_LOSS_SINK_ERROR;
    default: return DH_LOSS_CLOSED;
  }
}

// A glob that matched nothing is usually a typing error: say so while the log still travels.
void Session::report_unmatched() {
  const char* cursor = tensors_.selection().include;
  char pattern[DH_MAX_NAME_BYTES + 8];
  while (next_list_item(&cursor, pattern, sizeof pattern)) {
    Selection one;
    std::snprintf(one.include, sizeof one.include, "%s", pattern);
    bool matched = false;
    for (uint32_t i = 0; i < tensors_.count() && !matched; ++i) {
      const TensorEntry& entry = tensors_.entry(i);
      matched = one.level_of(entry.model, entry.name, entry.op, entry.role) != DH_LEVEL_OFF;
    }
    if (matched) continue;
    char text[DH_MAX_NAME_BYTES + 128];
    std::snprintf(text, sizeof text, "include: \"%s\" matched no tensor", pattern);
    log(DH_LOG_WARNING, text);
    reporter_.log(DH_LOG_WARNING, text);
  }
}

// ---------------------------------------------------------------------------------------------------------- close

// True when no call is inside any more. A thread that died in one never comes back: its session is not freed.
bool Session::wait_until_empty(const Handle& handle) {
  leaving_.store(true, std::memory_order_seq_cst);
  parking_.notify();
  uint64_t patience_ns = options_.close_ms * kMillisecond;
  if (patience_ns < kLeastPatienceNs) patience_ns = kLeastPatienceNs;
  const uint64_t deadline_ns = clock_.monotonic_ns() + patience_ns;
  while (!handle.is_empty()) {
    if (clock_.monotonic_ns() >= deadline_ns) return false;
    const timespec moment = {0, 100000};
    nanosleep(&moment, nullptr);
  }
  return true;
}

Status Session::close(Handle* handle) {
  if (!alive()) {
    // The parent's worker is not ours to finish; our copies of the descriptors and of the memory are.
    sink_.get()->abandon();
    parking_.close_descriptor();
    release_memory();
    handle->give_back();
    return DH_ERR_CLOSED;
  }
  bool empty = wait_until_empty(*handle);
  closing_.store(true, std::memory_order_seq_cst);
  __atomic_fetch_add(&dh_epoch, 1u, __ATOMIC_RELEASE);
  if (has_worker_) {
    parking_.wake();
    pthread_join(worker_, nullptr);
  } else if (!working_.exchange(true, std::memory_order_acquire)) {  // else a call that does not come back is at it
    const WriteSignalsHeldBack held_back;
    drain_and_seal();
  }
  const Totals totals = read_totals(tensors_);
  const bool unshipped =
      (totals.lost[DH_LOSS_SINK_ERROR] | totals.lost[DH_LOSS_NOT_CONNECTED] | totals.lost[DH_LOSS_CLOSED]) != 0;
  empty = empty || handle->is_empty();
  if (empty) {
    tensors_.close();
    parking_.close();
    release_memory();
    handle->give_back();
  }
  if (!empty) return DH_TIMEOUT;
  return unshipped ? DH_DROPPED : DH_OK;
}

}  // namespace dumphook
