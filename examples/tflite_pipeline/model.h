// SPDX-License-Identifier: Apache-2.0
// A .tflite model with one input, float or int8, seen from outside as float.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dumphook/adapters/tflite.hpp>

class Model {
 public:
  // Throws std::runtime_error. The hooks must outlive the model.
  Model(const std::string& path, const std::vector<dumphook::tflite::HookDelegate*>& hooks);

  // Of the input, [1, side, side, 3].
  int input_side() const;

  // Quantises, where the model's input is quantised.
  void set_input(const std::vector<float>& values);
  void run();

  // The values of an output, dequantised where it is quantised.
  std::vector<float> output(const std::string& name) const;

  // All outputs as they are in memory, one after the other.
  std::string raw_outputs() const;

 private:
  template <typename T>
  using Owned = std::unique_ptr<T, void (*)(T*)>;
  Owned<TfLiteModel> model_;
  Owned<TfLiteInterpreter> interpreter_;
};
