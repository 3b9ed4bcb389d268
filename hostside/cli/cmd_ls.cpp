// SPDX-License-Identifier: Apache-2.0
// dumphook ls CAPTURE [GLOB]: the tensors of a frame in execution order.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/choose.h"
#include "cli/json.h"
#include "cli/verbs.h"
#include "wire/codec.h"

namespace dumphook {
namespace {

struct LsOptions {
  std::string path, glob, frames;
  bool quantization = false;
};

// One pair as it is, more as their range.
template <class T>
std::string range_text(const std::vector<T>& values) {
  if (values.empty()) return "0";
  if (values.size() == 1) return fmt::format("{:.6g}", static_cast<double>(values[0]));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{:.6g}..{:.6g}", static_cast<double>(*low), static_cast<double>(*high));
}

std::string axis_text(const Quantization& quantization) {
  return quantization.axis < 0 ? "-" : fmt::format("{} ({})", quantization.axis, quantization.scale.size());
}

std::string state_text(const CapturedTensor& tensor) {
  if (tensor.state == TensorState::whole) return "";
  return tensor.why.empty() ? tensor_state_name(tensor.state)
                            : fmt::format("{}: {}", tensor_state_name(tensor.state), tensor.why);
}

std::string ratio_text(const CapturedTensor& tensor) {
  if (tensor.stored_bytes == 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(tensor.raw_bytes) / static_cast<double>(tensor.stored_bytes));
}

std::vector<std::string> row_of(const CapturedTensor& tensor, size_t index, bool quantization) {
  const Descriptor& descriptor = *tensor.descriptor;
  std::vector<std::string> row{std::to_string(index),    descriptor.op.empty() ? "-" : shown(descriptor.op),
                               shown(tensor.label()),    role_name(descriptor.role),
                               dtype_name(tensor.dtype), shape_text(tensor.shape)};
  if (quantization) {
    const Quantization& q = descriptor.quantization;
    const bool none = q.scale.empty();
    row.insert(row.end(),
               {none ? "-" : range_text(q.scale), none ? "-" : range_text(q.zero_point), none ? "-" : axis_text(q)});
  } else {
    row.insert(row.end(), {std::to_string(tensor.total_bytes), tensor.parts.empty() ? "-" : codec_name(tensor.codec),
                           ratio_text(tensor)});
  }
  row.push_back(state_text(tensor));
  return row;
}

Json json_row(const CapturedTensor& tensor, size_t index) {
  const Descriptor& descriptor = *tensor.descriptor;
  return {{"index", index},
          {"model", tensor.model()},
          {"name", tensor.name()},
          {"label", tensor.label()},
          {"op", descriptor.op},
          {"role", role_name(descriptor.role)},
          {"dtype", dtype_name(tensor.dtype)},
          {"shape", tensor.shape},
          {"layout", layout_name(descriptor.layout)},
          {"instance", tensor.instance},
          {"occurrence", tensor.occurrence},
          {"bytes", tensor.total_bytes},
          {"stored_bytes", tensor.stored_bytes},
          {"codec", tensor.parts.empty() ? Json(nullptr) : Json(codec_name(tensor.codec))},
          {"parts", tensor.parts.size()},
          {"quantization", json_quantization(descriptor.quantization)},
          {"state", tensor_state_name(tensor.state)},
          {"why", tensor.why}};
}

void run(Context& context, const LsOptions& options) {
  const Expected<Capture> capture = Capture::open(options.path);
  if (!capture) return context.fail(capture.error());
  const auto frames = choose_frames(*capture, options.frames);
  if (!frames) return context.fail(frames.error());

  Json object{{"format", 1}, {"frames", Json::array()}, {"absent_frames", json_ranges(frames->absent)}};
  if (!frames->absent.empty()) {
    context.say(absent_text(frames->absent));
    context.exit_code = kExitDataMissing;
  }
  size_t listed = 0;
  for (const FrameKey& key : frames->frames) {
    const std::vector<size_t> chosen = choose_tensors(*capture, key, options.glob);
    listed += chosen.size();
    const CapturedFrame* frame = find_frame(*capture, key);
    const std::string lack = frame == nullptr ? "" : lack_text(*frame);
    if (!lack.empty()) context.exit_code = kExitDataMissing;
    std::vector<Table::Column> columns{{"#", true}, {"op"}, {"name"}, {"role"}, {"dtype"}, {"shape"}};
    if (options.quantization)
      columns.insert(columns.end(), {{"scale", true}, {"zero point", true}, {"axis"}});
    else
      columns.insert(columns.end(), {{"bytes", true}, {"codec"}, {"ratio", true}});
    columns.push_back({""});
    Table table(columns);
    Json rows = Json::array();
    for (size_t i = 0; i < chosen.size(); ++i) {
      const CapturedTensor& tensor = capture->tensors()[chosen[i]];
      if (tensor.state == TensorState::truncated || tensor.state == TensorState::damaged)
        context.exit_code = kExitDataMissing;
      if (context.json)
        rows.push_back(json_row(tensor, i));
      else
        table.add(row_of(tensor, i, options.quantization));
    }
    if (context.json) {
      object["frames"].push_back({{"session", capture->sessions()[key.session].uuid},
                                  {"frame", key.frame},
                                  {"state", frame == nullptr ? "?" : frame->state_name()},
                                  {"lost", frame == nullptr ? Json::object() : json_losses(frame->lost)},
                                  {"tensors", std::move(rows)}});
    } else {
      const std::string& uuid = capture->sessions()[key.session].uuid;
      const std::string session =
          capture->sessions().size() < 2 ? "" : " of session " + (uuid.empty() ? "?" : shown(uuid.substr(0, 8)));
      context.out.line(context.out.bold(fmt::format("frame {}", key.frame)) + session +
                       (lack.empty() ? "" : ", " + context.out.odd(lack)));
      context.out.text(table.text(context.out));
    }
  }
  if (context.json) print_json(context.out, object);
  if (listed == 0 && !options.glob.empty())
    return context.fail({"no tensor matches " + shown(options.glob), "names are listed by dumphook ls"});
}

}  // namespace

void add_ls(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("ls", "the tensors of a frame, in execution order");
  auto options = std::make_shared<LsOptions>();
  verb->add_option("CAPTURE", options->path, "file, folder, or - for standard input")->required();
  verb->add_option("GLOB", options->glob, "only tensors whose name, or model/name, matches");
  verb->add_option("--frame", options->frames, "3, 7-9, 3,7-9 or all; default: the first complete frame");
  verb->add_flag("--quant", options->quantization, "scales and zero points instead of sizes");
  add_json_option(*verb, context);
  verb->callback([&context, options] { run(context, *options); });
}

}  // namespace dumphook
