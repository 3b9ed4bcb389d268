// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

constexpr const char* kUsage =
    "usage: tflite_pipeline --model FILE --photos FOLDER|FILE... [options]\n"
    "  --frames N                run N frames, beginning again after the last photo\n"
    "  --sink URI                where the capture goes, e.g. file:run.mcap; otherwise DUMPHOOK_SINK, and all "
    "DUMPHOOK_*\n"
    "  --second-sink URI         a second session in the same process\n"
    "  --policy block|drop       what happens when the capture cannot keep up (block)\n"
    "  --no-capture              run the model only\n"
    "  --outputs FILE            write the raw outputs of all frames\n"
    "  --prove-harmless N        instead: run the model N times without hook, off, with statistics and in full, by "
    "turns,\n"
    "                            and compare outputs and latency; without --sink the capture is thrown away\n"
    "  --json FILE               the proof's figures\n"
    "  --plant-scale LAYER=X     a planted fault: describe LAYER with its quantization scale multiplied by X\n";

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "tflite_pipeline: %s\n%s", text.c_str(), kUsage);
  std::exit(2);
}

std::vector<std::string> find_photos(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> photos;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".jpg") photos.push_back(entry.path().string());
  }
  std::sort(photos.begin(), photos.end());
  return photos;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) fail(option + " needs a value");
      return argv[i];
    };
    if (option == "--model") {
      options.model = value();
    } else if (option == "--photos") {
      do {
        const std::vector<std::string> found = find_photos(value());
        options.photos.insert(options.photos.end(), found.begin(), found.end());
      } while (i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0);
    } else if (option == "--frames") {
      options.frames = std::strtoull(value().c_str(), nullptr, 10);
      if (options.frames == 0) fail("--frames needs a number above 0");
    } else if (option == "--sink") {
      options.sink = value();
    } else if (option == "--second-sink") {
      options.second_sink = value();
    } else if (option == "--policy") {
      options.policy = value();
      if (options.policy != "block" && options.policy != "drop") fail("--policy is block or drop");
    } else if (option == "--no-capture") {
      options.capture = false;
    } else if (option == "--outputs") {
      options.outputs = value();
    } else if (option == "--prove-harmless") {
      options.prove_frames = std::strtoull(value().c_str(), nullptr, 10);
      if (options.prove_frames == 0) fail("--prove-harmless needs a number above 0");
    } else if (option == "--json") {
      options.json = value();
    } else if (option == "--plant-scale") {
      const std::string plant = value();
      const size_t equals = plant.rfind('=');
      if (equals == std::string::npos) fail("--plant-scale needs LAYER=FACTOR");
      options.plant_layer = plant.substr(0, equals);
      options.plant_factor = std::strtof(plant.c_str() + equals + 1, nullptr);
      if (options.plant_factor <= 0) fail("--plant-scale needs a factor above 0");
    } else {
      fail("unknown option " + option);
    }
  }
  if (options.model.empty()) fail("--model is missing");
  if (options.photos.empty()) fail("--photos is missing, or the folder has no .jpg");
  if (options.frames == 0) options.frames = options.photos.size();
  return options;
}
