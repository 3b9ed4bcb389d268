// SPDX-License-Identifier: Apache-2.0
#include "harmless.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>

#include "capture.h"
#include "image.h"
#include "model.h"

namespace {

struct Mode {
  const char* name;
  bool hooked;        // else the model without a hook
  const char* level;  // of the session
  std::vector<double> latency_ms = {};
  uint64_t changed_frames = 0;
};

struct Interval {
  double value, low, high;
};

double quantile(std::vector<double> values, double share) {
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(share * static_cast<double>(values.size()))));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// With its 95 % interval: percentiles of the quantiles of 1000 samples drawn from the values, with replacement.
Interval bootstrap(const std::vector<double>& values, double share) {
  constexpr int kSamples = 1000;
  std::mt19937 random(1);
  std::uniform_int_distribution<size_t> pick(0, values.size() - 1);
  std::vector<double> quantiles, sample(values.size());
  for (int i = 0; i < kSamples; ++i) {
    std::generate(sample.begin(), sample.end(), [&] { return values[pick(random)]; });
    quantiles.push_back(quantile(sample, share));
  }
  return {quantile(values, share), quantile(quantiles, 0.025), quantile(quantiles, 0.975)};
}

// How much longer a frame took than the same frame in mode `base`.
Interval added(const Mode& mode, const Mode& base) {
  std::vector<double> ratios;
  for (size_t i = 0; i < mode.latency_ms.size(); ++i) ratios.push_back(mode.latency_ms[i] / base.latency_ms[i]);
  return bootstrap(ratios, 0.5);
}

// DUMPHOOK_* are laid over this.
dumphook::Session open_session(const Options& options) {
  dh_options config = dh_options_default();
  config.sink = options.sink.empty() ? "callback:" : options.sink.c_str();
  config.include = "*";
  config.policy = options.policy == "block" ? DH_POLICY_BLOCK : DH_POLICY_DROP;
  config.on_bytes = [](void*, const void*, size_t bytes) { return static_cast<int64_t>(bytes); };
  config.on_log = [](void*, dh_log_level, const char* text) { std::fprintf(stderr, "dumphook: %s\n", text); };
  dumphook::Session session;
  const dh_status status = session.open_from_env(config);
  if (status < 0) throw std::runtime_error(std::string("no capture: ") + dh_status_text(status));
  return session;
}

void print(const std::vector<Mode>& modes, const dh_counter_values& counters, const Options& options) {
  std::printf("%-6s %7s %-10s %-26s %-26s %s\n", "mode", "frames", "outputs", "median ms [95 %]", "p99 ms [95 %]",
              "of none, frame by frame [95 %]");
  const auto text = [](const Interval& of) {
    char line[64];
    std::snprintf(line, sizeof line, "%.3f [%.3f, %.3f]", of.value, of.low, of.high);
    return std::string(line);
  };
  for (const Mode& mode : modes) {
    std::printf("%-6s %7zu %-10s %-26s %-26s %s\n", mode.name, mode.latency_ms.size(),
                mode.changed_frames == 0 ? "identical" : "CHANGED", text(bootstrap(mode.latency_ms, 0.5)).c_str(),
                text(bootstrap(mode.latency_ms, 0.99)).c_str(), text(added(mode, modes[0])).c_str());
  }
  std::printf("captured %llu tensors, lost %llu; policy %s, one thread for the model\n",
              static_cast<unsigned long long>(counters.seen),
              static_cast<unsigned long long>(counters.seen - counters.shipped - counters.in_flight),
              options.policy.c_str());
}

void write_json(const std::vector<Mode>& modes, const dh_counter_values& counters, const Options& options) {
  FILE* file = std::fopen(options.json.c_str(), "w");
  if (file == nullptr) throw std::runtime_error(options.json + ": cannot be written");
  const auto interval = [file](const char* name, const Interval& of) {
    std::fprintf(file, ",\"%s\":{\"value\":%.6f,\"low\":%.6f,\"high\":%.6f}", name, of.value, of.low, of.high);
  };
  std::fprintf(file, "{\"format\":1,\"policy\":\"%s\",\"seen\":%llu,\"shipped\":%llu,\"modes\":[",
               options.policy.c_str(), static_cast<unsigned long long>(counters.seen),
               static_cast<unsigned long long>(counters.shipped));
  for (const Mode& mode : modes) {
    std::fprintf(file, "%s\n{\"name\":\"%s\",\"frames\":%zu,\"changed_frames\":%llu", &mode == &modes[0] ? "" : ",",
                 mode.name, mode.latency_ms.size(), static_cast<unsigned long long>(mode.changed_frames));
    interval("median_ms", bootstrap(mode.latency_ms, 0.5));
    interval("p99_ms", bootstrap(mode.latency_ms, 0.99));
    interval("ratio_to_none", added(mode, modes[0]));
    std::fprintf(file, "}");
  }
  std::fprintf(file, "]}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(options.json + ": cannot be written");
}

}  // namespace

bool prove_harmless(const Options& options) {
  Capture capture(open_session(options), dumphook::tflite::HookOptions());
  Model plain(options.model, {});
  Model hooked(options.model, {capture.hook()});

  std::vector<std::vector<float>> inputs;
  for (const std::string& photo : options.photos) {
    Fit fit;
    inputs.push_back(normalise(fit_into_square(decode_jpeg(photo), plain.input_side(), &fit)));
  }
  std::vector<std::string> expected;  // what the model gives without a hook
  for (const auto& input : inputs) {
    plain.set_input(input);
    plain.run();
    expected.push_back(plain.raw_outputs());
    hooked.set_input(input);
    hooked.run();  // both are warm now; outside a frame nothing is captured
  }

  std::vector<Mode> modes = {{"none", false, "level = off"},
                             {"off", true, "level = off"},
                             {"stats", true, "level = stats"},
                             {"full", true, "level = full"}};
  std::vector<size_t> order(modes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(1);
  for (uint64_t frame = 0; frame < options.prove_frames; ++frame) {
    std::shuffle(order.begin(), order.end(), random);  // what the mode before left in the caches favours none
    for (const size_t index : order) {
      Mode& mode = modes[index];
      Model& model = mode.hooked ? hooked : plain;
      const size_t photo = frame % inputs.size();
      dh_configure(capture.session(), mode.level);
      // What the worker still had to do would be on this frame's account. Without a hook, too: whoever has just waited
      // gets another share of a busy machine than who has not.
      dh_flush(capture.session(), 10000);
      const auto begin = std::chrono::steady_clock::now();
      if (mode.hooked) capture.begin_frame();
      model.set_input(inputs[photo]);
      model.run();
      if (mode.hooked) capture.end_frame();
      const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
      mode.latency_ms.push_back(spent.count());
      mode.changed_frames += model.raw_outputs() != expected[photo];
    }
  }
  dh_flush(capture.session(), 10000);
  dh_counter_values counters = dh_counter_values();
  counters.struct_size = sizeof counters;
  dh_counters(capture.session(), &counters);

  print(modes, counters, options);
  if (!options.json.empty()) write_json(modes, counters, options);
  return std::all_of(modes.begin(), modes.end(), [](const Mode& mode) { return mode.changed_frames == 0; });
}
