// SPDX-License-Identifier: Apache-2.0
// FlatWriter: emits a FlatBuffer front to back into a fixed buffer, parents before children.
//
// FlatBufferBuilder builds back to front and grows; this one never allocates, and what is written last lies last, so
// that a payload of yet unknown length can be encoded in place behind its header. Field numbers are the VT_ constants
// of flatc's headers, which keeps the schema the only place that knows them.
//
//     FlatWriter writer(out);
//     FlatTable frame(writer, writer.root());
//     frame.put(FrameBegin::VT_FRAME, number);
//     const FlatSlot model = frame.slot_if(name != nullptr, FrameBegin::VT_MODEL);
//     frame.end();                  // all of a table's own fields come before its children
//     writer.text(model, name);     // the child; nothing when the slot is none
//     return writer.overflowed() ? 0 : writer.used_bytes();
//
// When the buffer is full, `overflowed()` turns true for good and nothing more is written, never anything outside.
// Alignment counts from the buffer's first byte, which the caller puts on an address that is a multiple of 8 (16 where
// payloads shall be aligned). Padding is zero: equal content gives equal bytes.
#pragma once

#include "base/bytes.h"

namespace dumphook {

// Where an offset to a child has been reserved.
struct FlatSlot {
  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  uint32_t at = kNone;
};

// The slots of a vector of children.
struct FlatSlots {
  uint32_t first_at = FlatSlot::kNone;

  FlatSlot operator[](size_t index) const {
    FlatSlot slot;
    if (first_at != FlatSlot::kNone) slot.at = first_at + static_cast<uint32_t>(index * sizeof(uint32_t));
    return slot;
  }
};

class FlatWriter {
 public:
  explicit FlatWriter(Bytes out);

  FlatSlot root() const { return root_; }

  // Children. Each goes where `slot` says, and is left out when `slot` is none.
  void text(FlatSlot slot, const char* text_or_null);
  FlatSlots offsets(FlatSlot slot, size_t count);
  // Each a string; NULL entries become empty strings.
  void texts(FlatSlot slot, Span<const char* const> texts);
  template <class T>
  void numbers(FlatSlot slot, Span<const T> values) {
    uint8_t* to = vector(slot, values.size, sizeof(T), sizeof(T));
    if (to != nullptr && values.size != 0) memcpy(to, values.data, values.size * sizeof(T));
  }
  // Memory for a vector of `count` structs, zeroed; nullptr when left out or full.
  uint8_t* vector(FlatSlot slot, size_t count, size_t element_bytes, size_t align);

  // Zeroes up to a multiple of `align`.
  void pad(size_t align);

  bool overflowed() const { return overflowed_; }
  size_t used_bytes() const { return used_; }

 private:
  friend class FlatTable;

  // Zeroed memory at the next multiple of `align` (a power of two); kNone when full.
  uint32_t take(size_t bytes, size_t align);
  // Points `slot` at `target`.
  void connect(FlatSlot slot, uint32_t target);
  // Position of a vtable with this content: an earlier one or a new one.
  uint32_t share_vtable(const uint16_t* vtable, size_t bytes);

  static constexpr size_t kSharedVtables = 8;

  Bytes out_;
  size_t used_ = 0;
  FlatSlot root_;
  bool overflowed_ = false;
  uint8_t vtable_count_ = 0;
  uint32_t vtables_[kSharedVtables];
};

// One table, from its first field to end(). Only one is open at a time. Nothing is written when `slot` is none.
class FlatTable {
 public:
  FlatTable(FlatWriter& writer, FlatSlot slot);

  // The field is present whatever the value. Put wide fields first: they need no padding then.
  template <class T>
  void put(uint16_t vt, T value) {
    static_assert(std::is_arithmetic<T>::value, "numbers only; structs go through put_struct");
    if (uint8_t* to = field(vt, sizeof value, sizeof value)) store_le(to, value);
  }
  // Absent when zero, for fields whose default in the schema is zero.
  template <class T>
  void put_nonzero(uint16_t vt, T value) {
    if (value != 0) put(vt, value);
  }
  // `bytes` of the struct as it lies in the buffer.
  void put_struct(uint16_t vt, const void* value, size_t bytes, size_t align) {
    if (uint8_t* to = field(vt, bytes, align)) memcpy(to, value, bytes);
  }
  FlatSlot slot(uint16_t vt);
  FlatSlot slot_if(bool is_present, uint16_t vt) { return is_present ? slot(vt) : FlatSlot(); }

  void end();

 private:
  static constexpr size_t kMaxFields = 24;
  static constexpr uint32_t kNone = FlatSlot::kNone;

  uint8_t* field(uint16_t vt, size_t bytes, size_t align);

  FlatWriter& writer_;
  uint32_t start_ = kNone;
  uint16_t vtable_[2 + kMaxFields] = {};
  size_t vtable_bytes_ = 2 * sizeof(uint16_t);
};

}  // namespace dumphook
