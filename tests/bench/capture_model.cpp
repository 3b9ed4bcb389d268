// SPDX-License-Identifier: Apache-2.0
// capture_model MODEL.tflite LOW HIGH OUT.mcap PHOTO...: captures every layer of an image model, a frame per photo,
// whose pixels go from LOW to HIGH. How run.sh makes the corpus.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include <dumphook/dumphook.hpp>

#include "image.h"
#include "model.h"

namespace {

void on_log(void*, dh_log_level, const char* text) { std::fprintf(stderr, "dumphook: %s\n", text); }

void run(char** argv) {
  const float low = std::strtof(argv[2], nullptr), high = std::strtof(argv[3], nullptr);
  const std::string sink = std::string("file:") + argv[4] + "?overwrite=1";
  dh_options options = dh_options_default();
  options.sink = sink.c_str();
  options.include = "*";
  options.policy = DH_POLICY_BLOCK;
  options.on_log = on_log;
  dumphook::Session session;
  if (session.open(options) != DH_OK) throw std::runtime_error("no capture");

  dumphook::tflite::HookOptions hook_options;
  hook_options.on_log = on_log;
  dumphook::tflite::HookDelegate hook(session.get(), "model", hook_options);
  Model model(argv[1], {&hook});
  for (char** photo = argv + 5; *photo != nullptr; ++photo) {
    Fit fit;
    std::vector<float> input;
    for (const uint8_t value : fit_into_square(decode_jpeg(*photo), model.input_side(), &fit).rgb) {
      input.push_back(low + (high - low) * static_cast<float>(value) / 255.0f);
    }
    const dh_frame frame = dh_frame_begin(session.get(), nullptr);
    hook.set_frame(frame);
    model.set_input(input);
    model.run();
    dh_frame_end(session.get(), frame);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: capture_model MODEL.tflite LOW HIGH OUT.mcap PHOTO...\n");
    return 2;
  }
  try {
    run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "capture_model: %s\n", error.what());
    return 1;
  }
  return 0;
}
