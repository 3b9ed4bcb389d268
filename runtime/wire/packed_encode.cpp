// SPDX-License-Identifier: Apache-2.0
#include "wire/packed_format.h"
#include "wire/packed_part.h"

namespace dumphook {
namespace {

constexpr size_t kSampleBytes = 2048;
constexpr unsigned kSampleAcceleration = 6;
constexpr size_t kLz4HeaderBytes = 3;
// A plan holds for so much of a part.
constexpr size_t kPlanBytes = 1u << 20;
// The vectors write in whole.
constexpr size_t kPackedRoom = kPackedBlockBytes + 3 * kPackSlack;

// One block. Returns its length; or 0 when that would not be less than raw.size. `out` has kPackedRoom bytes.
size_t pack_block(ConstBytes raw, PackShape shape, const PackPlan& plan, const PackKernels& kernels, uint8_t* out,
                  PackedScratch* scratch) {
  const size_t width = shape.width(), count = raw.size / width;
  const size_t header = kPackedHeaderBytes + plan.level_count * kPackedLevelBytes;
  const bool in_place = shape.width_log2 == 0 && shape.turn == 0;
  uint8_t* at = out + header;
  out[0] = plan.masked ? kBlockMasked : kBlockPacked;
  out[1] = static_cast<uint8_t>(plan.level_count);

  const uint8_t* values = raw.data;
  size_t kept = count;
  // Values of two bytes and more need half of a scratch buffer for their symbols.
  uint8_t* buffers[2] = {scratch->a, scratch->b};
  if (shape.width_log2 != 0) {
    buffers[0] = scratch->b;
    buffers[1] = scratch->b + kPackedBlockBytes / 2 + kPackSlack;
  }
  if (plan.masked) {
    kept = kernels.keep_nonzero[shape.width_log2](raw.data, count, at, scratch->a);
    at += field_bytes(count, 1);
    values = scratch->a;
  }
  const uint8_t* symbols = values;
  unsigned next = 0;
  if (!in_place) {
    kernels.split[shape.width_log2](values, kept, shape.turn, buffers[next], at);
    at += kept * (width - 1);
    symbols = buffers[next];
    next ^= 1;
  }
  size_t left = kept;
  for (unsigned i = 0; i < plan.level_count; ++i) {
    const PackLevel level = plan.levels[i];
    const size_t bytes = field_bytes(left, level.bits);
    if (static_cast<size_t>(at - out) + bytes >= raw.size) return 0;
    left = kernels.put_level(symbols, left, level, at, buffers[next]);
    at += bytes;
    symbols = buffers[next];
    next ^= 1;
    uint8_t* const told = out + kPackedHeaderBytes + i * kPackedLevelBytes;
    told[0] = level.low;
    told[1] = level.bits;
    store_le(told + 2, static_cast<uint16_t>(left));
  }
  const size_t tail = raw.size - count * width;
  if (static_cast<size_t>(at - out) + left + tail >= raw.size) return 0;
  memcpy(at, symbols, left);
  at += left;
  memcpy(at, raw.data + count * width, tail);
  return static_cast<size_t>(at + tail - out);
}

// Whether LZ4, which is slow, should make of `raw` clearly less than `packed` bytes.
bool lz4_looks_better(ConstBytes raw, size_t packed, PackedScratch* scratch) {
  if (raw.size <= 2 * kSampleBytes) return true;
  const size_t begin = (raw.size - kSampleBytes) / 2 / 8 * 8;
  // The encoder gives up as soon as it has made more than that of the sample.
  const size_t limit = kSampleBytes * packed / raw.size * 15 / 16;
  return lz4_encode({raw.data + begin, kSampleBytes}, {scratch->a, limit}, scratch->lz4_state, kSampleAcceleration) !=
         0;
}

}  // namespace

size_t packed_encode(ConstBytes raw, PackShape shape, const PackKernels& kernels, Bytes out, PackedScratch* scratch) {
  PackPlan plan;
  size_t used = 0;
  for (size_t at = 0; at < raw.size; at += kPackedBlockBytes) {
    if (at % kPlanBytes == 0) {
      const size_t bytes = raw.size - at < kPlanBytes ? raw.size - at : kPlanBytes;
      plan = plan_packing({raw.data + at, bytes}, shape, kernels, &scratch->plan);
    }
    const ConstBytes block(raw.data + at, raw.size - at < kPackedBlockBytes ? raw.size - at : kPackedBlockBytes);
    const Bytes room = out.from(used);
    const bool in_place = room.size >= kPackedRoom;
    uint8_t* const packed_to = in_place ? room.data : scratch->block;
    const bool worth_packing = plan.masked || plan.level_count != 0;
    size_t bytes = worth_packing ? pack_block(block, shape, plan, kernels, packed_to, scratch) : 0;
    const uint8_t* from = packed_to;
    if (bytes == 0) {
      bytes = 1 + block.size;
      from = nullptr;
    }
    if (lz4_looks_better(block, bytes, scratch)) {
      uint8_t* const lz4_to = in_place ? scratch->block : room.data;
      const size_t lz4_room = in_place ? sizeof scratch->block : room.size;
      const size_t limit = bytes - 1 < lz4_room ? bytes - 1 : lz4_room;
      const size_t written =
          limit <= kLz4HeaderBytes
              ? 0
              : lz4_encode(block, {lz4_to + kLz4HeaderBytes, limit - kLz4HeaderBytes}, scratch->lz4_state);
      if (written != 0) {
        lz4_to[0] = kBlockLz4;
        store_le(lz4_to + 1, static_cast<uint16_t>(written));
        bytes = kLz4HeaderBytes + written;
        from = lz4_to;
      }
    }
    if (bytes > room.size) return 0;
    if (from == nullptr) {
      room.data[0] = kBlockRaw;
      memcpy(room.data + 1, block.data, block.size);
    } else if (from != room.data) {
      memcpy(room.data, from, bytes);
    }
    used += bytes;
  }
  return used;
}

}  // namespace dumphook
