// SPDX-License-Identifier: Apache-2.0
#include "wire/flat_writer.h"

namespace dumphook {
namespace {

// FlatBuffers' offsets are signed 32 bits.
constexpr size_t kMaxFlatBytes = 0x7FFFFFFFu;

}  // namespace

FlatWriter::FlatWriter(Bytes out) : out_(out) {
  if (out_.size > kMaxFlatBytes) out_.size = kMaxFlatBytes;
  root_.at = take(sizeof(uint32_t), sizeof(uint32_t));
}

uint32_t FlatWriter::take(size_t bytes, size_t align) {
  const size_t at = align_up(used_, align);
  if (overflowed_ || at > out_.size || bytes > out_.size - at) {
    overflowed_ = true;
    return FlatSlot::kNone;
  }
  memset(out_.data + used_, 0, at + bytes - used_);
  used_ = at + bytes;
  return static_cast<uint32_t>(at);
}

void FlatWriter::pad(size_t align) { take(0, align); }

void FlatWriter::connect(FlatSlot slot, uint32_t target) { store_le(out_.data + slot.at, target - slot.at); }

uint8_t* FlatWriter::vector(FlatSlot slot, size_t count, size_t element_bytes, size_t align) {
  if (slot.at == FlatSlot::kNone || overflowed_) return nullptr;
  uint64_t bytes = 0;
  if (!checked_mul(count, element_bytes, &bytes) || bytes > kMaxFlatBytes) {
    overflowed_ = true;
    return nullptr;
  }
  // It is the elements that are aligned; the length lies before them.
  constexpr size_t kLengthBytes = sizeof(uint32_t);
  if (align < kLengthBytes) align = kLengthBytes;
  const size_t elements_at = align_up(align_up(used_, kLengthBytes) + kLengthBytes, align);
  take(elements_at - kLengthBytes - used_, 1);
  const uint32_t at = take(kLengthBytes + static_cast<size_t>(bytes), 1);
  if (at == FlatSlot::kNone) return nullptr;
  store_le(out_.data + at, static_cast<uint32_t>(count));
  connect(slot, at);
  return out_.data + at + kLengthBytes;
}

void FlatWriter::text(FlatSlot slot, const char* text_or_null) {
  const size_t length = text_length(text_or_null);
  uint8_t* to = vector(slot, length, 1, 1);
  if (to != nullptr && length != 0) memcpy(to, text_or_null, length);
  if (to != nullptr) take(1, 1);  // a NUL that the length does not count
}

FlatSlots FlatWriter::offsets(FlatSlot slot, size_t count) {
  FlatSlots slots;
  const uint8_t* first = vector(slot, count, sizeof(uint32_t), sizeof(uint32_t));
  if (first != nullptr) slots.first_at = static_cast<uint32_t>(first - out_.data);
  return slots;
}

void FlatWriter::texts(FlatSlot slot, Span<const char* const> texts) {
  const FlatSlots slots = offsets(slot, texts.size);
  for (size_t i = 0; i < texts.size && !overflowed_; ++i) text(slots[i], texts[i]);
}

uint32_t FlatWriter::share_vtable(const uint16_t* vtable, size_t bytes) {
  for (size_t i = 0; i < vtable_count_; ++i) {
    const uint8_t* earlier = out_.data + vtables_[i];
    if (load_le<uint16_t>(earlier) == bytes && memcmp(earlier, vtable, bytes) == 0) return vtables_[i];
  }
  const uint32_t at = take(bytes, sizeof(uint16_t));
  if (at == FlatSlot::kNone) return at;
  memcpy(out_.data + at, vtable, bytes);
  if (vtable_count_ < kSharedVtables) vtables_[vtable_count_++] = at;
  return at;
}

FlatTable::FlatTable(FlatWriter& writer, FlatSlot slot) : writer_(writer) {
  if (slot.at == kNone || writer.overflowed_) return;
  start_ = writer.take(sizeof(int32_t), sizeof(int32_t));
  if (start_ != kNone) writer.connect(slot, start_);
}

uint8_t* FlatTable::field(uint16_t vt, size_t bytes, size_t align) {
  if (start_ == kNone) return nullptr;
  if (vt / sizeof(uint16_t) >= sizeof vtable_ / sizeof *vtable_) {
    writer_.overflowed_ = true;  // a table with more fields than kMaxFields
    return nullptr;
  }
  const uint32_t at = writer_.take(bytes, align);
  if (at == kNone) return nullptr;
  vtable_[vt / sizeof(uint16_t)] = static_cast<uint16_t>(at - start_);
  if (vtable_bytes_ < vt + sizeof(uint16_t)) vtable_bytes_ = vt + sizeof(uint16_t);
  return writer_.out_.data + at;
}

FlatSlot FlatTable::slot(uint16_t vt) {
  FlatSlot slot;
  uint8_t* to = field(vt, sizeof(uint32_t), sizeof(uint32_t));
  if (to != nullptr) slot.at = static_cast<uint32_t>(to - writer_.out_.data);
  return slot;
}

void FlatTable::end() {
  if (start_ == kNone || writer_.overflowed_) return;
  vtable_[0] = static_cast<uint16_t>(vtable_bytes_);
  vtable_[1] = static_cast<uint16_t>(writer_.used_ - start_);
  const uint32_t vtable_at = writer_.share_vtable(vtable_, vtable_bytes_);
  if (vtable_at == kNone) return;
  // The sign says that a vtable behind its table has a negative distance.
  store_le(writer_.out_.data + start_, static_cast<int32_t>(start_ - vtable_at));
}

}  // namespace dumphook
