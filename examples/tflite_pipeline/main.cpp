// SPDX-License-Identifier: Apache-2.0
// A whole pipeline with every stage captured: photo -> resized -> normalised -> model, layer by layer -> faces.
//
//     tflite_pipeline --model face_detection_full_range_int8.tflite --photos photos --frames 10 --sink file:int8.mcap
//
// Prints the faces of each frame, then how many tensors were captured. Runs the same on a PC and on a board.
// With --prove-harmless N: what capture does to outputs and latency (harmless.h).
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "capture.h"
#include "detect.h"
#include "harmless.h"
#include "image.h"
#include "model.h"
#include "options.h"

namespace {

void on_log(void*, dh_log_level, const char* text) { std::fprintf(stderr, "dumphook: %s\n", text); }

// Opens the session of this sink; without one, what DUMPHOOK_* says, which may be none.
dumphook::Session open_session(const Options& options, const std::string& sink) {
  dh_options config = dh_options_default();
  config.include = "*";
  config.policy = options.policy == "block" ? DH_POLICY_BLOCK : DH_POLICY_DROP;
  config.on_log = on_log;
  dumphook::Session session;
  if (!options.capture) return session;
  config.sink = sink.c_str();
  if (sink.empty()) config.sink = nullptr;
  const dh_status status = sink.empty() ? session.open_from_env(config) : session.open(config);
  if (status < 0) throw std::runtime_error(std::string("no capture: ") + dh_status_text(status));
  return session;
}

std::vector<std::unique_ptr<Capture>> open_captures(const Options& options) {
  dumphook::tflite::HookOptions hook;
  hook.on_log = on_log;
  hook.plant_scale_tensor = options.plant_layer.empty() ? nullptr : options.plant_layer.c_str();
  hook.plant_scale_factor = options.plant_factor;
  std::vector<std::unique_ptr<Capture>> captures;
  captures.emplace_back(new Capture(open_session(options, options.sink), hook));
  if (!options.second_sink.empty())
    captures.emplace_back(new Capture(open_session(options, options.second_sink), hook));
  return captures;
}

// One frame: from the photo's file to the faces in it.
std::vector<Face> process(const std::string& path, Model* model,
                          const std::vector<std::unique_ptr<Capture>>& captures) {
  const auto capture = [&captures](Stage stage, const dh_tensor& tensor) {
    for (const auto& each : captures) each->tensor(stage, tensor);
  };

  const Image photo = decode_jpeg(path);
  capture(Stage::kPhoto, dumphook::image("photo", photo.rgb.data(), photo.height, photo.width, DH_ROLE_INPUT));

  Fit fit;
  const Image resized = fit_into_square(photo, kInputSide, &fit);
  capture(Stage::kResized,
          dumphook::image("resized", resized.rgb.data(), resized.height, resized.width, DH_ROLE_PREPROCESSED));

  const std::vector<float> input = normalise(resized);
  capture(Stage::kNormalised,
          dumphook::tensor("normalised", input.data(), {1, kInputSide, kInputSide, 3}, DH_ROLE_PREPROCESSED));

  model->set_input(input);
  model->run();  // the hook captures the model's input, layers and outputs

  const std::vector<Face> faces = find_faces(model->output(kScoresOutput), model->output(kBoxesOutput), fit);
  static_assert(sizeof(Face) == 5 * sizeof(float), "a face is a row of x0, y0, x1, y1, score");
  capture(Stage::kFaces, dumphook::tensor("faces", reinterpret_cast<const float*>(faces.data()),
                                          {static_cast<int64_t>(faces.size()), 5}, DH_ROLE_POSTPROCESSED));
  const std::string text = to_text(faces);
  capture(Stage::kText, dumphook::text("detections", text));
  return faces;
}

void print_counters(dh_session* session) {
  dh_counter_values values = dh_counter_values();
  values.struct_size = sizeof values;
  if (dh_counters(session, &values) != DH_OK) return;
  std::printf("captured %llu tensors, shipped %llu, in flight %llu", static_cast<unsigned long long>(values.seen),
              static_cast<unsigned long long>(values.shipped), static_cast<unsigned long long>(values.in_flight));
  for (int reason = 0; reason < DH_LOSS_REASON_COUNT; ++reason) {
    if (values.lost[reason] == 0) continue;
    std::printf(", lost %llu (%s)", static_cast<unsigned long long>(values.lost[reason]),
                dh_loss_reason_text(static_cast<dh_loss_reason>(reason)));
  }
  std::printf("; %llu bytes as %llu\n", static_cast<unsigned long long>(values.raw_bytes),
              static_cast<unsigned long long>(values.encoded_bytes));
}

void run(const Options& options) {
  const std::vector<std::unique_ptr<Capture>> captures = open_captures(options);
  std::vector<dumphook::tflite::HookDelegate*> hooks;
  for (const auto& capture : captures) hooks.push_back(capture->hook());
  Model model(options.model, hooks);
  std::ofstream outputs;
  if (!options.outputs.empty()) outputs.open(options.outputs, std::ios::binary);

  for (uint64_t frame = 0; frame < options.frames; ++frame) {
    const std::string& photo = options.photos[frame % options.photos.size()];
    for (const auto& capture : captures) capture->begin_frame();
    const std::vector<Face> faces = process(photo, &model, captures);
    for (const auto& capture : captures) capture->end_frame();

    const std::string name = photo.substr(photo.rfind('/') + 1);
    std::printf("frame %llu %s: %zu faces\n%s", static_cast<unsigned long long>(frame), name.c_str(), faces.size(),
                to_text(faces).c_str());
    outputs << model.raw_outputs();
  }
  if (!options.outputs.empty() && !outputs.flush()) throw std::runtime_error(options.outputs + ": cannot be written");

  for (const auto& capture : captures) {
    if (!capture->session()) continue;
    dh_flush(capture->session(), 10000);
    print_counters(capture->session());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  try {
    if (options.prove_frames != 0) return prove_harmless(options) ? 0 : 1;
    run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tflite_pipeline: %s\n", error.what());
    return 1;
  }
  return 0;
}
