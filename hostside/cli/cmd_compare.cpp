// SPDX-License-Identifier: Apache-2.0
// dumphook compare TARGET GOLDEN: which layer goes wrong first. open_sides -> align -> compare -> report.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>

#include "align/open_side.h"
#include "align/pairs.h"
#include "cli/new_file.h"
#include "cli/verbs.h"
#include "compare/comparison.h"
#include "report/report.h"

namespace dumphook {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct LimitOption {
  const MetricInfo* metric;
  State outside;
  double low, high;
};

struct Options {
  std::string target, golden, map_path, preset{kPresetNames[0]}, format = "table", json_path, out_path;
  FrameChoice frames;
  std::vector<LimitOption> limits;
  bool json = false, has_format = false, force = false, allow_unmatched = false;
};

// ---- Limits on the command line

// "0.9" or, for the norm ratio, "0.8,1.25".
LimitOption parse_limit(const std::string& flag, const MetricInfo& metric, State outside, const std::string& text) {
  std::vector<double> numbers;
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    size_t used = 0;
    const std::string one = text.substr(from, comma - from);
    try {
      numbers.push_back(std::stod(one, &used));
    } catch (const std::exception&) {
    }
    if (used != one.size() || used == 0 || !std::isfinite(numbers.back()))
      throw CLI::ValidationError(flag, fmt::format("\"{}\" is not a number", one));
    from = comma + 1;
  }
  const bool is_ratio = metric.key == "norm_ratio";
  if (numbers.size() != (is_ratio ? 2u : 1u) || (is_ratio && numbers[0] > numbers[1]))
    throw CLI::ValidationError(flag, is_ratio ? "takes LOW,HIGH, as in 0.8,1.25" : "takes one number");
  if (is_ratio) return {&metric, outside, numbers[0], numbers[1]};
  const bool is_minimum = metric.key == "cosine" || metric.key == "sqnr_db";
  return is_minimum ? LimitOption{&metric, outside, numbers[0], kInf}
                    : LimitOption{&metric, outside, -kInf, numbers[0]};
}

void add_limit_options(CLI::App& verb, Options& options) {
  for (const MetricInfo& metric : kMetrics)
    for (State outside : {State::fail, State::warn}) {
      std::string flag = (outside == State::fail ? "--" : "--warn-") + std::string(metric.key);
      std::replace(flag.begin(), flag.end(), '_', '-');
      const bool is_minimum = metric.key == "cosine" || metric.key == "sqnr_db";
      const bool is_ratio = metric.key == "norm_ratio";
      verb.add_option_function<std::string>(
              flag,
              [&options, &metric, outside, flag](const std::string& text) {
                options.limits.push_back(parse_limit(flag, metric, outside, text));
              },
              fmt::format("{} {} this", name_of(outside),
                          is_ratio     ? "outside"
                          : is_minimum ? "below"
                                       : "above"))
          ->type_name(is_ratio ? "LOW,HIGH" : "NUMBER")
          ->group("Limits");
    }
}

Limits limits_from(const Options& options) {
  Limits limits = limits_of(preset_named(options.preset).value_or(Preset::standard));
  for (const LimitOption& option : options.limits) limits.set(*option.metric, option.outside, option.low, option.high);
  return limits;
}

// ---- Output

void refuse_to_overwrite(const std::string& path, bool force) {
  std::error_code ignored;
  if (!path.empty() && path != "-" && !force && std::filesystem::exists(path, ignored))
    throw std::runtime_error(path + " exists; choose another name, or overwrite it with --force");
}

[[noreturn]] void fail(const Error& error) {
  throw std::runtime_error(error.todo.empty() ? error.what : error.what + "; " + error.todo);
}

void write_file(const std::string& path, const std::string& text, bool force) {
  Expected<NewFile> file = NewFile::create(path);
  if (!file) fail(file.error());
  const Expected<bool> written = file->write(ConstBytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  if (!written) fail(written.error());
  const Expected<bool> committed = file->commit(force);
  if (!committed) fail(committed.error());
}

void emit(Context& context, const std::string& path, const std::string& text, bool force) {
  if (path.empty() || path == "-")
    context.out.text(text);
  else
    write_file(path, text, force);
}

std::string report_text(const Context& context, const Options& options, const Comparison& comparison) {
  if (options.format == "json") return json_report(comparison, options.allow_unmatched);
  if (options.format == "csv") return csv_report(comparison);
  if (options.format == "sigmastar") return sigmastar_report(comparison);
  TableStyle style;
  style.unmatched_allowed = options.allow_unmatched;
  if (options.out_path.empty() || options.out_path == "-") {
    style.width = context.out.width();
    style.colour = context.out.colour();
  }
  return table_report(comparison, style);
}

// A line on a terminal's standard error that shows how far it is; nothing elsewhere.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) std::fprintf(stderr, "\r\x1b[K");
  }
  void operator()(size_t done, size_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\rcompare: %zu of %zu\x1b[K", done, total);
    std::fflush(stderr);
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  return fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

void run(Context& context, Options options) {
  // --json FILE is written besides the report; --json alone, or --json -, is the report.
  const bool json_besides = options.json && !options.json_path.empty() && options.json_path != "-";
  if (options.json && !json_besides && options.has_format && options.format != "json")
    throw CLI::ValidationError("--json", "alone is a format, and --format asks for another; give it a FILE");
  if (json_besides && !options.out_path.empty() && same_file(options.json_path, options.out_path))
    throw CLI::ValidationError("--out", "names the same file as --json");
  if (options.json && !json_besides) options.format = "json";
  refuse_to_overwrite(options.out_path, options.force);
  if (json_besides) refuse_to_overwrite(options.json_path, options.force);

  const NameMap map = options.map_path.empty() ? NameMap() : read_name_map(options.map_path);
  Sides sides = open_sides(options.target, options.golden, options.frames);
  const Alignment alignment = align(std::move(sides.target), std::move(sides.golden), map);
  const Comparison comparison = [&] {
    ProgressLine line;
    return compare(alignment, limits_from(options),
                   [&](size_t done, size_t total, const std::string&) { line(done, total); });
  }();

  if (json_besides) emit(context, options.json_path, json_report(comparison, options.allow_unmatched), options.force);
  emit(context, options.out_path, report_text(context, options, comparison), options.force);
  // Rows alone would not show what is missing.
  if (options.format == "csv" || options.format == "sigmastar")
    std::fputs(summary_report(comparison, options.allow_unmatched, options.format == "sigmastar").c_str(), stderr);
  // A failed limit is a fact whatever is missing, so it wins over missing data.
  if (comparison.failed())
    context.exit_code = kExitLimitsFailed;
  else if (comparison.has_holes(options.allow_unmatched))
    context.exit_code = kExitDataMissing;
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("compare", "Compare a capture, layer by layer, with its golden");
  auto options = std::make_shared<Options>();
  verb->add_option("TARGET", options->target, "under test: a capture, or a folder of *.mcap or of *.npy files")
      ->required();
  verb->add_option("GOLDEN", options->golden, "the reference, likewise")->required();
  verb->add_option("--map", options->map_path, "file of lines `target golden`, or a JSON object, where names differ")
      ->type_name("FILE");
  verb->add_option("--frame", options->frames.target,
                   "frame of the target (default: the first that both hold completely)")
      ->type_name("N");
  verb->add_option("--golden-frame", options->frames.golden, "frame of the golden (default: the same)")->type_name("N");
  verb->add_option("--preset", options->preset, "limits to start from, and whose vendor's rule to show")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kPresetNames), std::end(kPresetNames))))
      ->type_name("NAME");
  verb->add_flag("--allow-unmatched", options->allow_unmatched, "tensors that only one side has are no missing data");
  CLI::Option* format = verb->add_option("--format", options->format, "what to print");
  format->check(CLI::IsMember({"table", "json", "csv", "sigmastar"}))->type_name("NAME");
  CLI::Option* json =
      verb->add_option("--json", options->json_path, "print JSON; with FILE, write it there besides the report")
          ->expected(0, 1)
          ->type_name("[FILE]");
  verb->add_option("--out", options->out_path, "write the report there instead of to standard output")
      ->type_name("FILE");
  verb->add_flag("--force", options->force, "overwrite files that exist");
  add_limit_options(*verb, *options);
  verb->footer(
      "A layer fails by any limit for fail, else warns by any for warn. Without options: fail at cosine < 0.95 or norm "
      "ratio\n"
      "outside 0.8,1.25, or NaN or Inf of its own; warn at cosine < 0.99 or norm ratio outside 0.9,1.1.\n"
      "Exit codes: 4 a layer or an input failed; else 3 something was not judged; else 0.");
  verb->callback([&context, options, json, format] {
    options->has_format = format->count() > 0;
    options->json = json->count() > 0;
    run(context, *options);
  });
}

}  // namespace dumphook
