// SPDX-License-Identifier: Apache-2.0
// Status, and Result<T>: a value or the status that says why there is none.
#pragma once

#include <type_traits>

#include "dumphook/dumphook.h"

namespace dumphook {

using Status = dh_status;

// What create() and open() return. T is a plain value: a pointer, a handle, a struct without a destructor.
//
//     Result<Socket> socket = connect(address);
//     if (!socket.ok()) return socket.status();
//     use(socket.value());
template <class T>
class [[nodiscard]] Result {
  static_assert(std::is_trivially_copyable<T>::value && std::is_trivially_destructible<T>::value,
                "Result holds plain values only");
  static_assert(!std::is_same<T, Status>::value, "a function that gives only a status returns Status");

 public:
  Result(const T& value) : value_(value), status_(DH_OK), ok_(true) {}
  // `why` is any status but DH_OK.
  Result(Status why) : none_(0), status_(why), ok_(false) {}

  bool ok() const { return ok_; }
  Status status() const { return status_; }

  // Only when ok().
  T& value() { return value_; }
  const T& value() const { return value_; }

  T value_or(const T& other) const { return ok_ ? value_ : other; }

 private:
  union {
    char none_;
    T value_;
  };
  Status status_;
  bool ok_;
};

}  // namespace dumphook
