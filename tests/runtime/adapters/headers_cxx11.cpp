// SPDX-License-Identifier: Apache-2.0
// Compiled as C++11 without exceptions and type information: what vendors' compilers offer. Compiling is the test.
#include "dumphook/adapters/tflite.hpp"
#include "dumphook/dumphook.hpp"

dh_status use_everything(TfLiteInterpreterOptions* options, const TfLiteInterpreter* interpreter);

dh_status use_everything(TfLiteInterpreterOptions* options, const TfLiteInterpreter* interpreter) {
  static dh_tap tap = DH_TAP_INIT;
  const float logits[2] = {0, 1};
  const std::string text = "cat";
  dumphook::Session opened, session;
  opened.open_from_env();
  session = std::move(opened);
  dumphook::tflite::HookDelegate hook(session.get(), "model");
  hook.add_to(options);
  hook.bind(interpreter);
  dumphook::Frame frame(session.get());
  hook.set_frame(frame.get());
  frame.capture(&tap, dumphook::text("label", text));
  return frame.capture(&tap, dumphook::tensor("logits", logits, {1, 2}, DH_ROLE_OUTPUT));
}
