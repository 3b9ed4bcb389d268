// SPDX-License-Identifier: Apache-2.0
// dumphook doctor FILE...: checks all that can be checked, and says where a capture is damaged or lacks something.
#include <fmt/format.h>

#include <memory>

#include "cli/examination.h"
#include "cli/json.h"
#include "cli/verbs.h"

namespace dumphook {
namespace {

constexpr const char* kHarms[] = {"note", "missing", "damaged"};
constexpr const char* kVerdicts[] = {"healthy", "missing", "damaged"};

void print_text(Output& out, const Examination& found) {
  for (const Finding& finding : found.findings) {
    const std::string word = kHarms[static_cast<size_t>(finding.harm)];
    out.line(fmt::format("{}:{}: {}: {}", shown(found.files[finding.problem.file]), finding.problem.offset,
                         finding.harm == Harm::damaged   ? out.bad(word)
                         : finding.harm == Harm::missing ? out.odd(word)
                                                         : word,
                         shown(finding.problem.what)));
    if (!finding.problem.todo.empty()) out.line("    " + finding.problem.todo);
  }
  if (found.not_kept != 0) out.line(fmt::format("... and {} more", found.not_kept));
  const std::string verdict = found.worst == Harm::none      ? out.good("healthy")
                              : found.worst == Harm::missing ? out.odd("something is missing")
                                                             : out.bad("damaged");
  out.line(fmt::format("{}: {} files, {}, {} streams, {} chunks, {} messages, {} tensors", verdict, found.files.size(),
                       bytes_text(found.bytes), found.streams, found.chunks, found.messages, found.tensors));
}

void print_object(Output& out, const Examination& found) {
  Json object{{"format", 1},
              {"verdict", kVerdicts[static_cast<size_t>(found.worst)]},
              {"files", found.files},
              {"bytes", found.bytes},
              {"streams", found.streams},
              {"chunks", found.chunks},
              {"messages", found.messages},
              {"tensors", found.tensors},
              {"findings", Json::array()},
              {"findings_not_listed", found.not_kept}};
  for (const Finding& finding : found.findings) {
    Json one = json_problem(finding.problem, found.files[finding.problem.file]);
    one["harm"] = kHarms[static_cast<size_t>(finding.harm)];
    object["findings"].push_back(std::move(one));
  }
  print_json(out, object);
}

void run(Context& context, const std::vector<std::string>& paths) {
  const Expected<Examination> found = examine(paths);
  if (!found.ok()) return context.fail(found.error());
  context.json ? print_object(context.out, *found) : print_text(context.out, *found);
  context.exit_code = found->worst == Harm::none      ? kExitOk
                      : found->worst == Harm::missing ? kExitDataMissing
                                                      : kExitError;
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  CLI::App* verb = app.add_subcommand("doctor", "check a capture: 0 healthy, 3 something is missing, 1 damaged");
  auto paths = std::make_shared<std::vector<std::string>>();
  verb->add_option("FILE", *paths, "files; all segments of a session together")->required();
  add_json_option(*verb, context);
  verb->callback([&context, paths] { run(context, *paths); });
}

}  // namespace dumphook
