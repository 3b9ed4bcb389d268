// SPDX-License-Identifier: Apache-2.0
// dumphook show CAPTURE NAME: a tensor's description, statistics and values.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "cli/choose.h"
#include "cli/json.h"
#include "cli/slice.h"
#include "cli/value_text.h"
#include "cli/verbs.h"
#include "decode/real_values.h"

namespace dumphook {
namespace {

struct ShowOptions {
  std::string path, name, frames, slice;
  bool has_slice = false, one_per_row = false, stored = false;
};

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Summary {
  double min = kNone, max = kNone, mean = kNone, deviation = kNone;
  uint64_t nan = 0, inf = 0, finite = 0;
};

// Over the finite values, NaN without any; the deviation is that of the population.
class Summing {
 public:
  void add(double value) {
    if (std::isnan(value)) {
      ++summary_.nan;
    } else if (std::isinf(value)) {
      ++summary_.inf;
    } else {
      if (++summary_.finite == 1) summary_.min = summary_.max = value;
      const double step = value - mean_;
      mean_ += step / static_cast<double>(summary_.finite);
      squares_ += step * (value - mean_);
      summary_.min = std::min(summary_.min, value);
      summary_.max = std::max(summary_.max, value);
    }
  }
  Summary summary() const {
    Summary result = summary_;
    if (result.finite == 0) return result;
    result.mean = mean_;
    result.deviation = std::sqrt(squares_ / static_cast<double>(result.finite));
    return result;
  }

 private:
  Summary summary_;
  double mean_ = 0, squares_ = 0;  // Welford
};

std::string quantization_text(const Quantization& quantization, bool stored) {
  if (quantization.scale.empty()) return "";
  const std::string what = stored ? "stored values" : "real values";
  if (quantization.axis >= 0)
    return fmt::format(", {} scales on axis {}, {}", quantization.scale.size(), quantization.axis, what);
  return fmt::format(", scale {:.9g}, zero point {}, {}", quantization.scale[0],
                     quantization.zero_point.empty() ? 0 : quantization.zero_point[0], what);
}

// The first line: what it is.
std::string title_of(const CapturedTensor& tensor, bool stored) {
  const Descriptor& descriptor = *tensor.descriptor;
  std::string title =
      fmt::format("{}{}  {} {}", shown(tensor.label()), tensor.model().empty() ? "" : " of " + shown(tensor.model()),
                  dtype_name(tensor.dtype), shape_text(tensor.shape));
  if (descriptor.layout != Layout::any) title += fmt::format(" {}", layout_name(descriptor.layout));
  if (!descriptor.op.empty()) title += fmt::format(", op {}", shown(descriptor.op));
  title += fmt::format(", {}, frame {}", role_name(descriptor.role), tensor.frame);
  return title + quantization_text(descriptor.quantization, stored);
}

Json json_summary(const Summary& summary) {
  const auto number = [](double value) { return std::isnan(value) ? Json(nullptr) : json_number(value); };
  return {{"min", number(summary.min)},       {"max", number(summary.max)}, {"mean", number(summary.mean)},
          {"std", number(summary.deviation)}, {"nan", summary.nan},         {"inf", summary.inf}};
}

std::string summary_text(const Summary& summary) {
  return fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  std {:.6g}  nan {}  inf {}", summary.min, summary.max,
                     summary.mean, summary.deviation, summary.nan, summary.inf);
}

Json json_title(const CapturedTensor& tensor, const Shape& shape) {
  return {{"model", tensor.model()},
          {"name", tensor.name()},
          {"instance", tensor.instance},
          {"occurrence", tensor.occurrence},
          {"op", tensor.descriptor->op},
          {"frame", tensor.frame},
          {"dtype", dtype_name(tensor.dtype)},
          {"shape", shape},
          {"layout", layout_name(tensor.descriptor->layout)},
          {"quantization", json_quantization(tensor.descriptor->quantization)}};
}

class Shower {
 public:
  Shower(Context& context, const ShowOptions& options, const Capture& capture)
      : context_(context), options_(options), capture_(capture) {}

  void run() {
    const auto chosen = choose_frames(capture_, options_.frames);
    if (!chosen) return context_.fail(chosen.error());
    if (!chosen->absent.empty()) lack(absent_text(chosen->absent));
    std::optional<Error> not_there;
    for (const FrameKey& frame : chosen->frames) {
      const Expected<size_t> index = choose_tensor(capture_, frame, options_.name);
      if (!index) {
        if (chosen->frames.size() > 1) lack(index.error().what);
        if (!not_there) not_there = index.error();
        continue;
      }
      any_ = true;
      show(capture_.tensors()[*index]);
      if (context_.exit_code == kExitError) return;
    }
    if (!any_) return context_.fail(*not_there);
    if (context_.json)
      print_json(context_.out,
                 {{"format", 1}, {"tensors", std::move(list_)}, {"absent_frames", json_ranges(chosen->absent)}});
  }

 private:
  void lack(const std::string& what) {
    constexpr size_t kMostLines = 10;
    if (++lacks_ <= kMostLines) context_.say(what);
    context_.exit_code = kExitDataMissing;
  }

  void show(const CapturedTensor& entry) {
    if (entry.state == TensorState::statistics || entry.state == TensorState::digest) return show_kept_summary(entry);
    const bool described = entry.described || options_.stored || entry.state != TensorState::whole;
    const Expected<Tensor> tensor = described ? capture_.load(entry) : no_descriptor(entry);
    if (tensor) return show_tensor(entry, *tensor);
    lack(tensor.error().what);
    if (!tensor.error().todo.empty()) context_.say(tensor.error().todo);
    Json object = json_title(entry, entry.shape);
    object["why"] = tensor.error().what;
    list_.push_back(std::move(object));
  }

  // Only statistics or a digest were kept.
  void show_kept_summary(const CapturedTensor& entry) {
    const std::string digest = entry.digest ? fmt::format("{:016x}", *entry.digest) : "";
    Json object = json_title(entry, entry.shape);
    object["statistics"] = nullptr;
    object["digest"] = digest;
    std::string text = title_of(entry, true) + "\n";
    if (entry.statistics) {
      const TensorStatistics& kept = *entry.statistics;
      Summary summary;
      summary.min = kept.min;
      summary.max = kept.max;
      summary.mean = kept.mean;
      summary.deviation = std::sqrt(kept.variance);
      summary.nan = kept.nan;
      summary.inf = kept.pos_inf + kept.neg_inf;
      object["statistics"] = json_summary(summary);
      text += summary_text(summary) + fmt::format("  zeros {}  saturated {}  of {}, looked at {}\n", kept.zeros,
                                                  kept.saturated, kept.count, kept.sampled);
    }
    if (entry.digest) text += "digest " + digest + "\n";
    lack("its values were not captured, only its " + std::string(tensor_state_name(entry.state)));
    list_.push_back(std::move(object));
    if (!context_.json) context_.out.text(text);
  }

  void show_text(const CapturedTensor& entry, const Tensor& tensor) {
    context_.out.line(title_of(entry, false));
    const std::string_view text(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      context_.out.line(shown(text.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  void show_tensor(const CapturedTensor& entry, const Tensor& tensor) {
    if (tensor.descriptor.layout == Layout::text && !context_.json && !options_.stored) return show_text(entry, tensor);
    const ValueReader reader(tensor, options_.stored ? Values::stored : Values::real);
    Slice slice;
    slice.shape = tensor.descriptor.shape;
    if (options_.has_slice) {
      if (element_count(slice.shape) != reader.size())
        return context_.fail(
            {"the shape of " + shown(entry.label()) + " does not say where its bytes are: no slices", ""});
      Expected<Slice> parsed = parse_slice(options_.slice, slice.shape);
      if (!parsed) return context_.fail(parsed.error());
      slice = std::move(*parsed);
    }
    const uint64_t count = options_.has_slice ? slice.elements.size() : reader.size();
    const auto element = [&](uint64_t i) { return options_.has_slice ? slice.elements[static_cast<size_t>(i)] : i; };
    Summing sum;
    for (uint64_t i = 0; i < count; ++i) sum.add(reader.at(element(i)));
    if (context_.json) {
      Json object = json_title(entry, slice.shape);
      object["statistics"] = json_summary(sum.summary());
      object["values"] = Json::array();
      for (uint64_t i = 0; i < count; ++i) object["values"].push_back(json_value(tensor, reader, element(i)));
      list_.push_back(std::move(object));
      return;
    }
    std::string title = title_of(entry, options_.stored);
    if (options_.has_slice)
      title += fmt::format(", slice [{}] of shape {}", shown(options_.slice), shape_text(slice.shape));
    context_.out.line(context_.out.bold(title));
    context_.out.line(summary_text(sum.summary()));
    ValueText text(tensor, options_.stored ? Values::stored : Values::real, options_.one_per_row);
    for (uint64_t i = 0; i < count; ++i) {
      text.add(element(i));
      if (text.size() > 65536) context_.out.text(text.take());
    }
    text.finish();
    context_.out.text(text.take());
  }

  // 64-bit integers exactly.
  Json json_value(const Tensor& tensor, const ValueReader& reader, uint64_t element) const {
    const bool as_stored = options_.stored || !is_quantized(tensor.descriptor);
    const std::byte* at = tensor.bytes.data() + element * 8;
    if (as_stored && tensor.descriptor.dtype == DType::i64) return load_le<int64_t>(at);
    if (as_stored && tensor.descriptor.dtype == DType::u64) return load_le<uint64_t>(at);
    return json_number(reader.at(element));
  }

  Context& context_;
  const ShowOptions& options_;
  const Capture& capture_;
  Json list_ = Json::array();
  size_t lacks_ = 0;
  bool any_ = false;
};

void run(Context& context, const ShowOptions& options) {
  const Expected<Capture> capture = Capture::open(options.path);
  if (!capture) return context.fail(capture.error());
  Shower(context, options, *capture).run();
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("show", "a tensor's statistics and values");
  auto options = std::make_shared<ShowOptions>();
  verb->add_option("CAPTURE", options->path, "file, folder, or - for standard input")->required();
  verb->add_option("NAME", options->name, "tensor, tensor#1 where a name occurs again, model/tensor, or node:output")
      ->required();
  verb->add_option("--frame", options->frames, "3, 7-9, 3,7-9 or all; default: the first complete frame");
  CLI::Option* slice = verb->add_option("--slice", options->slice, "as in NumPy: \"0,:,1:3\"");
  verb->add_flag("--one-per-row", options->one_per_row, "one value a row instead of 16");
  verb->add_flag("--raw,--stored", options->stored, "the stored numbers instead of real values");
  add_json_option(*verb, context);
  verb->callback([&context, options, slice] {
    options->has_slice = slice->count() > 0;
    if (context.json && options->one_per_row) throw CLI::ValidationError("--one-per-row", "does not go with --json");
    run(context, *options);
  });
}

}  // namespace dumphook
