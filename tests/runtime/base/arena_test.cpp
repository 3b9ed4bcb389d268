// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <gtest/gtest.h>

namespace dumphook {
namespace {

struct Tables {
  uint8_t* flags = nullptr;
  uint64_t* seqs = nullptr;
  void* block = nullptr;
};

Tables carve(Arena& arena) {
  Tables tables;
  tables.flags = arena.take_array<uint8_t>(3);
  tables.seqs = arena.take_array<uint64_t>(5);
  tables.block = arena.take(100, 64);
  return tables;
}

alignas(kArenaAlign) uint8_t memory[512];

TEST(Arena, GivesAlignedMemoryThatDoesNotOverlap) {
  Arena arena(memory);
  const Tables tables = carve(arena);
  ASSERT_TRUE(arena.ok());
  EXPECT_EQ(memory, tables.flags);
  EXPECT_EQ(memory + 8, reinterpret_cast<uint8_t*>(tables.seqs));
  EXPECT_EQ(memory + 64, tables.block);
  EXPECT_EQ(164u, arena.used_bytes());
  EXPECT_EQ(512u - 164u, arena.left_bytes());
}

TEST(Arena, Measuring_TellsExactlyWhatCarvingNeeds) {
  Arena measuring = Arena::measuring();
  EXPECT_EQ(nullptr, carve(measuring).block);
  ASSERT_TRUE(measuring.ok());

  Arena enough(Bytes(memory, measuring.used_bytes()));
  carve(enough);
  EXPECT_TRUE(enough.ok());

  Arena one_short(Bytes(memory, measuring.used_bytes() - 1));
  carve(one_short);
  EXPECT_FALSE(one_short.ok());
}

TEST(Arena, OnceFull_RefusesAlsoWhatWouldFit) {
  Arena arena(Bytes(memory, 10));
  EXPECT_EQ(nullptr, arena.take(11, 1));
  EXPECT_EQ(nullptr, arena.take(1, 1));
  EXPECT_FALSE(arena.ok());
}

TEST(Arena, CountThatOverflows_Fails) {
  Arena arena = Arena::measuring();
  EXPECT_EQ(nullptr, arena.take_array<uint64_t>(SIZE_MAX / 4));
  EXPECT_FALSE(arena.ok());
}

}  // namespace
}  // namespace dumphook
