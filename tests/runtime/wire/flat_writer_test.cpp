// SPDX-License-Identifier: Apache-2.0
// Against hand-written FlatBuffers. That flatc's own code reads what we write is the matter of the message tests.
#include "wire/flat_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dumphook {
namespace {

alignas(16) uint8_t buffer[512];

std::vector<int> content(const FlatWriter& writer) {
  EXPECT_FALSE(writer.overflowed());
  return std::vector<int>(buffer, buffer + writer.used_bytes());
}

TEST(FlatWriter, TableWithScalars) {
  FlatWriter writer(buffer);
  FlatTable table(writer, writer.root());
  table.put(4, uint64_t{0x0102030405060708});
  table.put(8, uint8_t{9});
  table.put_nonzero(10, uint32_t{0});
  table.end();
  EXPECT_EQ((std::vector<int>{4,    0,    0,    0,                 // root
                              0xF2, 0xFF, 0xFF, 0xFF,              // the vtable is 14 bytes further on
                              8,    7,    6,    5,    4, 3, 2, 1,  // field at 4
                              9,    0,                             // field at 8, padding
                              10,   0,    13,   0,    4, 0, 0, 0, 12, 0}),
            content(writer));
}

TEST(FlatWriter, StringEndsWithANulThatIsNotCounted) {
  FlatWriter writer(buffer);
  FlatTable table(writer, writer.root());
  const FlatSlot text = table.slot(4);
  table.end();
  writer.text(text, "abcd");
  EXPECT_EQ((std::vector<int>{4,    0,    0,    0,             //
                              0xF8, 0xFF, 0xFF, 0xFF,          // the vtable is 8 bytes further on
                              12,   0,    0,    0,             // the string is 12 bytes further on
                              6,    0,    8,    0,    4,   0,  // vtable
                              0,    0,                         // padding
                              4,    0,    0,    0,    'a', 'b', 'c', 'd', 0}),
            content(writer));
}

TEST(FlatWriter, VectorElements_AreAlignedNotTheirCount) {
  FlatWriter writer(buffer);
  FlatTable table(writer, writer.root());
  const FlatSlot numbers = table.slot(4);
  table.end();
  const uint64_t values[] = {1, 2};
  writer.numbers(numbers, Span<const uint64_t>(values));
  EXPECT_EQ((std::vector<int>{4,  0, 0, 0, 0xF8, 0xFF, 0xFF, 0xFF,  //
                              12, 0, 0, 0,                          // the vector is 12 bytes further on
                              6,  0, 8, 0, 4,    0,    0,    0,     // vtable, padding
                              2,  0, 0, 0,                          // count
                              1,  0, 0, 0, 0,    0,    0,    0,    2, 0, 0, 0, 0, 0, 0, 0}),
            content(writer));
}

TEST(FlatWriter, EqualTables_ShareAVtable) {
  FlatWriter writer(buffer);
  FlatTable root(writer, writer.root());
  const FlatSlot children = root.slot(4);
  root.end();
  const FlatSlots slots = writer.offsets(children, 3);
  for (uint32_t i = 0; i < 3; ++i) {
    const size_t before = writer.used_bytes();
    FlatTable child(writer, slots[i]);
    child.put(4, i + 1);
    child.end();
    // The root's vtable, of one four-byte field, serves them all.
    EXPECT_EQ(8u, writer.used_bytes() - before);
  }
}

TEST(FlatWriter, NoneSlot_WritesNothing) {
  FlatWriter writer(buffer);
  FlatTable table(writer, writer.root());
  const FlatSlot none = table.slot_if(false, 4);
  table.end();
  const size_t before = writer.used_bytes();
  writer.text(none, "abc");
  writer.numbers(none, Span<const uint64_t>());
  FlatTable child(writer, none);
  child.put(4, uint32_t{1});
  child.end();
  EXPECT_EQ(before, writer.used_bytes());
  EXPECT_FALSE(writer.overflowed());
}

TEST(FlatWriter, MoreFieldsThanATableHolds_IsAnOverflowNotAGap) {
  FlatWriter writer(buffer);
  FlatTable table(writer, writer.root());
  table.put(4 + 2 * 23, uint8_t{1});
  EXPECT_FALSE(writer.overflowed());
  table.put(4 + 2 * 24, uint8_t{1});
  EXPECT_TRUE(writer.overflowed());
}

TEST(FlatWriter, Full_StaysFullAndWritesNothingOutside) {
  for (size_t room = 0; room < 60; ++room) {
    memset(buffer, 0xA5, sizeof buffer);
    FlatWriter writer(Bytes(buffer, room));
    FlatTable table(writer, writer.root());
    table.put(4, uint64_t{1});
    const FlatSlot text = table.slot(6);
    const FlatSlot vector = table.slot(8);
    table.end();
    writer.text(text, "twelve bytes");
    EXPECT_EQ(nullptr, writer.vector(vector, SIZE_MAX / 2, 8, 8));
    EXPECT_TRUE(writer.overflowed());
    EXPECT_EQ(nullptr, writer.vector(vector, 0, 1, 1));
    EXPECT_LE(writer.used_bytes(), room);
    for (size_t i = room; i < sizeof buffer; ++i) ASSERT_EQ(0xA5, buffer[i]) << room;
  }
}

}  // namespace
}  // namespace dumphook
