// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

alignas(8) uint8_t buffer[4096];

template <class T>
const T* verified(size_t bytes) {
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(0u, bytes % 8);
  flatbuffers::Verifier verifier(buffer, bytes, kMaxFlatDepth, kMaxFlatTables);
  EXPECT_TRUE(verifier.VerifyBuffer<T>(nullptr));
  EXPECT_TRUE(check_message_crc(ConstBytes(buffer, bytes)));
  return flatbuffers::GetRoot<T>(buffer);
}

uint64_t losses_by_reason[DH_LOSS_REASON_COUNT] = {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4};

// The bytes of a whole message, as FORMAT.md explains them.
TEST(ClockSync, Bytes) {
  ClockSyncView view;
  view.session_ns = 0x10;
  view.wall_ns = 0x20;
  ASSERT_EQ(48u, write_clock_sync(buffer, 7, view));
  const uint8_t expected[] = {
      4,    0,    0,    0,                    // root table at 4
      0xE0, 0xFF, 0xFF, 0xFF,                 // its vtable, 32 bytes further on
      7,    0,    0,    0,    0,  0, 0,  0,   // stream_seq
      0x10, 0,    0,    0,    0,  0, 0,  0,   // session_ns
      0x20, 0,    0,    0,    0,  0, 0,  0,   // wall_ns
      0xCC, 0xCC, 0xCC, 0xCC,                 // crc32
      12,   0,    32,   0,                    // vtable: its size, the table's size
      28,   0,    4,    0,    12, 0, 20, 0};  // where crc32, stream_seq, session_ns, wall_ns are
  uint8_t written[sizeof expected];
  memcpy(written, buffer, sizeof written);
  memset(written + 32, 0xCC, 4);
  EXPECT_EQ(0, memcmp(expected, written, sizeof expected));
  const ClockSync* sync = verified<ClockSync>(48);
  EXPECT_EQ(0x10u, sync->session_ns());
  EXPECT_EQ(0x20u, sync->wall_ns());
}

TEST(FrameBegin, ComesThroughWhole) {
  FrameBeginView view;
  view.frame = 1;
  view.instance = 2;
  view.model = "m";
  view.capture_time_ns = 3;
  view.begin_time_ns = 4;
  const FrameBegin* frame = verified<FrameBegin>(write_frame_begin(buffer, 9, view));
  EXPECT_EQ(9u, frame->stream_seq());
  EXPECT_EQ(1u, frame->frame());
  EXPECT_EQ(2u, frame->instance());
  EXPECT_EQ("m", frame->model()->str());
  EXPECT_EQ(3u, frame->capture_time_ns());
  EXPECT_EQ(4u, frame->begin_time_ns());
}

TEST(FrameEnd, ListsOnlyReasonsThatOccurred) {
  const AttributeView attributes[] = {{"weather", "rain"}};
  FrameEndView view;
  view.frame = 1;
  view.state = kFrameIncomplete;
  view.seen = 17;
  view.accepted = 10;
  view.lost = losses_by_reason;
  view.end_time_ns = 5;
  view.attributes = attributes;
  const FrameEnd* frame = verified<FrameEnd>(write_frame_end(buffer, 9, view));
  EXPECT_EQ(1u, frame->frame());
  EXPECT_EQ(FrameState::INCOMPLETE, frame->state());
  EXPECT_EQ(17u, frame->seen());
  EXPECT_EQ(10u, frame->accepted());
  EXPECT_EQ(5u, frame->end_time_ns());
  ASSERT_EQ(2u, frame->lost()->size());
  EXPECT_EQ(LossReason::POOL_FULL, frame->lost()->Get(0)->reason());
  EXPECT_EQ(3u, frame->lost()->Get(0)->count());
  EXPECT_EQ(LossReason::CLOSED, frame->lost()->Get(1)->reason());
  EXPECT_EQ(4u, frame->lost()->Get(1)->count());
  EXPECT_EQ("rain", frame->attributes()->Get(0)->value()->str());
}

TEST(FrameEnd, WithoutLosses_HasNoList) {
  uint64_t none[DH_LOSS_REASON_COUNT] = {};
  FrameEndView view;
  view.lost = none;
  EXPECT_EQ(nullptr, verified<FrameEnd>(write_frame_end(buffer, 9, view))->lost());
}

TEST(ModelGraph, ComesThroughWhole) {
  const char* const inputs[] = {"image", nullptr};
  const char* const outputs[] = {"conv1:0"};
  NodeView nodes[2];
  nodes[0].index = 10;
  nodes[0].name = "conv1";
  nodes[0].op = "Conv2D";
  nodes[0].inputs = inputs;
  nodes[0].outputs = outputs;
  nodes[0].backend = "npu";
  nodes[0].visibility = DH_INSIDE_DELEGATE;
  GraphView view;
  view.model = "yolo";
  view.model_hash = "abc";
  view.node_total = 100;
  view.first_node = 10;
  view.nodes = Span<const NodeView>(nodes, 2);
  const ModelGraph* graph = verified<ModelGraph>(write_graph(buffer, 9, view));
  EXPECT_EQ("yolo", graph->model()->str());
  EXPECT_EQ("abc", graph->model_hash()->str());
  EXPECT_EQ(100u, graph->node_total());
  EXPECT_EQ(10u, graph->first_node());
  ASSERT_EQ(2u, graph->nodes()->size());
  const Node* node = graph->nodes()->Get(0);
  EXPECT_EQ(10, node->index());
  EXPECT_EQ("conv1", node->name()->str());
  EXPECT_EQ("Conv2D", node->op()->str());
  ASSERT_EQ(2u, node->inputs()->size());
  EXPECT_EQ("image", node->inputs()->Get(0)->str());
  EXPECT_EQ("", node->inputs()->Get(1)->str());
  EXPECT_EQ("conv1:0", node->outputs()->Get(0)->str());
  EXPECT_EQ("npu", node->backend()->str());
  EXPECT_EQ(Visibility::INSIDE_DELEGATE, node->visibility());
  EXPECT_EQ(-1, graph->nodes()->Get(1)->index());
  EXPECT_EQ(nullptr, graph->nodes()->Get(1)->name());
}

TEST(Loss, ComesThroughWhole) {
  LossRangeView ranges[2];
  ranges[0].tensor_id = 0;
  ranges[0].reason = DH_LOSS_TOO_BIG;
  ranges[0].first_frame = 2;
  ranges[0].last_frame = 3;
  ranges[0].count = 4;
  ranges[0].pool_bytes_needed = 5;
  const Loss* loss = verified<Loss>(write_loss(buffer, 9, ranges));
  ASSERT_EQ(2u, loss->ranges()->size());
  const LossRange* range = loss->ranges()->Get(0);
  EXPECT_EQ(0u, range->tensor_id());
  EXPECT_EQ(LossReason::TOO_BIG, range->reason());
  EXPECT_EQ(2u, range->first_frame());
  EXPECT_EQ(3u, range->last_frame());
  EXPECT_EQ(4u, range->count());
  EXPECT_EQ(5u, range->pool_bytes_needed());
  EXPECT_EQ(kNoTensorId, loss->ranges()->Get(1)->tensor_id());
}

TEST(Counters, ComeThroughWhole) {
  TensorCountersView tensors[2];
  tensors[0].tensor_id = 3;
  tensors[0].seen = 10;
  tensors[0].shipped = 2;
  tensors[0].in_flight = 1;
  tensors[0].lost = losses_by_reason;
  CountersView view;
  view.seen = 1;
  view.shipped = 2;
  view.in_flight = 3;
  view.lost = losses_by_reason;
  view.frames_begun = 4;
  view.frames_ended = 5;
  view.raw_bytes = 6;
  view.encoded_bytes = 7;
  view.pool_peak_bytes = 8;
  view.spool_peak_bytes = 9;
  view.tensors = tensors;
  view.closing = true;
  const Counters* counters = verified<Counters>(write_counters(buffer, 9, view));
  EXPECT_EQ(1u, counters->seen());
  EXPECT_EQ(2u, counters->shipped());
  EXPECT_EQ(3u, counters->in_flight());
  EXPECT_EQ(2u, counters->lost()->size());
  EXPECT_EQ(4u, counters->frames_begun());
  EXPECT_EQ(5u, counters->frames_ended());
  EXPECT_EQ(6u, counters->raw_bytes());
  EXPECT_EQ(7u, counters->encoded_bytes());
  EXPECT_EQ(8u, counters->pool_peak_bytes());
  EXPECT_EQ(9u, counters->spool_peak_bytes());
  EXPECT_TRUE(counters->closing());
  ASSERT_EQ(2u, counters->tensors()->size());
  EXPECT_EQ(3u, counters->tensors()->Get(0)->tensor_id());
  EXPECT_EQ(10u, counters->tensors()->Get(0)->seen());
  EXPECT_EQ(2u, counters->tensors()->Get(0)->shipped());
  EXPECT_EQ(1u, counters->tensors()->Get(0)->in_flight());
  EXPECT_EQ(4u, counters->tensors()->Get(0)->lost()->Get(1)->count());
  EXPECT_EQ(nullptr, counters->tensors()->Get(1)->lost());
}

TEST(ConfigChange, ComesThroughWhole) {
  ConfigChangeView view;
  view.first_frame = 3;
  view.text = "include = *\n";
  view.origin = "peer";
  const ConfigChange* change = verified<ConfigChange>(write_config_change(buffer, 9, view));
  EXPECT_EQ(3u, change->first_frame());
  EXPECT_EQ("include = *\n", change->text()->str());
  EXPECT_EQ("peer", change->origin()->str());
}

TEST(Log, ComesThroughWhole) {
  LogView view;
  view.level = static_cast<uint8_t>(LogLevel::INFO);
  view.text = "hello";
  const Log* log = verified<Log>(write_log(buffer, 9, view));
  EXPECT_EQ(LogLevel::INFO, log->level());
  EXPECT_EQ("hello", log->text()->str());
}

TEST(RunReply, ComesThroughWhole) {
  RunReplyView view;
  view.request_id = 1;
  view.status = kReplyUnknownCommand;
  view.text = "what?";
  view.first_frame = 2;
  view.frame_count = 3;
  const RunReply* reply = verified<RunReply>(write_run_reply(buffer, 9, view));
  EXPECT_EQ(1u, reply->request_id());
  EXPECT_EQ(ReplyStatus::UNKNOWN_COMMAND, reply->status());
  EXPECT_EQ("what?", reply->text()->str());
  EXPECT_EQ(2u, reply->first_frame());
  EXPECT_EQ(3u, reply->frame_count());
}

}  // namespace
}  // namespace dumphook
