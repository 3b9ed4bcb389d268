// SPDX-License-Identifier: Apache-2.0
#include "capture/tensor_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace dumphook {
namespace {

class TensorTableTest : public ::testing::Test {
 protected:
  void open(uint32_t max_tensors, size_t string_bytes = 65536) {
    Arena measure = Arena::measuring();
    TensorTable().open(measure, nullptr, max_tensors);
    size_t size = (measure.used_bytes() + 63) / 64 * 64;
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(64, size)));
    memset(memory_.get(), 0xA5, size);
    text_.assign(string_bytes / 8, 0);
    strings_ = Arena(Bytes(reinterpret_cast<uint8_t*>(text_.data()), string_bytes));
    Arena arena{Bytes(memory_.get(), size)};
    ASSERT_TRUE(table_.open(arena, &strings_, max_tensors));
    Selection all;
    std::strcpy(all.include, "*");
    table_.select(all);
  }

  static dh_tensor named(const char* name) {
    dh_tensor tensor = dh_tensor_default();
    tensor.name = name;
    return tensor;
  }
  TensorEntry* add(const std::string& name, const char* model = "m") {
    loss_ = DH_LOSS_REASON_COUNT;
    return table_.find_or_add(named(name.c_str()), model, &loss_);
  }

  struct Free {
    void operator()(uint8_t* block) const { std::free(block); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  std::vector<uint64_t> text_;
  Arena strings_{Bytes()};
  TensorTable table_;
  dh_loss_reason loss_ = DH_LOSS_REASON_COUNT;
};

TEST_F(TensorTableTest, FindsWhatItAdded_ByModelAndName) {
  open(16);
  TensorEntry* a = add("a");
  EXPECT_EQ(add("a"), a);
  EXPECT_NE(add("a", "other"), a);
  EXPECT_EQ(table_.find("m", "a"), a);
  EXPECT_EQ(table_.find("m", "b"), nullptr);
  EXPECT_EQ(table_.count(), 2u);
}

TEST_F(TensorTableTest, RemembersWhatTheFirstCaptureSaid) {
  open(16);
  const char* origins[] = {"layer1", nullptr, "layer3"};
  dh_tensor tensor = named("t");
  tensor.op = "Conv";
  tensor.raw_type = "blob";
  tensor.origin_names = origins;
  tensor.origin_count = 3;
  tensor.node_index = 7;
  tensor.output_slot = 2;
  const TensorEntry* entry = table_.find_or_add(tensor, "m", &loss_);
  EXPECT_STREQ(entry->op, "Conv");
  EXPECT_STREQ(entry->raw_type, "blob");
  ASSERT_EQ(entry->origin_count, 3u);
  EXPECT_STREQ(entry->origin_names[0], "layer1");
  EXPECT_STREQ(entry->origin_names[1], "");
  EXPECT_STREQ(entry->origin_names[2], "layer3");
  EXPECT_EQ(entry->node_index, 7);
}

TEST_F(TensorTableTest, WhenFull_CountsTheRestForNobody_UnlessNotSelected) {
  open(2);
  add("a");
  add("b");
  EXPECT_TRUE(table_.is_nobody(add("c")));
  EXPECT_EQ(loss_, DH_LOSS_TOO_MANY_TENSORS);
  EXPECT_EQ(add("a")->tensor_id, 0u);
  Selection some;
  std::strcpy(some.include, "a,b");
  table_.select(some);
  EXPECT_EQ(add("d"), nullptr);
}

TEST_F(TensorTableTest, ANameThatDoesNotFit_UsesNothingUp_AndSmallerOnesStillFit) {
  open(100, 4096);
  const std::string long_name(5000, 'x');
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(table_.is_nobody(add(long_name)));
    EXPECT_EQ(loss_, DH_LOSS_NO_DESCRIPTOR_ROOM);
  }
  EXPECT_EQ(table_.keep_string(long_name.c_str()), nullptr);
  EXPECT_EQ(table_.keep_room(5000), nullptr);
  EXPECT_EQ(table_.add_attribute("m", "a", "key", long_name.c_str()), DH_ERR_LIMIT);
  EXPECT_FALSE(table_.is_nobody(add("a")));
  EXPECT_EQ(strings_.used_bytes(), strlen("m") + strlen("a") + 4);
}

TEST_F(TensorTableTest, AnAbsurdNumberOfOriginNamesIsALoss) {
  open(4, 4096);
  std::vector<const char*> origins(100000, "o");
  dh_tensor tensor = named("t");
  tensor.origin_names = origins.data();
  tensor.origin_count = static_cast<uint32_t>(origins.size());
  EXPECT_TRUE(table_.is_nobody(table_.find_or_add(tensor, "m", &loss_)));
  EXPECT_EQ(loss_, DH_LOSS_NO_DESCRIPTOR_ROOM);
}

TEST_F(TensorTableTest, AttributesAreNewestFirst_AlsoThoseSetBeforeTheTensorCame) {
  open(16);
  EXPECT_EQ(table_.add_attribute("m", "t", "k", "1"), DH_OK);
  EXPECT_EQ(table_.add_attribute("m", "u", "k", "other"), DH_OK);
  EXPECT_EQ(table_.add_attribute("m", "t", "k", "2"), DH_OK);
  TensorEntry* entry = add("t");
  EXPECT_EQ(table_.add_attribute("m", "t", "k", "3"), DH_OK);
  std::string values;
  for (const TensorAttribute* at = entry->attributes.load(); at != nullptr; at = at->next) values += at->value;
  EXPECT_EQ(values, "321");
}

TEST_F(TensorTableTest, TheLevelFollowsTheSelection) {
  open(16);
  TensorEntry* entry = add("t");
  EXPECT_EQ(table_.level(*entry), DH_LEVEL_FULL);
  table_.select(Selection());
  EXPECT_EQ(table_.level(*entry), DH_LEVEL_OFF);
  EXPECT_EQ(table_.level(table_.nobody()), DH_LEVEL_FULL);
}

TEST_F(TensorTableTest, ManyThreadsAgreeOnTheEntryOfAName) {
  open(600, 1 << 20);
  constexpr int kThreads = 8, kNames = 500;
  std::vector<std::vector<TensorEntry*>> found(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<int> order(kNames);
      for (int i = 0; i < kNames; ++i) order[static_cast<size_t>(i)] = i;
      std::shuffle(order.begin(), order.end(), random);
      found[static_cast<size_t>(t)].resize(kNames);
      for (const int i : order) {
        dh_loss_reason loss = DH_LOSS_REASON_COUNT;
        const std::string name = "tensor_" + std::to_string(i);
        TensorEntry* entry = table_.find_or_add(named(name.c_str()), "m", &loss);
        ASSERT_STREQ(entry->name, name.c_str());
        ASSERT_EQ(table_.level(*entry), DH_LEVEL_FULL);
        found[static_cast<size_t>(t)][static_cast<size_t>(i)] = entry;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& entries : found) EXPECT_EQ(entries, found[0]);
  EXPECT_EQ(std::set<TensorEntry*>(found[0].begin(), found[0].end()).size(), size_t{kNames});
  EXPECT_EQ(table_.count(), uint32_t{kNames});
}

TEST_F(TensorTableTest, OccurrencesCountFromZeroInEachUseOfASlot) {
  open(4);
  TensorEntry* entry = add("t");
  EXPECT_EQ(entry->next_occurrence(3, 1), 0u);
  EXPECT_EQ(entry->next_occurrence(3, 1), 1u);
  EXPECT_EQ(entry->next_occurrence(4, 1), 0u);
  EXPECT_EQ(entry->next_occurrence(3, 2), 0u);
  for (int i = 0; i < 5000; ++i) entry->next_occurrence(3, 3);
  EXPECT_LE(entry->next_occurrence(3, 3), 4095u);
  EXPECT_EQ(entry->next_occurrence(3, 4), 0u);
}

TEST(LossCell, ReportsCountsExactly_AndRangesThatHoldThem) {
  LossCell cell;
  EXPECT_EQ(cell.take().count, 0u);
  cell.add(7);
  cell.add(3);
  LossCell::Range range = cell.take();
  EXPECT_EQ(range.count, 2u);
  EXPECT_EQ(range.first_frame, 3u);
  EXPECT_EQ(range.last_frame, 7u);
  cell.add(9);
  range = cell.take();
  EXPECT_EQ(range.count, 1u);
  EXPECT_EQ(range.first_frame, 9u);
  EXPECT_EQ(range.last_frame, 9u);
  cell.add(12);
  cell.retell();
  range = cell.take();
  EXPECT_EQ(range.count, 4u);
  EXPECT_EQ(range.first_frame, 3u);
  EXPECT_EQ(range.last_frame, 12u);
}

// Each thread loses frames of its own; a frame must lie in a range of its report or of an earlier one, and as many as a
// report counts must fit its range.
TEST(LossCell, UnderLoad_NoLossIsOutsideWhatIsReported) {
  constexpr uint64_t kThreads = 4, kEach = 100000;
  LossCell cell;
  std::atomic<uint64_t> clock{1};
  std::atomic<bool> over{false};
  std::vector<LossCell::Range> ranges;
  std::thread worker([&] {
    for (bool last = false; !last;) {
      last = over.load();
      const LossCell::Range range = cell.take();
      if (range.count != 0) ranges.push_back(range);
    }
  });
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kEach; ++i) cell.add(clock.fetch_add(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  over = true;
  worker.join();
  const uint64_t total = kThreads * kEach;
  std::vector<int> covered(total + 2);
  uint64_t count = 0;
  for (const LossCell::Range& range : ranges) {
    ASSERT_LE(range.first_frame, range.last_frame);
    ASSERT_GE(range.last_frame - range.first_frame + 1, range.count);
    count += range.count;
    ++covered[range.first_frame];
    --covered[range.last_frame + 1];
  }
  EXPECT_EQ(count, total);
  int depth = 0;
  for (uint64_t frame = 1; frame <= total; ++frame) {
    depth += covered[frame];
    ASSERT_GT(depth, 0) << "frame " << frame << " is in no range";
  }
}

}  // namespace
}  // namespace dumphook
