// SPDX-License-Identifier: Apache-2.0
#include "capture/tensor_table.h"

#include <cstring>
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
  uint64_t known = least.load(std::memory_order_relaxed);
  while (value < known && !least.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

void raise(std::atomic<uint64_t>& most, uint64_t value) {
  uint64_t known = most.load(std::memory_order_relaxed);
  while (value > known && !most.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void LossCell::add(uint64_t frame) {
  lower(first_frame, frame);
  raise(last_frame, frame);
  count.fetch_add(1, std::memory_order_release);
}

uint64_t TensorEntry::lost_total() const {
  uint64_t total = 0;
  for (const LossCell& cell : lost) total += cell.count.load(std::memory_order_relaxed);
  return total;
}

uint32_t TensorEntry::next_occurrence(uint32_t frame_slot, uint64_t frame) {
  constexpr uint32_t kCountBits = 12;
  std::atomic<uint32_t>& word = occurrences[frame_slot];
  const uint32_t tag = static_cast<uint32_t>(frame & 0xFFFFFu) << kCountBits;
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

const char* TensorTable::copy_locked(const char* text) {
  if (text == nullptr || *text == '\0') return "";
  const size_t bytes = std::strlen(text) + 1;
  auto* copy = static_cast<char*>(strings_->take(bytes, 1));
  if (copy != nullptr) std::memcpy(copy, text, bytes);
  return copy;
}

const char* TensorTable::keep_string(const char* text) {
  lock();
  const char* copy = copy_locked(text);
  unlock();
  return copy;
}

void* TensorTable::keep_room(size_t bytes) {
  lock();
  void* room = strings_->take(bytes, 8);
  unlock();
  return room;
}

bool TensorTable::attach_locked(TensorEntry* entry, const char* key, const char* value) {
  auto* attribute = strings_->take_array<TensorAttribute>(1);
  if (attribute == nullptr) return false;
  *attribute = {key, value, entry->attributes.load(std::memory_order_relaxed)};
  entry->attributes.store(attribute, std::memory_order_release);
  return true;
}

Status TensorTable::add_attribute(const char* model, const char* name, const char* key, const char* value) {
  lock();
  const char* kept_key = copy_locked(key);
  const char* kept_value = copy_locked(value);
  bool kept = kept_key != nullptr && kept_value != nullptr;
  TensorEntry* entry = find(model, name);
  if (kept && entry != nullptr) {
    kept = attach_locked(entry, kept_key, kept_value);
  } else if (kept) {
    auto* early = strings_->take_array<EarlyAttribute>(1);
    const char* kept_model = copy_locked(model);
    const char* kept_name = copy_locked(name);
    kept = early != nullptr && kept_model != nullptr && kept_name != nullptr;
    if (kept) {
      *early = {kept_model, kept_name, kept_key, kept_value, early_};
      early_ = early;
    }
  }
  unlock();
  return kept ? DH_OK : DH_ERR_LIMIT;
}

TensorEntry* TensorTable::add_locked(const dh_tensor& tensor, const char* model, uint64_t hash, dh_loss_reason* loss) {
  const uint32_t id = count_.load(std::memory_order_relaxed);
  if (id == max_tensors_) {
    // Without an entry there is nowhere to cache the answer; a tensor that nobody asked for is not lost.
    if (selection_.level_of(model, tensor.name, tensor.op, tensor.role) == DH_LEVEL_OFF) return nullptr;
    *loss = DH_LOSS_TOO_MANY_TENSORS;
    return &nobody();
  }
  TensorEntry& entry = entries_[id];
  const char** origins = nullptr;
  if (tensor.origin_count != 0) {
    origins = strings_->take_array<const char*>(tensor.origin_count);
    for (uint32_t i = 0; origins != nullptr && i < tensor.origin_count; ++i) {
      origins[i] = copy_locked(tensor.origin_names[i]);
      if (origins[i] == nullptr) origins = nullptr;
    }
  }
  entry.model = copy_locked(model);
  entry.name = copy_locked(tensor.name);
  entry.op = copy_locked(tensor.op);
  entry.raw_type = copy_locked(tensor.raw_type);
  const bool origins_kept = tensor.origin_count == 0 || origins != nullptr;
  if (entry.model == nullptr || entry.name == nullptr || entry.op == nullptr || entry.raw_type == nullptr ||
      !origins_kept) {
    *loss = DH_LOSS_NO_DESCRIPTOR_ROOM;
    return &nobody();
  }
  entry.origin_names = origins;
  entry.origin_count = tensor.origin_count;
  entry.node_index = tensor.node_index;
  entry.output_slot = tensor.output_slot;
  entry.role = tensor.role;
  entry.name_hash = hash;
  for (const EarlyAttribute* early = early_; early != nullptr; early = early->next) {
    if (std::strcmp(early->name, entry.name) == 0 && std::strcmp(early->model, entry.model) == 0) {
      attach_locked(&entry, early->key, early->value);
    }
  }
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
  selection_ = selection;
  generation_.fetch_add(1, std::memory_order_release);
  unlock();
}

}  // namespace dumphook
