// SPDX-License-Identifier: Apache-2.0
// dumphook.h for C++11: a session and a frame that end themselves, and tensors described from typed pointers. Needs no
// exceptions. Everything else is called as in C: dh_flush(session.get(), 1000).
//
//     dumphook::Session session;
//     dh_status status = session.open(options);              // or open_from_env(); while closed, all calls do nothing
//     {
//       dumphook::Frame frame(session.get());
//       static dh_tap tap = DH_TAP_INIT;
//       if (dh_tap_on(&tap)) frame.capture(&tap, dumphook::tensor("logits", logits, {1, 1000}));
//     }
#ifndef DUMPHOOK_DUMPHOOK_HPP
#define DUMPHOOK_DUMPHOOK_HPP

#include <initializer_list>
#include <string>

#include "dumphook/dumphook.h"

namespace dumphook {

class Session {
 public:
  Session() = default;
  ~Session() { close(); }
  Session(Session&& other) noexcept : session_(other.session_) { other.session_ = nullptr; }
  Session& operator=(Session&& other) noexcept {
    if (this == &other) return *this;
    close();
    session_ = other.session_;
    other.session_ = nullptr;
    return *this;
  }

  // Close the session that is open, then as dh_open and dh_open_from_env.
  dh_status open(const dh_options& options) {
    close();
    return dh_open(&options, &session_);
  }
  dh_status open_from_env(const dh_options& options = dh_options_default()) {
    close();
    return dh_open_from_env(&options, &session_);
  }

  // As dh_close. DH_OK when nothing is open.
  dh_status close() {
    if (!session_) return DH_OK;
    dh_session* closing = session_;
    session_ = nullptr;
    return dh_close(closing);
  }

  dh_session* get() const { return session_; }  // NULL when nothing is open

 private:
  dh_session* session_ = nullptr;
};

// One pass of the pipeline, from construction to end of scope.
class Frame {
 public:
  explicit Frame(dh_session* session) : session_(session), frame_(dh_frame_begin(session, nullptr)) {}
  Frame(dh_session* session, const dh_frame_info& info) : session_(session), frame_(dh_frame_begin(session, &info)) {}
  ~Frame() { dh_frame_end(session_, frame_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  dh_status capture(dh_tap* tap, const dh_tensor& tensor) { return dh_capture(session_, tap, frame_, &tensor); }

  dh_frame get() const { return frame_; }

 private:
  dh_session* session_;
  dh_frame frame_;
};

inline dh_dtype dtype_of(const double*) { return DH_F64; }
inline dh_dtype dtype_of(const float*) { return DH_F32; }
inline dh_dtype dtype_of(const int64_t*) { return DH_I64; }
inline dh_dtype dtype_of(const uint64_t*) { return DH_U64; }
inline dh_dtype dtype_of(const int32_t*) { return DH_I32; }
inline dh_dtype dtype_of(const uint32_t*) { return DH_U32; }
inline dh_dtype dtype_of(const int16_t*) { return DH_I16; }
inline dh_dtype dtype_of(const uint16_t*) { return DH_U16; }
inline dh_dtype dtype_of(const int8_t*) { return DH_I8; }
inline dh_dtype dtype_of(const uint8_t*) { return DH_U8; }
inline dh_dtype dtype_of(const bool*) { return DH_BOOL; }

// A dense tensor. Copies neither name nor data. Sizes beyond DH_MAX_RANK make a rank that dh_capture refuses.
template <typename T>
dh_tensor tensor(const char* name, const T* data, std::initializer_list<int64_t> shape,
                 dh_role role = DH_ROLE_INTERMEDIATE) {
  dh_tensor described = dh_tensor_default();
  described.dtype = dtype_of(data);
  described.name = name;
  described.role = role;
  described.data = data;
  for (int64_t size : shape) {
    if (described.rank < DH_MAX_RANK) described.shape[described.rank] = size;
    ++described.rank;
  }
  return described;
}

// An image of H x W x 3 bytes; `layout` is DH_LAYOUT_RGB or DH_LAYOUT_BGR.
inline dh_tensor image(const char* name, const uint8_t* pixels, int64_t height, int64_t width, dh_role role,
                       dh_layout layout = DH_LAYOUT_RGB) {
  dh_tensor described = tensor(name, pixels, {height, width, 3}, role);
  described.layout = layout;
  return described;
}

// UTF-8 text, such as a list of detections.
inline dh_tensor text(const char* name, const std::string& text, dh_role role = DH_ROLE_POSTPROCESSED) {
  dh_tensor described =
      tensor(name, reinterpret_cast<const uint8_t*>(text.data()), {static_cast<int64_t>(text.size())}, role);
  described.layout = DH_LAYOUT_TEXT;
  return described;
}

// Quantization of a whole tensor: real = scale * (q - zero_point). Points at both.
inline dh_quant per_tensor(const float* scale, const int32_t* zero_point) {
  dh_quant quant = dh_quant();
  quant.kind = DH_QUANT_PER_TENSOR;
  quant.count = 1;
  quant.scale = scale;
  quant.zero_point = zero_point;
  return quant;
}

}  // namespace dumphook

#endif  // DUMPHOOK_DUMPHOOK_HPP
