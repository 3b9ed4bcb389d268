// SPDX-License-Identifier: Apache-2.0
// The tool as a user runs it, and captures for it.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "capture_builder.h"

namespace dumphook {

using dumphook_test::CaptureBuilder;
using dumphook_test::scratch_folder;
using dumphook_test::TensorSpec;
using dumphook_test::write_file;

struct Ran {
  int exit_code;
  std::string out, err;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Through a shell, so that tests can use pipes; standard input is empty.
inline Ran tool(const std::string& arguments, const std::string& before = "", const std::string& behind = "") {
  const std::string errors = scratch_folder() + "/stderr";
  const std::string command =
      before + " '" DUMPHOOK_TOOL "' " + arguments + " 2>" + errors + (before.empty() ? " </dev/null " : " ") + behind;
  std::FILE* pipe = popen(command.c_str(), "r");
  Ran run{-1, "", ""};
  std::array<char, 4096> buffer;
  for (size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) run.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.err = content_of(errors);
  return run;
}

inline TensorSpec quantized() {
  TensorSpec tensor;
  tensor.name = "conv/1";
  tensor.dtype = 13;
  tensor.shape = {2, 3};
  tensor.bytes = {0, 1, 2, 3, 4, 255};
  tensor.scale = {0.5f};
  tensor.zero_point = {1};
  return tensor;
}

inline std::string fine_capture() {
  const std::string path = scratch_folder() + "/fine.mcap";
  CaptureBuilder builder;
  builder.graph("net", {{"node0", "Conv", {"in"}, {"conv/1"}}, {"node1", "Relu", {"conv/1"}, {"out"}}});
  for (uint64_t frame = 0; frame < 3; ++frame) {
    builder.frame_begin(frame);
    TensorSpec out;
    out.name = "out";
    out.op = "Relu";
    out.tensor_id = 1;
    builder.tensor(out, frame);
    builder.tensor(quantized(), frame);
    builder.frame_end(frame, 2, 2);
  }
  builder.counters({6, 6, 0, {}, true});
  builder.seal();
  write_file(path, builder.bytes());
  return path;
}

inline std::string holed_capture() {
  const std::string path = scratch_folder() + "/holed.mcap";
  CaptureBuilder builder;
  builder.frame_begin(0);
  builder.tensor(quantized(), 0);
  TensorSpec big;
  big.name = "big";
  big.tensor_id = 1;
  big.shape = {64};
  builder.tensor(big, 0, 64);
  const std::string bytes = builder.bytes();
  write_file(path, bytes.substr(0, bytes.size() - 30));
  return path;
}

}  // namespace dumphook
