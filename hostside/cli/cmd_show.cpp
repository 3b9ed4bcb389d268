// SPDX-License-Identifier: Apache-2.0
// dumphook show CAPTURE NAME: a tensor's description, statistics and values.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

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

struct Summary {
  double min = 0, max = 0, mean = 0, deviation = 0;
  uint64_t nan = 0, inf = 0, finite = 0;
};

// Over the finite values; the deviation is that of the population.
Summary summary_of(const std::vector<double>& values) {
  Summary summary;
  double mean = 0, squares = 0;  // Welford
  for (const double value : values) {
    if (std::isnan(value)) {
      ++summary.nan;
    } else if (std::isinf(value)) {
      ++summary.inf;
    } else {
      if (summary.finite == 0) summary.min = summary.max = value;
      ++summary.finite;
      const double step = value - mean;
      mean += step / static_cast<double>(summary.finite);
      squares += step * (value - mean);
      summary.min = std::min(summary.min, value);
      summary.max = std::max(summary.max, value);
    }
  }
  summary.mean = mean;
  summary.deviation = summary.finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(summary.finite));
  return summary;
}

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
      fmt::format("{}{}  {} {}", shown(tensor.name()), tensor.model().empty() ? "" : " of " + shown(tensor.model()),
                  dtype_name(tensor.dtype), shape_text(tensor.shape));
  if (descriptor.layout != Layout::any) title += fmt::format(" {}", layout_name(descriptor.layout));
  if (!descriptor.op.empty()) title += fmt::format(", op {}", shown(descriptor.op));
  title += fmt::format(", {}, frame {}", role_name(descriptor.role), tensor.frame);
  return title + quantization_text(descriptor.quantization, stored);
}

Json json_summary(const Summary& summary) {
  return {{"min", summary.min},       {"max", summary.max}, {"mean", summary.mean},
          {"std", summary.deviation}, {"nan", summary.nan}, {"inf", summary.inf}};
}

std::string summary_text(const Summary& summary) {
  return fmt::format("min {:.6g}  max {:.6g}  mean {:.6g}  std {:.6g}  nan {}  inf {}", summary.min, summary.max,
                     summary.mean, summary.deviation, summary.nan, summary.inf);
}

Json json_title(const CapturedTensor& tensor, const Shape& shape) {
  return {{"format", 1},
          {"model", tensor.model()},
          {"name", tensor.name()},
          {"op", tensor.descriptor->op},
          {"frame", tensor.frame},
          {"dtype", dtype_name(tensor.dtype)},
          {"shape", shape},
          {"layout", layout_name(tensor.descriptor->layout)},
          {"quantization", json_quantization(tensor.descriptor->quantization)}};
}

// Only statistics or a digest were kept.
void show_summary(Context& context, const CapturedTensor& tensor) {
  context.exit_code = kExitDataMissing;
  const std::string digest = tensor.digest ? fmt::format("{:016x}", *tensor.digest) : "";
  Json object = json_title(tensor, tensor.shape);
  object["statistics"] = nullptr;
  object["digest"] = digest;
  std::string text = title_of(tensor, true) + "\n";
  if (tensor.statistics) {
    const TensorStatistics& kept = *tensor.statistics;
    Summary summary;
    summary.min = kept.min;
    summary.max = kept.max;
    summary.mean = kept.mean;
    summary.deviation = std::sqrt(kept.variance);
    summary.nan = kept.nan;
    summary.inf = kept.pos_inf + kept.neg_inf;
    object["statistics"] = {
        {"min", json_number(kept.min)},          {"max", json_number(kept.max)}, {"mean", json_number(kept.mean)},
        {"std", json_number(summary.deviation)}, {"nan", summary.nan},           {"inf", summary.inf}};
    text += summary_text(summary) + fmt::format("  zeros {}  saturated {}  of {}, looked at {}\n", kept.zeros,
                                                kept.saturated, kept.count, kept.sampled);
  }
  if (tensor.digest) text += "digest " + digest + "\n";
  context.say("its values were not captured, only its " + std::string(tensor_state_name(tensor.state)));
  if (context.json)
    print_json(context.out, object);
  else
    context.out.text(text);
}

void show_frame(Context& context, const ShowOptions& options, const Capture& capture, FrameKey frame) {
  const Expected<size_t> index = choose_tensor(capture, frame, options.name);
  if (!index) return context.fail(index.error());
  const CapturedTensor& entry = capture.tensors()[*index];
  if (entry.state == TensorState::statistics || entry.state == TensorState::digest) return show_summary(context, entry);
  const Expected<Tensor> tensor = capture.load(entry);
  if (!tensor) {
    context.fail(tensor.error());
    context.exit_code = kExitDataMissing;
    return;
  }
  const Descriptor& descriptor = tensor->descriptor;
  if (descriptor.layout == Layout::text && !context.json && !options.stored) {
    context.out.line(title_of(entry, false));
    const std::string text(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      context.out.line(shown(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
    }
    return;
  }
  std::vector<double> values = options.stored ? stored_values(*tensor) : real_values(*tensor);
  Shape shape = descriptor.shape;
  if (options.has_slice) {
    if (element_count(shape) != uint64_t{values.size()}) {
      return context.fail({"the shape of " + shown(entry.name()) + " does not say where its bytes are: no slices", ""});
    }
    const Expected<Slice> slice = parse_slice(options.slice, shape);
    if (!slice) return context.fail(slice.error());
    std::vector<double> taken;
    taken.reserve(slice->elements.size());
    for (const uint64_t element : slice->elements) taken.push_back(values[static_cast<size_t>(element)]);
    values = std::move(taken);
    shape = slice->shape;
  }
  const Summary summary = summary_of(values);
  if (context.json) {
    Json object = json_title(entry, shape);
    object["statistics"] = json_summary(summary);
    object["values"] = Json::array();
    for (const double value : values) object["values"].push_back(json_number(value));
    return print_json(context.out, object);
  }
  std::string title = title_of(entry, options.stored);
  if (options.has_slice) title += fmt::format(", slice [{}] of shape {}", shown(options.slice), shape_text(shape));
  context.out.line(context.out.bold(title));
  context.out.line(summary_text(summary));
  ValueText text(options.one_per_row, is_integer(descriptor.dtype) && (options.stored || !is_quantized(descriptor)));
  for (const double value : values) {
    text.add(value);
    if (text.size() > 65536) context.out.text(text.take());
  }
  text.finish();
  context.out.text(text.take());
}

void run(Context& context, const ShowOptions& options) {
  const Expected<Capture> capture = Capture::open(options.path);
  if (!capture) return context.fail(capture.error());
  const auto frames = choose_frames(*capture, options.frames);
  if (!frames) return context.fail(frames.error());
  for (const FrameKey& frame : *frames) {
    show_frame(context, options, *capture, frame);
    if (context.exit_code == kExitError) return;
  }
}

}  // namespace

void add_show(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("show", "a tensor's statistics and values");
  auto options = std::make_shared<ShowOptions>();
  verb->add_option("CAPTURE", options->path, "file, folder, or - for standard input")->required();
  verb->add_option("NAME", options->name, "tensor, model/tensor, or node:output")->required();
  verb->add_option("--frame", options->frames, "3, 7-9, 3,7-9 or all; default: the first complete frame");
  CLI::Option* slice = verb->add_option("--slice", options->slice, "as in NumPy: \"0,:,1:3\"");
  verb->add_flag("--one-per-row", options->one_per_row, "one value a row instead of 16");
  verb->add_flag("--raw,--stored", options->stored, "the stored numbers instead of real values");
  add_json_option(*verb, context);
  verb->callback([&context, options, slice] {
    options->has_slice = slice->count() > 0;
    run(context, *options);
  });
}

}  // namespace dumphook
