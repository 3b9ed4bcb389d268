// SPDX-License-Identifier: Apache-2.0
// dumphook info CAPTURE: what it is, what is in it, and what is not.
#include <fmt/format.h>

#include <memory>
#include <set>

#include "cli/choose.h"
#include "cli/json.h"
#include "cli/verbs.h"
#include "decode/coverage.h"

namespace dumphook {
namespace {

struct InfoOptions {
  std::vector<std::string> paths;
  size_t problem_limit = 10;
};

struct Totals {
  uint64_t raw_bytes = 0, stored_bytes = 0, names = 0;
};

Totals totals_of(const Capture& capture) {
  Totals totals;
  std::set<std::pair<std::string, std::string>> names;
  for (const CapturedTensor& tensor : capture.tensors()) {
    totals.raw_bytes += tensor.raw_bytes;
    totals.stored_bytes += tensor.stored_bytes;
    names.emplace(tensor.model(), tensor.name());
  }
  totals.names = names.size();
  return totals;
}

// "3 streams: 2 sealed, 1 cut off"
std::string streams_text(const std::vector<CaptureStream>& streams) {
  size_t sealed = 0, cut = 0, chunked = 0;
  uint64_t zeros = 0;
  for (const CaptureStream& stream : streams) {
    sealed += stream.sealed;
    cut += stream.cut;
    chunked += stream.chunked;
    zeros += stream.zero_tail_bytes;
  }
  std::string text =
      fmt::format("{} ({} chunked): {} sealed, {} open", streams.size(), chunked, sealed, streams.size() - sealed);
  if (cut > 0) text += fmt::format(", {} cut off in mid-record", cut);
  if (zeros > 0) text += fmt::format(", {} of zeros at the end", bytes_text(zeros));
  return text;
}

std::string seq_text(const CaptureSession& session) {
  if (session.last_seq == 0) return "none";
  std::string text = fmt::format("{} to {}", session.first_seq, session.last_seq);
  if (session.gaps.empty()) return text + ", no gaps";
  text += fmt::format(", {} gaps:", session.gaps.size());
  for (size_t i = 0; i < session.gaps.size() && i < 4; ++i) {
    text += fmt::format(" {}-{}", session.gaps[i].first, session.gaps[i].last);
  }
  return text + (session.gaps.size() > 4 ? " ..." : "");
}

std::string losses_text(const LossCounts& lost) {
  std::string text;
  for (const auto& [reason, count] : lost) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", loss_reason_name(reason), count);
  }
  return text.empty() ? "none" : text;
}

class Lines {
 public:
  explicit Lines(Output& out) : out_(out) {}
  void add(const std::string& label, const std::string& text) {
    if (!text.empty()) out_.line(out_.bold(fmt::format("{:<12}", label)) + text);
  }

 private:
  Output& out_;
};

void print_session(Lines& lines, const CaptureSession& session, const Output& out) {
  lines.add("session", session.uuid.empty() ? "not known" : shown(session.uuid));
  std::string board;
  for (const auto& [label, value] : {std::pair<const char*, const std::string&>{"board", session.board},
                                     {"soc", session.soc},
                                     {"sdk", session.sdk},
                                     {"build", session.build},
                                     {"model_hash", session.model_hash}}) {
    if (!value.empty()) board += fmt::format("{}{} {}", board.empty() ? "" : ", ", label, shown(value));
  }
  lines.add("board", board);
  for (const auto& [key, value] : session.attributes) lines.add("", shown(key) + " = " + shown(value));
  if (session.last_log_time > 0) {
    lines.add("time", fmt::format("{}, {}", time_text(session.first_log_time),
                                  duration_text(session.last_log_time - session.first_log_time)));
  }
  lines.add("messages", seq_text(session));
  lines.add("end", session.confirmed() ? out.good("closed by the app, everything up to it is here")
                   : session.counters && session.counters->closing
                       ? out.odd("closed by the app; unconfirmed: messages before it are missing here")
                       : out.odd("unconfirmed: the session's closing message is not here"));
  if (session.counters) {
    const SessionCounters& counters = *session.counters;
    lines.add("counters", fmt::format("seen {} = shipped {} + in flight {} + lost {}; pool peak {}, spool peak {}",
                                      counters.seen, counters.shipped, counters.in_flight, losses_text(counters.lost),
                                      bytes_text(counters.pool_peak_bytes), bytes_text(counters.spool_peak_bytes)));
  }
  for (size_t i = 0; i < session.log.size() && i < 20; ++i) {
    static constexpr const char* kLevels[] = {"error", "warning", "info"};
    const size_t level = static_cast<size_t>(session.log[i].level);
    lines.add("log", fmt::format("{}: {}", level < 3 ? kLevels[level] : "?", shown(session.log[i].text)));
  }
  if (session.log.size() > 20) lines.add("", fmt::format("... and {} more lines", session.log.size() - 20));
}

void print_text(Output& out, const Capture& capture, const Coverage& found, const InfoOptions& options) {
  Lines lines(out);
  std::string files;
  for (const std::string& path : capture.files()) files += (files.empty() ? "" : ", ") + shown(path);
  lines.add("capture", fmt::format("{} ({})", files, bytes_text(capture.file_bytes())));
  if (!capture.streams().empty()) {
    const CaptureStream& stream = capture.streams().front();
    const auto format = stream.metadata.find("format_current");
    lines.add("format", fmt::format("{}, written by {}", format == stream.metadata.end() ? "?" : shown(format->second),
                                    stream.library.empty() ? "?" : shown(stream.library)));
    lines.add("streams", streams_text(capture.streams()));
  }
  for (const CaptureSession& session : capture.sessions()) print_session(lines, session, out);

  const Totals totals = totals_of(capture);
  lines.add("frames", fmt::format("{}: {} complete, {} incomplete", found.frames, found.frames_complete,
                                  found.frames - found.frames_complete));
  lines.add("tensors",
            fmt::format("{} of {} names: {} whole, {} truncated, {} damaged, {} summarised", capture.tensors().size(),
                        totals.names, found.whole, found.truncated, found.damaged, found.summarised));
  lines.add("bytes", fmt::format("{} raw, {} stored{}", bytes_text(totals.raw_bytes), bytes_text(totals.stored_bytes),
                                 totals.stored_bytes == 0
                                     ? std::string()
                                     : fmt::format(", ratio {:.2f}", static_cast<double>(totals.raw_bytes) /
                                                                         static_cast<double>(totals.stored_bytes))));
  for (const CapturedGraph& graph : capture.graphs()) {
    lines.add("model",
              fmt::format("{}, {} of {} nodes declared", graph.model.empty() ? "(unnamed)" : shown(graph.model),
                          graph.nodes.size(), graph.node_total));
  }
  lines.add("losses", losses_text(found.lost));
  const char* label = "coverage";
  for (const std::string& line : found.lines()) {
    lines.add(label, found.data_missing() ? out.odd(line) : line);
    label = "";
  }
  label = "problems";
  for (const std::string& line : problem_lines(capture, options.problem_limit)) {
    lines.add(label, out.bad(line));
    label = "";
  }
}

Json json_session(const CaptureSession& session) {
  Json object{{"session", session.uuid},
              {"board", session.board},
              {"soc", session.soc},
              {"sdk", session.sdk},
              {"build", session.build},
              {"model_hash", session.model_hash},
              {"attributes", session.attributes}};
  object["first_log_time_ns"] = std::to_string(session.first_log_time);
  object["last_log_time_ns"] = std::to_string(session.last_log_time);
  object["first_stream_seq"] = session.first_seq;
  object["last_stream_seq"] = session.last_seq;
  object["gaps"] = Json::array();
  for (const SeqRange& gap : session.gaps) object["gaps"].push_back({gap.first, gap.last});
  object["confirmed"] = session.confirmed();
  object["counters"] = nullptr;
  if (session.counters) {
    const SessionCounters& counters = *session.counters;
    object["counters"] = {{"seen", counters.seen},
                          {"shipped", counters.shipped},
                          {"in_flight", counters.in_flight},
                          {"lost", json_losses(counters.lost)},
                          {"frames_begun", counters.frames_begun},
                          {"frames_ended", counters.frames_ended},
                          {"raw_bytes", counters.raw_bytes},
                          {"encoded_bytes", counters.encoded_bytes},
                          {"pool_peak_bytes", counters.pool_peak_bytes},
                          {"spool_peak_bytes", counters.spool_peak_bytes},
                          {"closing", counters.closing}};
  }
  object["log"] = Json::array();
  for (const LogLine& line : session.log) object["log"].push_back(line.text);
  return object;
}

void print_object(Output& out, const Capture& capture, const Coverage& found) {
  const Totals totals = totals_of(capture);
  Json object{{"format", 1}, {"files", capture.files()}, {"file_bytes", capture.file_bytes()}};
  object["sessions"] = Json::array();
  for (const CaptureSession& session : capture.sessions()) object["sessions"].push_back(json_session(session));
  object["streams"] = Json::array();
  for (const CaptureStream& stream : capture.streams()) {
    object["streams"].push_back({{"file", capture.files()[stream.file]},
                                 {"offset", stream.file_offset},
                                 {"library", stream.library},
                                 {"messages", stream.messages},
                                 {"repeats", stream.repeats},
                                 {"chunked", stream.chunked},
                                 {"sealed", stream.sealed},
                                 {"cut", stream.cut},
                                 {"zero_tail_bytes", stream.zero_tail_bytes}});
  }
  object["frames"] = {{"all", found.frames}, {"complete", found.frames_complete}};
  object["tensors"] = {{"all", capture.tensors().size()},
                       {"names", totals.names},
                       {"whole", found.whole},
                       {"truncated", found.truncated},
                       {"damaged", found.damaged},
                       {"summarised", found.summarised},
                       {"raw_bytes", totals.raw_bytes},
                       {"stored_bytes", totals.stored_bytes}};
  Json coverage{{"graph_known", found.graph_known},
                {"confirmed", found.confirmed},
                {"sealed", found.sealed},
                {"complete", found.complete()},
                {"data_missing", found.data_missing()},
                {"missing_messages", found.missing_messages},
                {"lost", json_losses(found.lost)}};
  coverage["layers"] = Json::array();
  for (const LayerCoverage& layer : found.layers) {
    coverage["layers"].push_back({{"model", layer.model},
                                  {"name", layer.name},
                                  {"op", layer.op},
                                  {"declared", layer.declared},
                                  {"state", layer_state_name(layer.state)},
                                  {"whole", layer.whole},
                                  {"truncated", layer.truncated},
                                  {"damaged", layer.damaged},
                                  {"summarised", layer.summarised},
                                  {"lost", json_losses(layer.lost)}});
  }
  object["coverage"] = std::move(coverage);
  object["problems"] = Json::array();
  for (const Problem& problem : capture.problems().kept()) {
    object["problems"].push_back(json_problem(problem, capture.files()[problem.file]));
  }
  object["problems_not_listed"] = capture.problems().not_kept();
  print_json(out, object);
}

void run(Context& context, const InfoOptions& options) {
  const Expected<Capture> capture =
      options.paths.size() == 1 ? Capture::open(options.paths[0]) : Capture::open(options.paths);
  if (!capture) return context.fail(capture.error());
  const Coverage found = coverage(*capture);
  if (context.json)
    print_object(context.out, *capture, found);
  else
    print_text(context.out, *capture, found, options);
  if (found.data_missing() || !found.confirmed || capture->problems().errors() > 0)
    context.exit_code = kExitDataMissing;
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("info", "what a capture holds, and what it lacks");
  auto options = std::make_shared<InfoOptions>();
  verb->add_option("CAPTURE", options->paths, "file, folder, several segments of a session, or - for standard input")
      ->required();
  verb->add_option("--problems", options->problem_limit, "how many problems to print")
      ->check(not_negative())
      ->capture_default_str();
  add_json_option(*verb, context);
  verb->callback([&context, options] { run(context, *options); });
}

}  // namespace dumphook
