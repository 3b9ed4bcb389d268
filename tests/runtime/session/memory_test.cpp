// SPDX-License-Identifier: Apache-2.0
// The budget: stated, kept, given by the caller, and as small as it gets.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "open_session.h"

namespace {

// Private writable bytes of this process, as the kernel counts them.
uint64_t mapped_bytes() {
  std::ifstream maps("/proc/self/maps");
  uint64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char mode[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, mode) == 3) sum += end - begin;
  }
  return sum;
}

dh_memory_plan plan_of(const dh_options& options) {
  dh_memory_plan plan = {};
  plan.struct_size = sizeof plan;
  EXPECT_EQ(dh_required_bytes(&options, &plan), plan.total_bytes);
  return plan;
}

// Captures and reads back; the number of tensors that arrived whole.
size_t use(const dh_options& options, Collector* collector) {
  dh_session* session = nullptr;
  const dh_status status = dh_open(&options, &session);
  EXPECT_EQ(status, DH_OK) << collector->log();
  if (status != DH_OK) return 0;
  for (uint64_t f = 0; f < 20; ++f) {
    const dh_frame frame = begin_frame(session, f);
    for (const char* name : {"a", "b"}) {
      const std::string data = content(name, f, 3000);
      const dh_tensor tensor = u8_tensor(name, data);
      dh_capture_by_name(session, frame, &tensor);
    }
    dh_frame_end(session, frame);
    EXPECT_EQ(dh_flush(session, 5000), DH_OK);
  }
  dh_close(session);
  const auto stream = test_reader::read_stream(collector->bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  size_t whole = 0;
  for (const auto& [id, tensor] : stream.tensors) {
    whole += tensor.whole() && tensor.bytes == content(tensor.name, tensor.frame, 3000);
  }
  return whole;
}

TEST(Memory, ThePlanAddsUp) {
  Collector collector;
  for (const char* sink : {"callback:", "file:x.mcap", "tcp://127.0.0.1:1"}) {
    dh_options options = callback_options(&collector);
    options.sink = sink;
    const dh_memory_plan plan = plan_of(options);
    EXPECT_EQ(plan.total_bytes, plan.raw_pool_bytes + plan.spool_bytes + plan.pretrigger_bytes + plan.descriptor_bytes +
                                    plan.table_bytes + plan.index_bytes + plan.scratch_bytes);
    EXPECT_GE(plan.raw_pool_bytes, options.raw_pool_bytes);
    EXPECT_EQ(plan.spool_bytes, options.spool_bytes);
    EXPECT_EQ(plan.index_bytes != 0, std::string(sink) == "file:x.mcap");

    // The table that goes with it adds up, too.
    Collector table;
    options.on_log_user = &table;
    EXPECT_EQ(dh_required_bytes(&options, nullptr), plan.total_bytes);
    std::istringstream lines(table.log());
    uint64_t sum = 0, last = 0;
    for (std::string line; std::getline(lines, line); sum += last) last = std::stoull(line);
    EXPECT_EQ(last, plan.total_bytes) << table.log();
    EXPECT_EQ(sum, 2 * plan.total_bytes) << table.log();
  }
}

TEST(Memory, OptionsThatAreNotValidNeedNone) {
  dh_options options = dh_options_default();
  options.block_bytes = 7;
  EXPECT_EQ(dh_required_bytes(&options, nullptr), 0u);
  EXPECT_EQ(dh_required_bytes(nullptr, nullptr), 0u);
}

TEST(Memory, WhatOpenMapsIsWhatWasStated) {
#ifdef DUMPHOOK_SANITIZED
  GTEST_SKIP() << "sanitizers map memory of their own";
#endif
  Collector collector;
  dh_options options = callback_options(&collector);
  options.raw_pool_bytes = 32 << 20;
  options.flags = DH_FLAG_NO_WORKER;  // a thread's stack is not of the budget
  options.on_bytes = [](void*, const void*, size_t bytes) { return static_cast<int64_t>(bytes); };
  const uint64_t stated = dh_required_bytes(&options, nullptr);
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);  // once before, so that what libc maps for itself is there
  dh_close(session);
  mapped_bytes();
  const uint64_t before = mapped_bytes();
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  EXPECT_EQ(mapped_bytes() - before, stated);
  dh_close(session);
  EXPECT_LT(mapped_bytes(), before + (1 << 20));  // the collector's own bytes grow
}

TEST(Memory, TheCallersBlockIsUsed_WhateverItHolds) {
  for (const int garbage : {0x00, 0xA5, 0xFF}) {
    Collector collector;
    dh_options options = callback_options(&collector);
    const uint64_t bytes = dh_required_bytes(&options, nullptr);
    const size_t size = (bytes + 63) / 64 * 64;
    struct Free {
      void operator()(void* block) const { std::free(block); }
    };
    std::unique_ptr<void, Free> block(std::aligned_alloc(64, size + 64));
    std::memset(block.get(), garbage, size + 64);
    options.memory = block.get();
    options.memory_bytes = bytes - 1;
    dh_session* session = nullptr;
    EXPECT_EQ(dh_open(&options, &session), DH_ERR_MEMORY);
    EXPECT_EQ(session, nullptr);
    options.memory_bytes = bytes;
    options.memory = static_cast<char*>(block.get()) + 8;
    EXPECT_EQ(dh_open(&options, &session), DH_ERR_MEMORY);
    options.memory = block.get();
    EXPECT_EQ(use(options, &collector), 40u);
    for (size_t i = size; i < size + 64; ++i) {
      ASSERT_EQ(static_cast<unsigned char*>(block.get())[i], garbage) << "written behind the block";
    }
  }
}

TEST(Memory, TheSmallestBudgetsWork_AndSmallerOnesAreRefused) {
  int worked = 0, refused = 0;
  for (uint64_t pool = 4096; pool <= 65536; pool *= 2) {
    for (uint64_t spool = 8192; spool <= 512 << 10; spool *= 4) {
      for (uint64_t descriptors = 16384; descriptors <= 131072; descriptors *= 2) {
        for (const uint32_t part : {4096u, 16384u}) {
          Collector collector;
          dh_options options = callback_options(&collector);
          options.raw_pool_bytes = pool;
          options.spool_bytes = spool;
          options.descriptor_bytes = descriptors;
          options.block_bytes = 4096;
          options.part_bytes = part;
          options.max_tensors = 2;
          options.policy = DH_POLICY_BLOCK;
          if (dh_required_bytes(&options, nullptr) == 0) {
            dh_session* session = nullptr;
            EXPECT_EQ(dh_open(&options, &session), DH_ERR_OPTION);
            ++refused;
            continue;
          }
          ++worked;
          EXPECT_EQ(use(options, &collector), 40u) << pool << " " << spool << " " << descriptors << " " << part;
        }
      }
    }
  }
  EXPECT_GT(worked, 5);
  EXPECT_GT(refused, 5);
}

TEST(Memory, DescriptorsBeyondTheirRoomAreLossesWithAReason) {
  Collector collector;
  dh_options options = callback_options(&collector);
  options.descriptor_bytes = 65536;
  options.max_tensors = 2000;
  options.raw_pool_bytes = 16 << 20;
  dh_session* session = nullptr;
  ASSERT_EQ(dh_open(&options, &session), DH_OK);
  const std::string data = "abc";
  const dh_frame frame = begin_frame(session, 1);
  for (int i = 0; i < 1500; ++i) {
    const std::string name = "tensor" + std::to_string(i) + std::string(100, '_');
    const dh_tensor tensor = u8_tensor(name.c_str(), data);
    dh_capture_by_name(session, frame, &tensor);
  }
  dh_frame_end(session, frame);
  EXPECT_EQ(dh_flush(session, 5000), DH_OK);
  const dh_counter_values values = counters_of(session);
  EXPECT_GT(values.lost[DH_LOSS_NO_DESCRIPTOR_ROOM], 0u);
  EXPECT_GT(values.shipped, 50u);
  EXPECT_EQ(values.seen, 1500u);
  dh_close(session);
  const auto stream = test_reader::read_stream(collector.bytes());
  EXPECT_EQ(joined(stream.wrong), "");
  uint64_t lost = 0;
  for (const auto& loss : stream.losses) lost += loss.count;
  EXPECT_EQ(stream.tensors.size() + lost, 1500u);
}

}  // namespace
