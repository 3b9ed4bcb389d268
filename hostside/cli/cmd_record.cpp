// SPDX-License-Identifier: Apache-2.0
// dumphook record: the collector. Boards connect, their captures become files.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/json.h"
#include "cli/new_file.h"
#include "cli/verbs.h"
#include "collect/collector.h"

namespace dumphook {
namespace {

constexpr int kTurnMs = 200;

struct RecordOptions {
  std::string listen = "127.0.0.1:9000", out = ".", ready_file;
  bool once = false, insecure = false, force = false;
  size_t boards = 0;
  double timeout_s = 0;
};

bool names_a_file(const std::string& path) { return std::filesystem::path(path).extension() == ".mcap"; }

std::string line_of(const CollectedSession& session) {
  std::string line =
      fmt::format("{}: {}{} messages, {}, {}", session.path, session.board.empty() ? "" : shown(session.board) + ", ",
                  session.messages, bytes_text(session.bytes),
                  session.complete() ? "complete"
                  : session.closed   ? "closed by the board"
                                     : "not closed by the board");
  if (session.missing != 0) line += fmt::format(", {} never came", session.missing);
  if (session.damaged != 0) line += fmt::format(", {} damaged", session.damaged);
  return line;
}

Json json_of(const CollectedSession& session) {
  return {{"path", session.path},         {"session", session.session},     {"board", session.board},
          {"messages", session.messages}, {"bytes", session.bytes},         {"connections", session.streams},
          {"closed", session.closed},     {"complete", session.complete()}, {"missing", session.missing},
          {"damaged", session.damaged}};
}

// Appears whole: whoever waits for it finds the address in it.
Expected<bool> write_ready_file(const std::string& path, const std::string& address) {
  Expected<NewFile> file = NewFile::create(path);
  if (!file.ok()) return file.error();
  const std::string line = address + "\n";
  const Expected<bool> written = file->write(ConstBytes(reinterpret_cast<const uint8_t*>(line.data()), line.size()));
  return written.ok() ? file->commit(true) : written;
}

void run_record(const RecordOptions& options, Context& context) {
  CollectorOptions collecting;
  collecting.listen = options.listen;
  collecting.insecure = options.insecure;
  collecting.replace_file = options.force;
  (names_a_file(options.out) ? collecting.file : collecting.folder) = options.out;
  collecting.say = [&context](const std::string& line) { context.say(shown(line)); };
  const size_t boards = options.once || names_a_file(options.out) ? 1 : options.boards;

  InterruptGuard guard;
  Expected<std::unique_ptr<Collector>> opened = Collector::open(collecting);
  if (!opened.ok()) return context.fail(opened.error());
  Collector& collector = **opened;
  context.say("listening on " + collector.address());
  if (!options.ready_file.empty()) {
    const Expected<bool> ready = write_ready_file(options.ready_file, collector.address());
    if (!ready.ok()) return context.fail(ready.error());
  }

  size_t shown_sessions = 0;
  const auto show_sealed = [&] {
    for (; shown_sessions < collector.sealed().size() && !context.json; ++shown_sessions) {
      context.out.line(line_of(collector.sealed()[shown_sessions]));
    }
  };
  const auto timeout = std::chrono::duration<double>(options.timeout_s);
  bool timed_out = false;
  while (!InterruptGuard::asked() && !timed_out && (boards == 0 || collector.sealed().size() < boards)) {
    const Expected<bool> turned = collector.turn(kTurnMs);
    if (!turned.ok()) {
      context.fail(turned.error());
      break;
    }
    show_sealed();
    timed_out = options.timeout_s > 0 && collector.idle_time() > timeout;
  }
  if (timed_out) context.say(fmt::format("nothing came for {} s", options.timeout_s));
  const Expected<bool> stopped = collector.stop();
  if (!stopped.ok()) context.fail(stopped.error());
  show_sealed();

  bool all_there = collector.sealed().size() >= boards;
  Json sessions = Json::array();
  for (const CollectedSession& session : collector.sealed()) {
    all_there = all_there && session.complete();
    sessions.push_back(json_of(session));
  }
  if (context.json) print_json(context.out, Json{{"format", 1}, {"sessions", sessions}});
  if (context.exit_code == kExitOk && !all_there) context.exit_code = kExitDataMissing;
}

}  // namespace

void add_record(CLI::App& app, Context& context) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* verb = app.add_subcommand("record", "receive captures from boards");
  verb->add_option("--listen", options->listen, "HOST:PORT; port 0 takes any")->capture_default_str();
  verb->add_option("--out", options->out, "a folder, or FILE.mcap for one session")->capture_default_str();
  CLI::Option* once = verb->add_flag("--once", options->once, "end after one session");
  verb->add_option("--boards", options->boards, "end after this many sessions")->check(not_negative())->excludes(once);
  verb->add_option("--timeout", options->timeout_s, "end when nothing came for this many seconds")
      ->check(not_negative());
  verb->add_flag("--insecure", options->insecure, "listen also for other machines, without TLS");
  verb->add_flag("--force", options->force, "replace FILE.mcap");
  verb->add_option("--ready-file", options->ready_file,
                   "write the address there once listening; replaces a file that is there");
  add_json_option(*verb, context);
  verb->callback([options, &context] {
    if (options->force && !names_a_file(options->out)) throw CLI::ValidationError("--force", "needs --out FILE.mcap");
    if (options->boards > 1 && names_a_file(options->out))
      throw CLI::ValidationError("--boards", "FILE.mcap takes one session; name a folder for several");
    run_record(*options, context);
  });
}

}  // namespace dumphook
