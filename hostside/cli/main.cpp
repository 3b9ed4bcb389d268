// SPDX-License-Identifier: Apache-2.0
// dumphook: the command line tool. Verbs are in cmd_*.cpp.
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/verbs.h"
#include "dumphook/dumphook.h"

#define DUMPHOOK_TEXT(number) DUMPHOOK_TEXT_OF(number)
#define DUMPHOOK_TEXT_OF(number) #number

namespace dumphook {

// Names in errors come from the board: shown() is for all of them.
void Context::say(const std::string& line) const { std::fprintf(stderr, "dumphook: %s\n", shown(line).c_str()); }

void Context::fail(const Error& error) {
  say(error.what);
  if (!error.todo.empty()) say(error.todo);
  exit_code = kExitError;
}

namespace {

int run(int argc, char** argv) {
  Context context;
  CLI::App app{"See inside neural networks on real boards."};
  app.set_version_flag("--version", "dumphook " DUMPHOOK_TEXT(DH_VERSION_MAJOR) "." DUMPHOOK_TEXT(
                                        DH_VERSION_MINOR) "." DUMPHOOK_TEXT(DH_VERSION_PATCH));
  app.require_subcommand(1);
  app.fallthrough();
  std::string colour = "auto";
  app.add_option("--color", colour, "colours: on a terminal, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.parse_complete_callback([&] {
    context.out.set_colour(colour == "always"  ? Output::Colour::always
                           : colour == "never" ? Output::Colour::never
                                               : Output::Colour::automatic);
  });
  app.footer(
      "Exit codes: 0 fine, 1 error, 2 usage, 3 finished but data are missing, 4 the comparison failed its limits.");

#ifdef DUMPHOOK_VERB_RECORD
  add_record(app, context);
#endif
  add_info(app, context);
  add_ls(app, context);
  add_show(app, context);
  add_export(app, context);
  add_recover(app, context);
  add_doctor(app, context);
#ifdef DUMPHOOK_VERB_COMPARE
  add_compare(app, context);
#endif

  try {
    app.parse(argc, argv);
    context.out.finish();
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty()) {
      context.say("there is no verb '" + app.remaining().front() + "'; dumphook --help lists them");
      return kExitUsage;
    }
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  } catch (const ClosedPipe&) {
    // Nobody reads on: what they wanted, they have.
  } catch (const std::bad_alloc&) {
    context.fail({"there is not enough memory", ""});
  } catch (const std::exception& error) {
    context.fail({error.what(), ""});
  }
  return context.exit_code;
}

}  // namespace
}  // namespace dumphook

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), see Output
  return dumphook::run(argc, argv);
}
