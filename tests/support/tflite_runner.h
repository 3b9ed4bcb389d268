// SPDX-License-Identifier: Apache-2.0
// Runs .tflite models in tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorflow/lite/c/c_api.h"
#include "tensorflow/lite/c/common.h"

// Exported by the C library, but declared in headers that do not come with it.
extern "C" {
void TfLiteInterpreterOptionsAddCustomOp(TfLiteInterpreterOptions*, const char* name, const TfLiteRegistration*,
                                         int32_t min_version, int32_t max_version);
TfLiteStatus TfLiteInterpreterModifyGraphWithDelegate(const TfLiteInterpreter*, TfLiteDelegate*);
TfLiteDelegate* TfLiteXNNPackDelegateCreate(const void* options);  // begins with int32 num_threads; zero is a default
void TfLiteXNNPackDelegateDelete(TfLiteDelegate*);
}

namespace dumphook::test {

using Bytes = std::vector<uint8_t>;

// A model on one thread. Add delegates and operators to options(), then create().
class Interpreter {
 public:
  explicit Interpreter(const Bytes& model);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  TfLiteInterpreterOptions* options() { return options_; }
  TfLiteInterpreter* get() { return interpreter_; }

  bool create();
  void set_input(const Bytes& bytes);
  template <typename T>
  void set_input(const std::vector<T>& values) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    set_input(Bytes(bytes, bytes + values.size() * sizeof(T)));
  }
  TfLiteStatus invoke() { return TfLiteInterpreterInvoke(interpreter_); }

  std::vector<const TfLiteTensor*> outputs();
  std::vector<Bytes> output_bytes();

 private:
  Bytes file_;
  TfLiteInterpreterOptions* options_;
  TfLiteModel* model_ = nullptr;
  TfLiteInterpreter* interpreter_ = nullptr;
};

// Input without meaning that reaches every layer; the same on every machine.
Bytes noise_input(const Bytes& model);

// The model of this file name in the assets (or of an absolute path). Empty where it is not there.
Bytes read_model(const std::string& name);

// The models of the assets and, for trying others, the paths in DUMPHOOK_TFLITE_MODELS (separated by colons).
std::vector<std::string> real_models();

// A model's file name as GoogleTest wants it.
std::string test_name(const std::string& model);

}  // namespace dumphook::test
