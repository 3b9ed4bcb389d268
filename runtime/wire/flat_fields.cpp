// SPDX-License-Identifier: Apache-2.0
#include "wire/flat_fields.h"

namespace dumphook {
namespace {

bool is_inside(ConstBytes buffer, uint64_t at, size_t bytes) { return at <= buffer.size && bytes <= buffer.size - at; }

size_t follow(ConstBytes buffer, size_t at) {
  const uint64_t target = uint64_t{at} + load_le<uint32_t>(buffer.data + at);
  return target != at && is_inside(buffer, target, sizeof(uint32_t)) ? static_cast<size_t>(target) : 0;
}

}  // namespace

size_t flat_root(ConstBytes buffer) { return is_inside(buffer, 0, sizeof(uint32_t)) ? follow(buffer, 0) : 0; }

size_t flat_field(ConstBytes buffer, size_t table, uint16_t vt, size_t bytes) {
  if (table == 0 || !is_inside(buffer, table, sizeof(int32_t))) return 0;
  const int64_t vtable = static_cast<int64_t>(table) - load_le<int32_t>(buffer.data + table);
  if (vtable < 0 || !is_inside(buffer, static_cast<uint64_t>(vtable), 2 * sizeof(uint16_t))) return 0;
  const size_t vtable_at = static_cast<size_t>(vtable);
  const size_t vtable_bytes = load_le<uint16_t>(buffer.data + vtable_at);
  if (vt + sizeof(uint16_t) > vtable_bytes || !is_inside(buffer, vtable_at, vtable_bytes)) return 0;
  const size_t offset = load_le<uint16_t>(buffer.data + vtable_at + vt);
  return offset != 0 && is_inside(buffer, table + offset, bytes) ? table + offset : 0;
}

size_t flat_child(ConstBytes buffer, size_t table, uint16_t vt) {
  const size_t at = flat_field(buffer, table, vt, sizeof(uint32_t));
  return at == 0 ? 0 : follow(buffer, at);
}

}  // namespace dumphook
