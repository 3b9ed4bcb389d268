// SPDX-License-Identifier: Apache-2.0
// A small model checker: runs a few threads of a test in every order, on a memory as weak as ARM's.
//
// Each atomic operation is a point where another thread may go on, and each load a point where an older value may be
// read, as long as C++'s memory orders allow it: every location keeps all values it ever had, every thread a view of
// the oldest ones it may still see; a release store carries the storing thread's view, an acquire load takes it over.
// Plain<T> finds data races by vector clocks. All choices are enumerated, depth first.
//
// Bounds: `max_preemptions` switches away from a thread that could go on, `max_stale_reads` reads of an older value by
// each thread, `max_steps` operations in one execution (longer ones, which only wait, are cut and counted). Not
// modelled: load buffering, a coherence order other than that of execution, fences. Of seq_cst: acquire and release,
// and that such a load sees no less than the last such store to its location.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace interleave {

struct Bounds {
  int max_preemptions = 3;
  int max_stale_reads = 2;
  int max_steps = 200;
};

struct Outcome {
  uint64_t executions = 0;
  uint64_t cut = 0;     // longer than max_steps
  std::string failure;  // empty: none
};

// What one execution consists of; made anew for each.
class Execution {
 public:
  void thread(std::function<void()> body) { bodies.push_back(std::move(body)); }
  void finally(std::function<void()> check) { last = std::move(check); }
  std::vector<std::function<void()>> bodies;
  std::function<void()> last;
};

namespace detail {

using Clock = std::vector<uint32_t>;  // by thread, or by location

inline void join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    if (to[i] < from[i]) to[i] = from[i];
  }
}
inline uint32_t at(const Clock& clock, size_t index) { return index < clock.size() ? clock[index] : 0; }
inline void raise(Clock& clock, size_t index, uint32_t value) {
  if (clock.size() <= index) clock.resize(index + 1, 0);
  if (clock[index] < value) clock[index] = value;
}

struct Value {
  uint64_t bits = 0;
  bool releases = false;
  Clock view, time;  // of the storing thread, when it releases
};

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  std::function<void()> body;
  bool done = false;
  int stale_reads = 0;
  Clock view;  // by location: the oldest value it may still read
  Clock time;  // by thread: what happened before
};

class Explorer {
 public:
  static Explorer*& current() {
    static Explorer* explorer = nullptr;
    return explorer;
  }

  Outcome explore(const Bounds& bounds, const std::function<void(Execution&)>& make) {
    bounds_ = bounds;
    current() = this;
    do {
      execute(make);
      ++outcome_.executions;
    } while (outcome_.failure.empty() && advance());
    current() = nullptr;
    return outcome_;
  }

  size_t add_location(uint64_t bits) {
    locations_.emplace_back(1);
    locations_.back()[0].bits = bits;
    return locations_.size() - 1;
  }
  // The initial value may change as long as nobody runs.
  void set_initial(size_t location, uint64_t bits) { locations_[location][0].bits = bits; }
  bool running() const { return running_ >= 0; }

  uint64_t load(size_t location, bool acquires, bool sequential) {
    std::vector<Value>& values = locations_[location];
    if (!running()) return values.back().bits;
    pause();
    Thread& self = threads_[static_cast<size_t>(running_)];
    const size_t newest = values.size() - 1;
    size_t oldest = at(self.view, location);
    if (sequential && oldest < at(sequential_, location)) oldest = at(sequential_, location);
    size_t back = 0;
    if (newest > oldest && self.stale_reads < bounds_.max_stale_reads) back = choose(newest - oldest + 1);
    self.stale_reads += back != 0;
    read(self, location, newest - back, acquires);
    return values[newest - back].bits;
  }

  void store(size_t location, uint64_t bits, bool releases, bool sequential) {
    if (!running()) {
      locations_[location].assign(1, Value());
      locations_[location][0].bits = bits;
      return;
    }
    pause();
    append(location, bits, releases, nullptr);
    if (sequential) raise(sequential_, location, static_cast<uint32_t>(locations_[location].size() - 1));
  }

  // `update` gives the new bits from the newest ones; a read-modify-write always reads those.
  template <class Update>
  uint64_t modify(size_t location, bool acquires, bool releases, bool sequential, const Update& update) {
    if (!running()) {
      Value& value = locations_[location].back();
      const uint64_t before = value.bits;
      value.bits = update(before);
      return before;
    }
    pause();
    return modify_now(location, acquires, releases, sequential, update);
  }

  bool compare_exchange(size_t location, uint64_t* expected, uint64_t desired, bool acquires, bool releases,
                        bool acquires_on_failure, bool sequential) {
    if (!running()) {
      Value& value = locations_[location].back();
      const bool same = value.bits == *expected;
      *expected = value.bits;
      if (same) value.bits = desired;
      return same;
    }
    pause();
    Thread& self = threads_[static_cast<size_t>(running_)];
    std::vector<Value>& values = locations_[location];
    const size_t newest = values.size() - 1;
    size_t oldest = at(self.view, location);
    if (sequential && oldest < at(sequential_, location)) oldest = at(sequential_, location);
    size_t back = 0;
    if (newest > oldest && self.stale_reads < bounds_.max_stale_reads) back = choose(newest - oldest + 1);
    // Only the newest value can be replaced; an older one that looks as expected is not an outcome.
    if (back != 0 && values[newest - back].bits == *expected) back = 0;
    self.stale_reads += back != 0;
    if (back == 0 && values[newest].bits == *expected) {
      modify_now(location, acquires, releases, sequential, [desired](uint64_t) { return desired; });
      return true;
    }
    read(self, location, newest - back, acquires_on_failure);
    *expected = values[newest - back].bits;
    return false;
  }

  // ---- data that is not atomic: who touched it last
  struct Touch {
    Clock writes, reads;
  };
  void touch(Touch& touch, bool writes) {
    if (!running()) return;
    const auto self = static_cast<size_t>(running_);
    Thread& thread = threads_[self];
    for (size_t other = 0; other < threads_.size(); ++other) {
      if (other == self) continue;
      const bool unordered = at(touch.writes, other) > at(thread.time, other) ||
                             (writes && at(touch.reads, other) > at(thread.time, other));
      if (unordered) fail("data race between threads " + std::to_string(self) + " and " + std::to_string(other));
    }
    raise(writes ? touch.writes : touch.reads, self, at(thread.time, self));
  }

  void fail(const std::string& why) {
    if (outcome_.failure.empty()) outcome_.failure = why + " (execution " + std::to_string(outcome_.executions) + ")";
  }

 private:
  struct Choice {
    uint32_t taken, among;
  };

  size_t choose(size_t among) {
    if (among == 1) return 0;
    if (next_choice_ == choices_.size()) choices_.push_back({0, static_cast<uint32_t>(among)});
    return choices_[next_choice_++].taken;
  }

  // The next path that was not taken. False when there is none.
  bool advance() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().among) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  static void enter() {
    Explorer& explorer = *current();
    Thread& self = explorer.threads_[static_cast<size_t>(explorer.running_)];
    self.body();
    self.done = true;
    swapcontext(&self.context, &explorer.scheduler_);
  }

  void execute(const std::function<void(Execution&)>& make) {
    next_choice_ = 0;
    preemptions_ = steps_ = 0;
    running_ = -1;
    locations_.clear();
    sequential_.clear();
    Execution run;
    make(run);
    if (threads_.size() != run.bodies.size()) threads_ = std::vector<Thread>(run.bodies.size());
    for (size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      if (thread.stack.empty()) thread.stack.resize(64 * 1024);
      thread.body = run.bodies[i];
      thread.done = false;
      thread.stale_reads = 0;
      thread.view.clear();
      thread.time.assign(threads_.size(), 0);
      thread.time[i] = 1;
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = thread.stack.size();
      thread.context.uc_link = nullptr;
      makecontext(&thread.context, &Explorer::enter, 0);
    }
    int last = -1;
    for (;;) {
      std::vector<int> able;
      for (size_t i = 0; i < threads_.size(); ++i) {
        if (!threads_[i].done) able.push_back(static_cast<int>(i));
      }
      if (able.empty()) break;
      if (steps_ > bounds_.max_steps) {
        ++outcome_.cut;
        break;
      }
      const bool can_stay = last >= 0 && !threads_[static_cast<size_t>(last)].done;
      if (can_stay && preemptions_ == bounds_.max_preemptions) {
        able.assign(1, last);
      } else if (can_stay) {  // staying is the first choice
        for (size_t i = 0; i < able.size(); ++i) {
          if (able[i] == last) std::swap(able[0], able[i]);
        }
      }
      running_ = able[choose(able.size())];
      if (can_stay && running_ != last) ++preemptions_;
      last = running_;
      ++steps_;
      swapcontext(&scheduler_, &threads_[static_cast<size_t>(running_)].context);
    }
    running_ = -1;
    if (run.last && steps_ <= bounds_.max_steps) run.last();
  }

  void pause() { swapcontext(&threads_[static_cast<size_t>(running_)].context, &scheduler_); }

  void read(Thread& self, size_t location, size_t index, bool acquires) {
    raise(self.view, location, static_cast<uint32_t>(index));
    const Value& value = locations_[location][index];
    if (acquires && value.releases) {
      join(self.view, value.view);
      join(self.time, value.time);
    }
  }

  template <class Update>
  uint64_t modify_now(size_t location, bool acquires, bool releases, bool sequential, const Update& update) {
    Thread& self = threads_[static_cast<size_t>(running_)];
    const size_t newest = locations_[location].size() - 1;
    read(self, location, newest, acquires);
    const Value before = locations_[location][newest];
    append(location, update(before.bits), releases, &before);
    if (sequential) raise(sequential_, location, static_cast<uint32_t>(locations_[location].size() - 1));
    return before.bits;
  }

  // A read-modify-write goes on with the release sequence of what it read.
  void append(size_t location, uint64_t bits, bool releases, const Value* continues) {
    Thread& self = threads_[static_cast<size_t>(running_)];
    Value value;
    value.bits = bits;
    value.releases = releases || (continues != nullptr && continues->releases);
    raise(self.view, location, static_cast<uint32_t>(locations_[location].size()));
    if (releases) {
      value.view = self.view;
      value.time = self.time;
      ++self.time[static_cast<size_t>(running_)];
    }
    if (continues != nullptr && continues->releases) {
      join(value.view, continues->view);
      join(value.time, continues->time);
    }
    locations_[location].push_back(std::move(value));
  }

  Bounds bounds_;
  Outcome outcome_;
  std::vector<Choice> choices_;
  size_t next_choice_ = 0;
  std::vector<Thread> threads_;
  std::vector<std::vector<Value>> locations_;
  Clock sequential_;  // by location: the last value stored with seq_cst
  ucontext_t scheduler_;
  int running_ = -1;
  int preemptions_ = 0;
  int steps_ = 0;
};

inline bool acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
inline bool releases(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_acquire && order != std::memory_order_consume;
}

inline bool sequential(std::memory_order order) { return order == std::memory_order_seq_cst; }

}  // namespace detail

// std::atomic of an integer, for code that takes its atomics as a template parameter.
template <class T>
class Atomic {
 public:
  Atomic(T value = T()) : location_(explorer().add_location(static_cast<uint64_t>(value))) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    return static_cast<T>(explorer().load(location_, detail::acquires(order), detail::sequential(order)));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    explorer().store(location_, static_cast<uint64_t>(value), detail::releases(order), detail::sequential(order));
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    return modify(order, [value](T) { return value; });
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    return modify(order, [value](T before) { return static_cast<T>(before + value); });
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) {
    return modify(order, [value](T before) { return static_cast<T>(before - value); });
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
    uint64_t bits = static_cast<uint64_t>(expected);
    const bool done =
        explorer().compare_exchange(location_, &bits, static_cast<uint64_t>(desired), detail::acquires(success),
                                    detail::releases(success), detail::acquires(failure), detail::sequential(success));
    expected = static_cast<T>(bits);
    return done;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_weak(expected, desired, order, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order = std::memory_order_seq_cst) {
    return compare_exchange_weak(expected, desired, order, order);
  }

 private:
  static detail::Explorer& explorer() { return *detail::Explorer::current(); }
  template <class Update>
  T modify(std::memory_order order, const Update& update) {
    return static_cast<T>(explorer().modify(
        location_, detail::acquires(order), detail::releases(order), detail::sequential(order),
        [&update](uint64_t before) { return static_cast<uint64_t>(update(static_cast<T>(before))); }));
  }
  size_t location_;
};

// Data that must never be touched by two threads without order between them.
template <class T>
class Plain {
 public:
  Plain(T value = T()) : value_(value) {}
  operator T() const {
    detail::Explorer::current()->touch(touch_, false);
    return value_;
  }
  Plain& operator=(T value) {
    detail::Explorer::current()->touch(touch_, true);
    value_ = value;
    return *this;
  }

 private:
  T value_;
  mutable detail::Explorer::Touch touch_;
};

// For code that takes its memory as one template parameter.
struct Memory {
  template <class T>
  using Atomic = interleave::Atomic<T>;
  template <class T>
  using Plain = interleave::Plain<T>;
};

inline void expect(bool holds, const char* what) {
  if (!holds) detail::Explorer::current()->fail(what);
}

// `make` sets the state up and adds the threads; it is called for each execution. State that threads use must live as
// long as their bodies do (a shared_ptr they capture).
inline Outcome explore(const Bounds& bounds, const std::function<void(Execution&)>& make) {
  return detail::Explorer().explore(bounds, make);
}

}  // namespace interleave
