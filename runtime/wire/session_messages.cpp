// SPDX-License-Identifier: Apache-2.0
#include "wire/flat_fields.h"
#include "wire/flat_writer.h"
#include "wire/generated.h"
#include "wire/message_crc.h"
#include "wire/message_parts.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

static_assert(static_cast<uint8_t>(LossReason::CLOSED) + 1 == DH_LOSS_REASON_COUNT &&
                  static_cast<uint8_t>(Visibility::CONSTANT) == DH_CONSTANT,
              "the schema and dumphook.h number alike");
static_assert(static_cast<uint8_t>(FrameState::INCOMPLETE) == kFrameIncomplete &&
                  static_cast<uint8_t>(ReplyStatus::UNKNOWN_COMMAND) == kReplyUnknownCommand,
              "the schema and format.h number alike");

size_t count_nonzero(Span<const uint64_t> counts) {
  size_t nonzero = 0;
  for (uint64_t count : counts) nonzero += count != 0;
  return nonzero;
}

void write_losses_by_reason(FlatWriter& writer, FlatSlot slot, Span<const uint64_t> counts) {
  uint8_t* to = writer.vector(slot, count_nonzero(counts), sizeof(ReasonCount), alignof(ReasonCount));
  if (to == nullptr) return;
  for (size_t reason = 0; reason < counts.size; ++reason) {
    if (counts[reason] == 0) continue;
    store_le(to, counts[reason]);
    to[sizeof(uint64_t)] = static_cast<uint8_t>(reason);
    to += sizeof(ReasonCount);
  }
}

void write_nodes(FlatWriter& writer, FlatSlot slot, Span<const NodeView> nodes) {
  const FlatSlots slots = writer.offsets(slot, nodes.size);
  for (size_t i = 0; i < nodes.size && !writer.overflowed(); ++i) {
    const NodeView& node = nodes[i];
    FlatTable table(writer, slots[i]);
    table.put(Node::VT_INDEX, node.index);
    const FlatSlot name = table.slot_if(!is_blank(node.name), Node::VT_NAME);
    const FlatSlot op = table.slot_if(!is_blank(node.op), Node::VT_OP);
    const FlatSlot inputs = table.slot_if(!node.inputs.empty(), Node::VT_INPUTS);
    const FlatSlot outputs = table.slot_if(!node.outputs.empty(), Node::VT_OUTPUTS);
    const FlatSlot backend = table.slot_if(!is_blank(node.backend), Node::VT_BACKEND);
    table.put_nonzero(Node::VT_VISIBILITY, node.visibility);
    table.end();
    writer.text(name, node.name);
    writer.text(op, node.op);
    writer.texts(inputs, node.inputs);
    writer.texts(outputs, node.outputs);
    writer.text(backend, node.backend);
  }
}

void write_loss_ranges(FlatWriter& writer, FlatSlot slot, Span<const LossRangeView> ranges) {
  const FlatSlots slots = writer.offsets(slot, ranges.size);
  for (size_t i = 0; i < ranges.size && !writer.overflowed(); ++i) {
    const LossRangeView& range = ranges[i];
    FlatTable table(writer, slots[i]);
    table.put(LossRange::VT_TENSOR_ID, range.tensor_id);
    table.put(LossRange::VT_FIRST_FRAME, range.first_frame);
    table.put(LossRange::VT_LAST_FRAME, range.last_frame);
    table.put(LossRange::VT_COUNT, range.count);
    table.put_nonzero(LossRange::VT_POOL_BYTES_NEEDED, range.pool_bytes_needed);
    table.put(LossRange::VT_REASON, range.reason);
    table.end();
  }
}

void write_tensor_counters(FlatWriter& writer, FlatSlot slot, Span<const TensorCountersView> tensors) {
  const FlatSlots slots = writer.offsets(slot, tensors.size);
  for (size_t i = 0; i < tensors.size && !writer.overflowed(); ++i) {
    const TensorCountersView& tensor = tensors[i];
    FlatTable table(writer, slots[i]);
    table.put(TensorCounters::VT_TENSOR_ID, tensor.tensor_id);
    table.put(TensorCounters::VT_SEEN, tensor.seen);
    table.put(TensorCounters::VT_SHIPPED, tensor.shipped);
    table.put_nonzero(TensorCounters::VT_IN_FLIGHT, tensor.in_flight);
    const FlatSlot lost = table.slot_if(count_nonzero(tensor.lost) != 0, TensorCounters::VT_LOST);
    table.end();
    write_losses_by_reason(writer, lost, tensor.lost);
  }
}

}  // namespace

void write_attributes(FlatWriter& writer, FlatSlot slot, Span<const AttributeView> attributes) {
  const FlatSlots slots = writer.offsets(slot, attributes.size);
  for (size_t i = 0; i < attributes.size && !writer.overflowed(); ++i) {
    FlatTable table(writer, slots[i]);
    const FlatSlot key = table.slot_if(!is_blank(attributes[i].key), Attribute::VT_KEY);
    const FlatSlot value = table.slot_if(!is_blank(attributes[i].value), Attribute::VT_VALUE);
    table.end();
    writer.text(key, attributes[i].key);
    writer.text(value, attributes[i].value);
  }
}

size_t write_frame_begin(Bytes out, uint64_t stream_seq, const FrameBeginView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(FrameBegin::VT_STREAM_SEQ, stream_seq);
  message.put(FrameBegin::VT_FRAME, view.frame);
  message.put_nonzero(FrameBegin::VT_CAPTURE_TIME_NS, view.capture_time_ns);
  message.put_nonzero(FrameBegin::VT_BEGIN_TIME_NS, view.begin_time_ns);
  message.put(FrameBegin::VT_CRC32, uint32_t{0});
  message.put_nonzero(FrameBegin::VT_INSTANCE, view.instance);
  const FlatSlot model = message.slot_if(!is_blank(view.model), FrameBegin::VT_MODEL);
  message.end();
  writer.text(model, view.model);
  return seal_message(writer, out);
}

size_t write_frame_end(Bytes out, uint64_t stream_seq, const FrameEndView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(FrameEnd::VT_STREAM_SEQ, stream_seq);
  message.put(FrameEnd::VT_FRAME, view.frame);
  message.put_nonzero(FrameEnd::VT_END_TIME_NS, view.end_time_ns);
  message.put(FrameEnd::VT_CRC32, uint32_t{0});
  message.put(FrameEnd::VT_SEEN, view.seen);
  message.put(FrameEnd::VT_ACCEPTED, view.accepted);
  const FlatSlot lost = message.slot_if(count_nonzero(view.lost) != 0, FrameEnd::VT_LOST);
  const FlatSlot attributes = message.slot_if(!view.attributes.empty(), FrameEnd::VT_ATTRIBUTES);
  message.put(FrameEnd::VT_STATE, view.state);
  message.end();
  write_losses_by_reason(writer, lost, view.lost);
  write_attributes(writer, attributes, view.attributes);
  return seal_message(writer, out);
}

size_t write_graph(Bytes out, uint64_t stream_seq, const GraphView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(ModelGraph::VT_STREAM_SEQ, stream_seq);
  message.put(ModelGraph::VT_CRC32, uint32_t{0});
  message.put(ModelGraph::VT_NODE_TOTAL, view.node_total);
  message.put_nonzero(ModelGraph::VT_FIRST_NODE, view.first_node);
  const FlatSlot model = message.slot_if(!is_blank(view.model), ModelGraph::VT_MODEL);
  const FlatSlot model_hash = message.slot_if(!is_blank(view.model_hash), ModelGraph::VT_MODEL_HASH);
  const FlatSlot nodes = message.slot_if(!view.nodes.empty(), ModelGraph::VT_NODES);
  const FlatSlot attributes = message.slot_if(!view.attributes.empty(), ModelGraph::VT_ATTRIBUTES);
  message.end();
  writer.text(model, view.model);
  writer.text(model_hash, view.model_hash);
  write_nodes(writer, nodes, view.nodes);
  write_attributes(writer, attributes, view.attributes);
  return seal_message(writer, out);
}

size_t write_loss(Bytes out, uint64_t stream_seq, Span<const LossRangeView> ranges) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(Loss::VT_STREAM_SEQ, stream_seq);
  message.put(Loss::VT_CRC32, uint32_t{0});
  const FlatSlot slot = message.slot_if(!ranges.empty(), Loss::VT_RANGES);
  message.end();
  write_loss_ranges(writer, slot, ranges);
  return seal_message(writer, out);
}

bool read_loss_range(ConstBytes message, uint32_t index, LossRangeView* range) {
  const size_t ranges = flat_child(message, flat_root(message), Loss::VT_RANGES);
  if (ranges == 0 || index >= load_le<uint32_t>(message.data + ranges)) return false;
  const uint64_t slot = ranges + sizeof(uint32_t) + uint64_t{index} * sizeof(uint32_t);
  if (slot + sizeof(uint32_t) > message.size) return false;
  const uint64_t table = slot + load_le<uint32_t>(message.data + slot);
  const auto number = [message, table](uint16_t vt, size_t bytes) {
    const size_t at = table > message.size ? 0 : flat_field(message, static_cast<size_t>(table), vt, bytes);
    uint64_t value = 0;
    for (size_t i = 0; at != 0 && i < bytes; ++i) value |= uint64_t{message.data[at + i]} << (8 * i);
    return value;
  };
  range->tensor_id = static_cast<uint32_t>(number(LossRange::VT_TENSOR_ID, sizeof(uint32_t)));
  range->reason = static_cast<uint8_t>(number(LossRange::VT_REASON, sizeof(uint8_t)));
  range->first_frame = number(LossRange::VT_FIRST_FRAME, sizeof(uint64_t));
  range->last_frame = number(LossRange::VT_LAST_FRAME, sizeof(uint64_t));
  range->count = number(LossRange::VT_COUNT, sizeof(uint64_t));
  return true;
}

size_t write_counters(Bytes out, uint64_t stream_seq, const CountersView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(Counters::VT_STREAM_SEQ, stream_seq);
  message.put(Counters::VT_SEEN, view.seen);
  message.put(Counters::VT_SHIPPED, view.shipped);
  message.put(Counters::VT_IN_FLIGHT, view.in_flight);
  message.put(Counters::VT_FRAMES_BEGUN, view.frames_begun);
  message.put(Counters::VT_FRAMES_ENDED, view.frames_ended);
  message.put(Counters::VT_RAW_BYTES, view.raw_bytes);
  message.put(Counters::VT_ENCODED_BYTES, view.encoded_bytes);
  message.put(Counters::VT_POOL_PEAK_BYTES, view.pool_peak_bytes);
  message.put(Counters::VT_SPOOL_PEAK_BYTES, view.spool_peak_bytes);
  message.put(Counters::VT_CRC32, uint32_t{0});
  const FlatSlot lost = message.slot_if(count_nonzero(view.lost) != 0, Counters::VT_LOST);
  const FlatSlot tensors = message.slot_if(!view.tensors.empty(), Counters::VT_TENSORS);
  message.put_nonzero(Counters::VT_CLOSING, static_cast<uint8_t>(view.closing));
  message.end();
  write_losses_by_reason(writer, lost, view.lost);
  write_tensor_counters(writer, tensors, view.tensors);
  return seal_message(writer, out);
}

size_t write_config_change(Bytes out, uint64_t stream_seq, const ConfigChangeView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(ConfigChange::VT_STREAM_SEQ, stream_seq);
  message.put_nonzero(ConfigChange::VT_FIRST_FRAME, view.first_frame);
  message.put(ConfigChange::VT_CRC32, uint32_t{0});
  const FlatSlot text = message.slot_if(!is_blank(view.text), ConfigChange::VT_TEXT);
  const FlatSlot origin = message.slot_if(!is_blank(view.origin), ConfigChange::VT_ORIGIN);
  message.end();
  writer.text(text, view.text);
  writer.text(origin, view.origin);
  return seal_message(writer, out);
}

size_t write_clock_sync(Bytes out, uint64_t stream_seq, const ClockSyncView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(ClockSync::VT_STREAM_SEQ, stream_seq);
  message.put(ClockSync::VT_SESSION_NS, view.session_ns);
  message.put(ClockSync::VT_WALL_NS, view.wall_ns);
  message.put(ClockSync::VT_CRC32, uint32_t{0});
  message.end();
  return seal_message(writer, out);
}

size_t write_log(Bytes out, uint64_t stream_seq, const LogView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(Log::VT_STREAM_SEQ, stream_seq);
  message.put(Log::VT_CRC32, uint32_t{0});
  const FlatSlot text = message.slot_if(!is_blank(view.text), Log::VT_TEXT);
  message.put(Log::VT_LEVEL, view.level);
  message.end();
  writer.text(text, view.text);
  return seal_message(writer, out);
}

size_t write_run_reply(Bytes out, uint64_t stream_seq, const RunReplyView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(RunReply::VT_STREAM_SEQ, stream_seq);
  message.put(RunReply::VT_REQUEST_ID, view.request_id);
  message.put_nonzero(RunReply::VT_FIRST_FRAME, view.first_frame);
  message.put(RunReply::VT_CRC32, uint32_t{0});
  message.put_nonzero(RunReply::VT_FRAME_COUNT, view.frame_count);
  const FlatSlot text = message.slot_if(!is_blank(view.text), RunReply::VT_TEXT);
  message.put(RunReply::VT_STATUS, view.status);
  message.end();
  writer.text(text, view.text);
  return seal_message(writer, out);
}

}  // namespace dumphook
