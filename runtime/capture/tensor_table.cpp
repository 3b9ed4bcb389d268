// SPDX-License-Identifier: Apache-2.0
#include "capture/tensor_table.h"

#include <cstring>
#include <initializer_list>
#include <new>

namespace dumphook {
namespace {

// FNV-1a over "model\0name": short strings, no alignment, no tables. http://www.isthe.com/chongo/tech/comp/fnv/
uint64_t hash_names(const char* model, const char* name) {
  uint64_t hash = 0xCBF29CE484222325u;
  const auto feed = [&hash](const char* text) {
    do {
      hash = (hash ^ static_cast<uint8_t>(*text)) * 0x100000001B3u;
    } while (*text++ != '\0');
  };
  feed(model);
  feed(name);
  return hash;
}

void lower(std::atomic<uint64_t>& least, uint64_t value) {
  uint64_t known = least.load();
  while (value < known && !least.compare_exchange_weak(known, value)) {
  }
}

void raise(std::atomic<uint64_t>& most, uint64_t value) {
  uint64_t known = most.load();
  while (value > known && !most.compare_exchange_weak(known, value)) {
  }
}

uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }
uint64_t greater(uint64_t a, uint64_t b) { return a > b ? a : b; }

}  // namespace

// Sequentially consistent throughout: the argument above needs one order of all steps, and losses are rare.
void LossCell::add(uint64_t first, uint64_t last, uint64_t lost) {
  begun.fetch_add(lost);
  lower(first_frame, first);
  raise(last_frame, last);
  count.fetch_add(lost);
}

LossCell::Range LossCell::take() {
  const uint64_t lost = count.load();
  if (lost == told) return {0, 0, 0};
  Range range = {lost - told, first_frame.exchange(~uint64_t{0}), last_frame.exchange(0)};
  const bool somebody_between = begun.load() != lost;
  const uint64_t all_first = lesser(range.first_frame, told_first);
  const uint64_t all_last = greater(range.last_frame, told_last);
  if (carry) range = {range.count, all_first, all_last};
  carry = somebody_between;
  told = lost;
  told_first = all_first;
  told_last = all_last;
  return range;
}

void LossCell::retell() {
  told = 0;
  carry = true;
}

void LossCell::retell(uint64_t first, uint64_t last, uint64_t lost) {
  lower(first_frame, first);
  raise(last_frame, last);
  told -= lesser(told, lost);
}

uint64_t TensorEntry::read_outcomes(uint64_t out[DH_LOSS_REASON_COUNT]) const {
  for (uint32_t reason = 0; reason < DH_LOSS_REASON_COUNT; ++reason) {
    out[reason] = lost[reason].count.load(std::memory_order_acquire);
  }
  return shipped.load(std::memory_order_acquire) - out[DH_LOSS_QUOTA_REMOVED];
}

uint64_t TensorEntry::lost_total() const {
  uint64_t total = 0;
  for (const LossCell& cell : lost) total += cell.count.load(std::memory_order_relaxed);
  return total;
}

bool TensorEntry::has_untold_loss() const {
  for (const LossCell& cell : lost) {
    if (cell.has_untold()) return true;
  }
  return false;
}

uint32_t TensorEntry::next_occurrence(uint32_t frame_slot, uint32_t use) {
  constexpr uint32_t kCountBits = 12;
  std::atomic<uint32_t>& word = occurrences[frame_slot];
  const uint32_t tag = use << kCountBits;
  uint32_t known = word.load(std::memory_order_relaxed);
  for (;;) {
    const bool same_frame = (known & ~((1u << kCountBits) - 1)) == tag;
    const uint32_t count = same_frame ? known & ((1u << kCountBits) - 1) : 0;
    // Beyond 4094 repeats in one frame the number stays: capture_id still tells them apart.
    const uint32_t next = count + 1 < (1u << kCountBits) - 1 ? count + 1 : count;
    if (word.compare_exchange_weak(known, tag | next, std::memory_order_relaxed)) return count;
  }
}

bool TensorTable::open(Arena& tables, Arena* strings, uint32_t max_tensors) {
  max_tensors_ = max_tensors;
  strings_ = strings;
  uint32_t buckets = 4;
  while (buckets < max_tensors * 2) buckets *= 2;
  bucket_mask_ = buckets - 1;
  entries_ = tables.take_array<TensorEntry>(max_tensors + 1);
  buckets_ = tables.take_array<std::atomic<uint32_t>>(buckets);
  if (tables.is_measuring() || !tables.ok()) return tables.ok();
  for (uint32_t i = 0; i < buckets; ++i) buckets_[i].store(0, std::memory_order_relaxed);
  for (uint32_t i = 0; i <= max_tensors; ++i) {
    // The arena's memory is raw: begin the lifetimes here.
    TensorEntry* entry = ::new (static_cast<void*>(&entries_[i])) TensorEntry;
    for (auto& word : entry->occurrences) word.store(0, std::memory_order_relaxed);
    entry->tensor_id = i;
  }
  entries_[max_tensors].tensor_id = 0xFFFFFFFFu;
  return true;
}

void TensorTable::close() { pthread_mutex_destroy(&mutex_); }

TensorEntry* TensorTable::lookup(uint64_t hash, const char* model, const char* name) const {
  for (uint32_t i = static_cast<uint32_t>(hash ^ (hash >> 32));; ++i) {
    const uint32_t id = buckets_[i & bucket_mask_].load(std::memory_order_acquire);
    if (id == 0) return nullptr;
    TensorEntry* entry = &entries_[id - 1];
    if (entry->name_hash == hash && std::strcmp(entry->name, name) == 0 && std::strcmp(entry->model, model) == 0) {
      return entry;
    }
  }
}

TensorEntry* TensorTable::find(const char* model, const char* name) {
  return lookup(hash_names(model, name), model, name);
}

TensorEntry* TensorTable::find_or_add(const dh_tensor& tensor, const char* model, dh_loss_reason* loss) {
  const uint64_t hash = hash_names(model, tensor.name);
  TensorEntry* entry = lookup(hash, model, tensor.name);
  if (entry != nullptr) return entry;
  lock();
  entry = lookup(hash, model, tensor.name);
  if (entry == nullptr) entry = add_locked(tensor, model, hash, loss);
  unlock();
  return entry;
}

namespace {

size_t copy_bytes(const char* text) { return text_length(text) + 1; }

const char* put_copy(char** at, const char* text) {
  char* copy = *at;
  std::memcpy(copy, text == nullptr ? "" : text, copy_bytes(text));
  *at += copy_bytes(text);
  return copy;
}

}  // namespace

bool TensorTable::keep_strings(Span<const char* const> texts, const char** copies) {
  size_t bytes = 0;
  for (const char* text : texts) bytes += copy_bytes(text);
  lock();
  auto* at = static_cast<char*>(strings_->take_if_room(bytes, 1));
  unlock();
  if (at == nullptr) return false;
  for (size_t i = 0; i < texts.size; ++i) copies[i] = put_copy(&at, texts[i]);
  return true;
}

const char* TensorTable::keep_string(const char* text) {
  const char* copy = nullptr;
  return keep_strings({&text, 1}, &copy) ? copy : nullptr;
}

void* TensorTable::keep_room(size_t bytes) {
  lock();
  void* room = strings_->take_if_room(bytes, 8);
  unlock();
  return room;
}

void TensorTable::attach_locked(TensorEntry* entry, TensorAttribute* attribute) {
  attribute->next = entry->attributes.load(std::memory_order_relaxed);
  entry->attributes.store(attribute, std::memory_order_release);
}

bool TensorTable::has_room(uint64_t bytes) {
  lock();
  const bool fits = bytes <= strings_->left_bytes();
  unlock();
  return fits;
}

// What a descriptor takes.
bool TensorTable::has_room_for_attribute(const char* model, const char* name, const char* key, const char* value) {
  size_t bytes = copy_bytes(key) + copy_bytes(value);
  uint32_t count = 1;
  const auto add = [&](const TensorAttribute& attribute) {
    if (std::strcmp(attribute.key, key) == 0) return;
    bytes += copy_bytes(attribute.key) + copy_bytes(attribute.value);
    ++count;
  };
  lock();
  const TensorEntry* entry = find(model, name);
  const TensorAttribute* attached = entry == nullptr ? nullptr : entry->attributes.load(std::memory_order_relaxed);
  for (; attached != nullptr; attached = attached->next) add(*attached);
  for (const EarlyAttribute* early = early_; early != nullptr; early = early->next) {
    if (std::strcmp(early->name, name) == 0 && std::strcmp(early->model, model) == 0) add(early->attribute);
  }
  unlock();
  return count <= kMaxAttributes && bytes <= kMaxAttributeBytes;
}

Status TensorTable::add_attribute(const char* model, const char* name, const char* key, const char* value) {
  if (!has_room_for_attribute(model, name, key, value)) return DH_ERR_LIMIT;
  const size_t bytes = copy_bytes(model) + copy_bytes(name) + copy_bytes(key) + copy_bytes(value);
  auto* early = static_cast<EarlyAttribute*>(keep_room(sizeof(EarlyAttribute) + bytes));
  if (early == nullptr) return DH_ERR_LIMIT;
  auto* at = reinterpret_cast<char*>(early + 1);
  early->model = put_copy(&at, model);
  early->name = put_copy(&at, name);
  early->attribute.key = put_copy(&at, key);
  early->attribute.value = put_copy(&at, value);
  lock();
  TensorEntry* entry = find(model, name);
  if (entry != nullptr) {
    attach_locked(entry, &early->attribute);
  } else {
    early->next = early_;
    early_ = early;
  }
  unlock();
  return DH_OK;
}

// Early attributes are newest first, an entry's, too.
void TensorTable::attach_early_locked(TensorEntry* entry) {
  EarlyAttribute* oldest_first = nullptr;
  for (EarlyAttribute** link = &early_; *link != nullptr;) {
    EarlyAttribute* early = *link;
    if (std::strcmp(early->name, entry->name) != 0 || std::strcmp(early->model, entry->model) != 0) {
      link = &early->next;
      continue;
    }
    *link = early->next;
    early->next = oldest_first;
    oldest_first = early;
  }
  for (; oldest_first != nullptr; oldest_first = oldest_first->next) attach_locked(entry, &oldest_first->attribute);
}

TensorEntry* TensorTable::add_locked(const dh_tensor& tensor, const char* model, uint64_t hash, dh_loss_reason* loss) {
  const uint32_t id = count_.load(std::memory_order_relaxed);
  // Without an entry there is nowhere to cache the answer; a tensor that nobody asked for is not lost.
  const auto is_off = [&] { return selection_.level_of(model, tensor.name, tensor.op, tensor.role) == DH_LEVEL_OFF; };
  if (id == max_tensors_) {
    if (is_off()) return nullptr;
    *loss = DH_LOSS_TOO_MANY_TENSORS;
    return &nobody();
  }
  // All or nothing: a tensor that does not fit will be offered again and again.
  uint64_t bytes = 0;
  bool fits = checked_mul(tensor.origin_count, sizeof(const char*), &bytes);
  for (const char* text : {model, tensor.name, tensor.op, tensor.raw_type}) bytes += copy_bytes(text);
  for (uint32_t i = 0; fits && i < tensor.origin_count; ++i) {
    bytes += copy_bytes(tensor.origin_names[i]);
    fits = bytes <= strings_->left_bytes();
  }
  void* room = fits && bytes <= strings_->left_bytes()
                   ? strings_->take_if_room(static_cast<size_t>(bytes), alignof(const char*))
                   : nullptr;
  if (room == nullptr) {
    if (is_off()) return nullptr;
    *loss = DH_LOSS_NO_DESCRIPTOR_ROOM;
    return &nobody();
  }
  TensorEntry& entry = entries_[id];
  auto** origins = static_cast<const char**>(room);
  auto* text_at = reinterpret_cast<char*>(origins + tensor.origin_count);
  entry.model = put_copy(&text_at, model);
  entry.name = put_copy(&text_at, tensor.name);
  entry.op = put_copy(&text_at, tensor.op);
  entry.raw_type = put_copy(&text_at, tensor.raw_type);
  for (uint32_t i = 0; i < tensor.origin_count; ++i) origins[i] = put_copy(&text_at, tensor.origin_names[i]);
  entry.origin_names = origins;
  entry.origin_count = tensor.origin_count;
  entry.node_index = tensor.node_index;
  entry.output_slot = tensor.output_slot;
  entry.role = tensor.role;
  entry.name_hash = hash;
  attach_early_locked(&entry);
  uint32_t at = static_cast<uint32_t>(hash ^ (hash >> 32));
  while (buckets_[at & bucket_mask_].load(std::memory_order_relaxed) != 0) ++at;
  buckets_[at & bucket_mask_].store(id + 1, std::memory_order_release);
  count_.store(id + 1, std::memory_order_release);
  return &entry;
}

dh_level TensorTable::level(TensorEntry& entry) {
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  const uint64_t cached = entry.level.load(std::memory_order_relaxed);
  if (cached >> 3 == generation) return static_cast<dh_level>(cached & 7);
  if (is_nobody(&entry)) return DH_LEVEL_FULL;
  lock();
  const dh_level decided = selection_.level_of(entry.model, entry.name, entry.op, entry.role);
  entry.level.store(generation_.load(std::memory_order_relaxed) << 3 | decided, std::memory_order_relaxed);
  unlock();
  return decided;
}

void TensorTable::select(const Selection& selection) {
  lock();
  select_locked(selection);
  unlock();
}

void TensorTable::select_locked(const Selection& selection) {
  selection_ = selection;
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace dumphook
