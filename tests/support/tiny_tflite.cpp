// SPDX-License-Identifier: Apache-2.0
#include "tiny_tflite.h"

#include <flatbuffers/flatbuffers.h>

namespace dumphook::test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using AnyOffset = Offset<void>;

// A table put together field by field, by number.
class Table {
 public:
  explicit Table(FlatBufferBuilder& builder) : builder_(builder), start_(builder.StartTable()) {}
  template <typename T>
  Table& value(int number, T value) {
    builder_.AddElement<T>(slot(number), value);
    return *this;
  }
  template <typename T>
  Table& offset(int number, Offset<T> value) {
    builder_.AddOffset(slot(number), value);
    return *this;
  }
  AnyOffset end() { return AnyOffset(builder_.EndTable(start_)); }

 private:
  static flatbuffers::voffset_t slot(int number) { return static_cast<flatbuffers::voffset_t>(4 + 2 * number); }
  FlatBufferBuilder& builder_;
  flatbuffers::uoffset_t start_;
};

AnyOffset build_tensor(FlatBufferBuilder& b, const TinyTensor& tensor, uint32_t buffer) {
  const auto name = b.CreateString(tensor.name);
  const auto shape = b.CreateVector(tensor.shape);
  const auto scale = b.CreateVector(tensor.scale);
  const auto zero_point = b.CreateVector(tensor.zero_point);
  Table quantization(b);
  if (!tensor.scale.empty()) quantization.offset(2, scale).offset(3, zero_point).value<int32_t>(6, tensor.axis);
  const AnyOffset quantization_offset = quantization.end();
  return Table(b)
      .offset(0, shape)
      .value<int8_t>(1, static_cast<int8_t>(tensor.type))
      .value<uint32_t>(2, buffer)
      .offset(3, name)
      .offset(4, quantization_offset)
      .end();
}

AnyOffset build_op(FlatBufferBuilder& b, const TinyOp& op, uint32_t opcode) {
  const auto inputs = b.CreateVector(op.inputs);
  const auto outputs = b.CreateVector(op.outputs);
  Table options(b);
  for (size_t i = 0; i < op.options.size(); ++i) options.value<int32_t>(static_cast<int>(i), op.options[i]);
  const AnyOffset options_offset = options.end();
  Table table(b);
  table.value<uint32_t>(0, opcode).offset(1, inputs).offset(2, outputs);
  if (op.options_type) table.value<uint8_t>(3, static_cast<uint8_t>(op.options_type)).offset(4, options_offset);
  return table.end();
}

AnyOffset build_opcode(FlatBufferBuilder& b, const TinyOp& op) {
  const auto custom = b.CreateString(op.custom);
  Table table(b);
  table.value<int8_t>(0, static_cast<int8_t>(op.code < 127 ? op.code : 127))
      .value<int32_t>(2, 1)
      .value<int32_t>(3, op.code);
  if (!op.custom.empty()) table.offset(1, custom);
  return table.end();
}

AnyOffset build_buffer(FlatBufferBuilder& b, const std::vector<uint8_t>& data) {
  if (data.empty()) return Table(b).end();
  b.ForceVectorAlignment(data.size(), 1, 16);
  const auto bytes = b.CreateVector(data);
  return Table(b).offset(0, bytes).end();
}

}  // namespace

std::vector<uint8_t> tiny_tflite(const std::vector<TinySubgraph>& subgraphs) {
  FlatBufferBuilder b;
  std::vector<AnyOffset> opcodes, buffers{build_buffer(b, {})}, graphs;
  for (const TinySubgraph& subgraph : subgraphs) {
    std::vector<AnyOffset> tensors, ops;
    for (const TinyTensor& tensor : subgraph.tensors) {
      const uint32_t buffer = tensor.data.empty() ? 0 : static_cast<uint32_t>(buffers.size());
      if (buffer) buffers.push_back(build_buffer(b, tensor.data));
      tensors.push_back(build_tensor(b, tensor, buffer));
    }
    for (const TinyOp& op : subgraph.ops) {
      ops.push_back(build_op(b, op, static_cast<uint32_t>(opcodes.size())));
      opcodes.push_back(build_opcode(b, op));
    }
    const auto tensor_list = b.CreateVector(tensors), op_list = b.CreateVector(ops);
    const auto inputs = b.CreateVector(subgraph.inputs), outputs = b.CreateVector(subgraph.outputs);
    graphs.push_back(Table(b).offset(0, tensor_list).offset(1, inputs).offset(2, outputs).offset(3, op_list).end());
  }
  const auto opcode_list = b.CreateVector(opcodes), graph_list = b.CreateVector(graphs),
             buffer_list = b.CreateVector(buffers);
  b.Finish(Table(b).value<uint32_t>(0, 3).offset(1, opcode_list).offset(2, graph_list).offset(4, buffer_list).end(),
           "TFL3");
  return std::vector<uint8_t>(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
}

}  // namespace dumphook::test
