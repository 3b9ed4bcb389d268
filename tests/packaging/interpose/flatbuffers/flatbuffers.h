// SPDX-License-Identifier: Apache-2.0
// The application's own FlatBuffers, of another make: the same mangled names, other classes, other behaviour.
#pragma once
#include <cstddef>
#include <cstdint>

extern int own_flatbuffers_calls;

namespace flatbuffers {

struct Verifier {
  const uint8_t* nothing = nullptr;
  bool VerifyBuffer() const { return ++own_flatbuffers_calls, false; }
  template <typename T>
  bool Verify(size_t) const {
    return ++own_flatbuffers_calls, false;
  }
};

struct Table {
  template <typename T>
  bool VerifyField(const Verifier&, uint16_t, size_t) const {
    return ++own_flatbuffers_calls, false;
  }
  bool VerifyTableStart(Verifier&) const { return ++own_flatbuffers_calls, false; }
  template <typename T>
  T GetField(uint16_t, T) const {
    return static_cast<T>(++own_flatbuffers_calls);
  }
};

// Made here, so that they are in the program under the names that ours has too.
template bool Table::VerifyField<uint8_t>(const Verifier&, uint16_t, size_t) const;
template bool Table::VerifyField<uint16_t>(const Verifier&, uint16_t, size_t) const;
template bool Table::VerifyField<uint32_t>(const Verifier&, uint16_t, size_t) const;
template bool Table::VerifyField<uint64_t>(const Verifier&, uint16_t, size_t) const;
template uint32_t Table::GetField<uint32_t>(uint16_t, uint32_t) const;

}  // namespace flatbuffers
