// SPDX-License-Identifier: Apache-2.0
#include "wire/lz4_decode.h"
#include "wire/packed_format.h"
#include "wire/packed_part.h"

namespace dumphook {
namespace {

// The bytes that have not been read. Nothing is read or skipped without a look at how many there are.
class Reader {
 public:
  explicit Reader(ConstBytes data) : data_(data) {}

  // Null when there are not so many. Else `bytes` bytes, also when that is 0.
  const uint8_t* take(size_t bytes) {
    if (bytes > data_.size) return nullptr;
    const uint8_t* const taken = data_.data;
    data_ = data_.from(bytes);
    return taken;
  }
  bool empty() const { return data_.empty(); }

 private:
  ConstBytes data_;
};

size_t count_bits(const uint8_t* mask, size_t count) {
  size_t set = 0, i = 0;
  for (; i + 64 <= count; i += 64) {  // sums of 2, 4, 8 bits, and then of all bytes
    uint64_t sums = load_le<uint64_t>(mask + i / 8);
    sums -= (sums >> 1) & 0x5555555555555555;
    sums = (sums & 0x3333333333333333) + ((sums >> 2) & 0x3333333333333333);
    sums = (sums + (sums >> 4)) & 0x0F0F0F0F0F0F0F0F;
    set += static_cast<size_t>((sums * 0x0101010101010101) >> 56);
  }
  for (; i < count; ++i) set += (mask[i / 8] >> (i % 8)) & 1;
  return set;
}

bool unpack_block(Reader* from, bool masked, PackShape shape, const UnpackKernels& kernels, Bytes raw,
                  PackedScratch* scratch) {
  const size_t width = shape.width(), count = raw.size / width;
  const bool in_place = shape.width_log2 == 0 && shape.turn == 0;
  const uint8_t* const level_count = from->take(1);
  if (level_count == nullptr || *level_count > kMaxPackLevels) return false;
  const unsigned levels = *level_count;
  const uint8_t* const told = from->take(levels * kPackedLevelBytes);
  if (told == nullptr) return false;

  const uint8_t* mask = nullptr;
  size_t kept = count;
  if (masked) {
    if (shape.width_log2 == 0) return false;
    mask = from->take(field_bytes(count, 1));
    if (mask == nullptr) return false;
    kept = count_bits(mask, count);
  }
  const uint8_t* const rest = from->take(kept * (width - 1));
  if (rest == nullptr) return false;

  // counts[i]: symbols that level i codes; the last: those that are coded by none.
  PackLevel level[kMaxPackLevels];
  const uint8_t* fields[kMaxPackLevels];
  size_t counts[kMaxPackLevels + 1];
  counts[0] = kept;
  for (unsigned i = 0; i < levels; ++i) {
    const uint8_t* const at = told + i * kPackedLevelBytes;
    level[i] = {at[0], at[1]};
    counts[i + 1] = load_le<uint16_t>(at + 2);
    if (level[i].bits < 1 || level[i].bits > 7 || counts[i + 1] > counts[i]) return false;
    fields[i] = from->take(field_bytes(counts[i], level[i].bits));
    if (fields[i] == nullptr) return false;
  }
  const uint8_t* symbols = from->take(counts[levels]);
  const size_t tail = raw.size - count * width;
  const uint8_t* const tail_bytes = from->take(tail);
  if (symbols == nullptr || tail_bytes == nullptr) return false;

  uint8_t* buffers[2] = {scratch->a, scratch->b};
  if (shape.width_log2 != 0) {
    buffers[0] = scratch->b;
    buffers[1] = scratch->b + kPackedBlockBytes / 2 + kPackSlack;
  }
  unsigned next = 0;
  if (levels != 0) {
    memcpy(buffers[next], symbols, counts[levels]);
    symbols = buffers[next];
    next ^= 1;
  }
  for (unsigned i = levels; i-- > 0;) {
    uint8_t* const to = i == 0 && in_place ? raw.data : buffers[next];
    if (kernels.take_level(fields[i], counts[i], level[i], symbols, to) != counts[i + 1]) return false;
    symbols = to;
    next ^= 1;
  }
  if (in_place) {
    if (levels == 0) memcpy(raw.data, symbols, count);
  } else {
    uint8_t* const values = masked ? scratch->a : raw.data;
    kernels.join[shape.width_log2](symbols, rest, kept, shape.turn, values);
    if (masked) kernels.spread[shape.width_log2](mask, count, values, raw.data);
  }
  if (tail != 0) memcpy(raw.data + count * width, tail_bytes, tail);
  return true;
}

bool decode_block(Reader* from, PackShape shape, const UnpackKernels& kernels, Bytes raw, PackedScratch* scratch) {
  const uint8_t* const kind = from->take(1);
  if (kind == nullptr) return false;
  switch (*kind) {
    case kBlockRaw: {
      const uint8_t* const bytes = from->take(raw.size);
      if (bytes == nullptr) return false;
      memcpy(raw.data, bytes, raw.size);
      return true;
    }
    case kBlockLz4: {
      const uint8_t* const length = from->take(2);
      if (length == nullptr) return false;
      const size_t bytes = load_le<uint16_t>(length);
      const uint8_t* const block = from->take(bytes);
      return block != nullptr && lz4_decode({block, bytes}, raw);
    }
    case kBlockPacked:
    case kBlockMasked: return unpack_block(from, *kind == kBlockMasked, shape, kernels, raw, scratch);
    default: return false;
  }
}

}  // namespace

bool packed_decode(ConstBytes data, PackShape shape, const UnpackKernels& kernels, Bytes raw, PackedScratch* scratch) {
  Reader from(data);
  while (!raw.empty()) {
    const size_t bytes = raw.size < kPackedBlockBytes ? raw.size : kPackedBlockBytes;
    if (!decode_block(&from, shape, kernels, raw.first(bytes), scratch)) return false;
    raw = raw.from(bytes);
  }
  return from.empty();
}

}  // namespace dumphook
