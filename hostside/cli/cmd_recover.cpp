// SPDX-License-Identifier: Apache-2.0
// dumphook recover IN [-o OUT]: a crashed, cut-off or damaged capture as a sealed one, with all that is whole in it.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "cli/choose.h"
#include "cli/json.h"
#include "cli/new_file.h"
#include "cli/recovery.h"
#include "cli/verbs.h"
#include "decode/coverage.h"

namespace dumphook {
namespace {

struct RecoverOptions {
  std::string in, out;
  bool force = false;
};

// PATH with `text` before its extension.
std::string with_suffix(const std::string& path, const std::string& text) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has_dot = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot > 0;
  return has_dot ? path.substr(0, dot) + text + path.substr(dot) : path + text;
}

struct Written {
  std::string path;
  uint64_t bytes = 0;
  Coverage found;
  std::vector<SeqRange> gaps;
  bool missing = false;
};

// One session, written, read back, and only then given its name.
Expected<Written> write_session(Recovery& recovery, size_t session, const std::string& path, bool force) {
  if (!force && access(path.c_str(), F_OK) == 0) return Error{path + " exists", "--force replaces it"};
  Expected<NewFile> file = NewFile::create(path);
  if (!file.ok()) return file.error();
  CaptureWriter writer([&file](ConstBytes bytes) { return file->write(bytes); });
  const Expected<bool> done = recovery.write(session, writer);
  if (!done.ok()) return done.error();
  if (std::fflush(file->stream()) != 0) return Error{"cannot write " + path, "is the disk full?"};
  Written written;
  written.path = path;
  written.bytes = writer.bytes();
  if (writer.messages() != 0) {
    const Expected<Capture> capture = Capture::open(file->temporary_path());
    if (!capture.ok()) return capture.error();
    written.found = coverage(*capture);
    for (const CaptureSession& one : capture->sessions()) {
      written.gaps.insert(written.gaps.end(), one.gaps.begin(), one.gaps.end());
    }
  }
  // What the board counted as lost was never in the file.
  written.missing = writer.messages() == 0 || !written.gaps.empty() || !written.found.confirmed ||
                    written.found.truncated + written.found.damaged != 0;
  const Expected<bool> committed = file->commit(force);
  if (!committed.ok()) return committed.error();
  return written;
}

std::string gaps_text(const std::vector<SeqRange>& gaps) {
  std::string text;
  for (size_t i = 0; i < gaps.size() && i < 8; ++i) {
    text += fmt::format("{}{}-{}", i == 0 ? "" : ", ", gaps[i].first, gaps[i].last);
  }
  return gaps.size() > 8 ? text + " ..." : text;
}

void print_text(Context& context, const Recovery& recovery, size_t session, const Written& written) {
  Output& out = context.out;
  const RecoveredSession& found = recovery.sessions()[session];
  out.line(out.bold(shown(written.path)) + fmt::format(": {} messages of session {}, {}", found.messages,
                                                       found.uuid.empty() ? "not known" : shown(found.uuid),
                                                       bytes_text(written.bytes)));
  if (found.repeats != 0) out.line(fmt::format("  {} repeats were left out", found.repeats));
  if (found.damaged != 0) out.line("  " + out.bad(fmt::format("{} damaged messages were left out", found.damaged)));
  if (!written.gaps.empty()) out.line("  " + out.bad("messages that are not here: " + gaps_text(written.gaps)));
  for (const std::string& line : written.found.lines()) out.line("  " + (written.missing ? out.odd(line) : line));
}

Json json_of(const RecoveredSession& found, const Written& written) {
  return {{"path", written.path},
          {"session", found.uuid},
          {"bytes", written.bytes},
          {"streams", found.streams},
          {"messages", found.messages},
          {"repeats", found.repeats},
          {"damaged", found.damaged},
          {"missing", json_ranges(written.gaps)},
          {"tensors",
           {{"whole", written.found.whole},
            {"truncated", written.found.truncated},
            {"damaged", written.found.damaged},
            {"summarised", written.found.summarised}}},
          {"lost", json_losses(written.found.lost)},
          {"confirmed", written.found.confirmed}};
}

void run(Context& context, const RecoverOptions& options) {
  if (options.in == "-" && options.out.empty()) return context.fail({"standard input has no name", "say -o OUT"});
  Expected<Recovery> recovery = Recovery::open(options.in);
  if (!recovery.ok()) return context.fail(recovery.error());
  const std::string out = options.out.empty() ? with_suffix(options.in, "-recovered") : options.out;
  Json sessions = Json::array();
  bool missing = false;
  for (size_t i = 0; i < recovery->sessions().size(); ++i) {
    const std::string path = i == 0 ? out : with_suffix(out, fmt::format("-{}", i + 1));
    const Expected<Written> written = write_session(*recovery, i, path, options.force);
    if (!written.ok()) return context.fail(written.error());
    missing = missing || written->missing || recovery->sessions()[i].damaged != 0;
    if (context.json) {
      sessions.push_back(json_of(recovery->sessions()[i], *written));
    } else {
      print_text(context, *recovery, i, *written);
    }
  }
  const ProblemList& problems = recovery->problems();
  if (context.json) {
    Json list = Json::array();
    for (const Problem& problem : problems.kept()) list.push_back(json_problem(problem, options.in));
    print_json(context.out, {{"format", 1},
                             {"in", options.in},
                             {"in_bytes", recovery->source().size()},
                             {"sessions", sessions},
                             {"problems", list},
                             {"problems_not_listed", problems.not_kept()}});
  } else {
    for (size_t i = 0; i < problems.kept().size() && i < 20; ++i) {
      const Problem& problem = problems.kept()[i];
      context.say(fmt::format("{}:{}: {}", options.in, problem.offset, problem.what));
    }
    const size_t more = problems.kept().size() + problems.not_kept() - std::min<size_t>(20, problems.kept().size());
    if (more != 0) context.say(fmt::format("... and {} more places", more));
  }
  if (missing || problems.errors() != 0) context.exit_code = kExitDataMissing;
}

}  // namespace

void add_recover(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("recover", "rebuild a crashed, cut-off or damaged capture");
  auto options = std::make_shared<RecoverOptions>();
  verb->add_option("IN", options->in, "file, or - for standard input")->required();
  verb->add_option("-o,--out", options->out,
                   "the new file; default: IN-recovered.mcap. Further sessions in IN go to OUT-2 and so on");
  verb->add_flag("--force", options->force, "replace files that are there");
  add_json_option(*verb, context);
  verb->callback([&context, options] { run(context, *options); });
}

}  // namespace dumphook
