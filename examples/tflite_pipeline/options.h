// SPDX-License-Identifier: Apache-2.0
// The command line of tflite_pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Options {
  std::string model;
  std::vector<std::string> photos;  // in order of their names where a folder was given
  uint64_t frames = 0;              // 0 = each photo once
  std::string sink, second_sink;
  std::string policy = "block";
  std::string outputs;
  std::string plant_layer;
  float plant_factor = 1;
  bool capture = true;
  uint64_t prove_frames = 0;  // 0 = run the pipeline
  std::string json;
};

// On a wrong command line prints what is wrong, and how it should be, and exits with 2.
Options parse_options(int argc, char** argv);
