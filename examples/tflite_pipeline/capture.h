// SPDX-License-Identifier: Apache-2.0
// How this pipeline is captured: a session, the hook in the model, and a tap for each stage of our own.
#pragma once

#include <array>

#include <dumphook/adapters/tflite.hpp>
#include <dumphook/dumphook.hpp>

constexpr const char* kModelName = "face_detection";

enum class Stage { kPhoto, kResized, kNormalised, kFaces, kText, kCount };

class Capture {
 public:
  // An empty session captures nothing, at no cost.
  Capture(dumphook::Session session, const dumphook::tflite::HookOptions& options)
      : session_(std::move(session)), hook_(session_.get(), kModelName, options) {}

  dh_session* session() const { return session_.get(); }
  dumphook::tflite::HookDelegate* hook() { return &hook_; }

  void begin_frame() {
    frame_ = dh_frame_begin(session_.get(), nullptr);
    hook_.set_frame(frame_);
  }
  void end_frame() { dh_frame_end(session_.get(), frame_); }

  void tensor(Stage stage, dh_tensor tensor) {
    dh_tap* tap = &taps_[static_cast<size_t>(stage)];
    if (!dh_tap_on(tap)) return;
    tensor.model = kModelName;
    dh_capture(session_.get(), tap, frame_, &tensor);
  }

 private:
  dumphook::Session session_;
  dumphook::tflite::HookDelegate hook_;
  std::array<dh_tap, static_cast<size_t>(Stage::kCount)> taps_{};  // zeros, as DH_TAP_INIT
  dh_frame frame_ = 0;
};
