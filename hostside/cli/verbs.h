// SPDX-License-Identifier: Apache-2.0
// The verbs of `dumphook`: one file each, cmd_<verb>.cpp, which defines add_<verb>. It declares the verb's options and
// sets a callback that runs it: results go to context.out, everything else to context.say and fail, the outcome to
// exit_code.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/output.h"

namespace dumphook {

// Documented in the README.
enum ExitCode : int {
  kExitOk = 0,
  kExitError = 1,
  kExitUsage = 2,
  kExitDataMissing = 3,   // finished, but something that was selected is not there
  kExitLimitsFailed = 4,  // the comparison failed its limits
};

// What all verbs share. Lives as long as main.
struct Context {
  Output out;
  int exit_code = kExitOk;
  bool json = false;

  // A line to standard error.
  void say(const std::string& line) const;
  // The same for an error, with what to do about it. Sets exit_code.
  void fail(const Error& error);
};

// --json, for verbs that have it. All should.
inline void add_json_option(CLI::App& verb, Context& context) {
  verb.add_flag("--json", context.json, "print one JSON object instead of text");
}

// For options that count something.
inline CLI::Validator not_negative() {
  return CLI::Validator(
      [](std::string& text) { return !text.empty() && text[0] == '-' ? "must not be negative" : std::string(); }, "");
}

void add_info(CLI::App& app, Context& context);
void add_ls(CLI::App& app, Context& context);
void add_show(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_recover(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_record(CLI::App& app, Context& context);

}  // namespace dumphook
