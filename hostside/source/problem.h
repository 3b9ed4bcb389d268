// SPDX-License-Identifier: Apache-2.0
// What went wrong, as values: Problem for what was found while reading and did not stop it, Error for what did.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace dumphook {

enum class Severity : uint8_t {
  note,     // nothing is lost
  warning,  // odd; what was read can be used
  error,    // something could not be read
};

struct Problem {
  Severity severity = Severity::error;
  uint64_t offset = 0;  // in the file, of the record it is about
  std::string what;
  std::string todo;   // may be empty
  uint32_t file = 0;  // which of the capture's files
};

struct Error {
  std::string what;
  std::string todo;  // may be empty
};

// A T, or the Error that says why there is none.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  T& value() { return *std::get_if<0>(&state_); }
  const T& value() const { return *std::get_if<0>(&state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only when not ok().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace dumphook
