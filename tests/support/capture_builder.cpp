// SPDX-License-Identifier: Apache-2.0
#include "capture_builder.h"

#include <lz4.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "measure/xxh64.h"

// flatc's names are also those of the reader under test: keep them apart.
#define dumphook dumphook_schema
#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "tensor_generated.h"
#undef dumphook

namespace dumphook_test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::String;
template <class T>
using VectorOffset = Offset<flatbuffers::Vector<T>>;

const std::string kMagic("\x89MCAP0\r\n", 8);
constexpr const char* kSchemas[] = {"TensorMessage", "FrameBegin",   "FrameEnd",  "ModelGraph", "Loss",
                                    "Counters",      "ConfigChange", "ClockSync", "Log",        "RunReply"};
constexpr const char* kTopics[] = {"frame_begin",   "frame_end",  "model_graph", "loss",     "counters",
                                   "config_change", "clock_sync", "log",         "run_reply"};

template <class T>
std::string number(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string text(const std::string& value) { return number(static_cast<uint32_t>(value.size())) + value; }

std::string map(const std::vector<std::pair<std::string, std::string>>& values) {
  std::string entries;
  for (const auto& [key, value] : values) entries += text(key) + text(value);
  return text(entries);
}

std::string escaped(const std::string& name) {
  std::string result;
  for (const char byte : name) {
    if (byte == '/' || byte == '%' || static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F) {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%%%02X", static_cast<unsigned char>(byte));
      result += digits;
    } else {
      result += byte;
    }
  }
  return result;
}

// Section 4's table of bytes.
uint64_t descriptor_hash(const TensorSpec& tensor) {
  std::string bytes = text(tensor.model) + text(tensor.name) + text(tensor.op) + number(uint32_t{0}) +
                      number(tensor.role) + number(tensor.dtype) + text(tensor.raw_type);
  const auto numbers = [&bytes](const auto& values) {
    bytes += number(static_cast<uint32_t>(values.size()));
    for (const auto value : values) bytes += number(value);
  };
  numbers(tensor.shape);
  bytes += number(uint32_t{0}) + number(uint32_t{0});
  bytes += number(static_cast<uint32_t>(tensor.planes.size()));
  for (const auto& plane : tensor.planes)
    bytes += number(plane.row_stride) + number(plane.row_bytes) + number(plane.rows);
  bytes += number(tensor.layout);
  const uint8_t kind = tensor.scale.empty() ? uint8_t{0} : tensor.axis < 0 ? uint8_t{1} : uint8_t{2};
  bytes += number(kind) + number(static_cast<int32_t>(tensor.axis));
  numbers(tensor.scale);
  numbers(tensor.zero_point);
  bytes += number(static_cast<int32_t>(tensor.node_index)) + number(static_cast<int32_t>(tensor.output_slot));
  bytes += number(static_cast<uint32_t>(tensor.attributes.size()));
  for (const auto& [key, value] : tensor.attributes) bytes += text(key) + text(value);
  return dumphook::xxh64(bytes.data(), bytes.size(), 0);
}

template <class T>
VectorOffset<T> vector_or_none(FlatBufferBuilder& builder, const std::vector<T>& values) {
  return values.empty() ? VectorOffset<T>() : builder.CreateVector(values);
}
Offset<String> text_or_none(FlatBufferBuilder& builder, const std::string& value) {
  return value.empty() ? Offset<String>() : builder.CreateString(value);
}

Offset<dumphook_schema::Descriptor> put_descriptor(FlatBufferBuilder& builder, const TensorSpec& tensor) {
  Offset<dumphook_schema::Quantization> quantization;
  if (!tensor.scale.empty()) {
    const auto scale = builder.CreateVector(tensor.scale);
    const auto zero_point = vector_or_none(builder, tensor.zero_point);
    quantization = dumphook_schema::CreateQuantization(
        builder, tensor.axis < 0 ? dumphook_schema::QuantKind::PER_TENSOR : dumphook_schema::QuantKind::PER_AXIS,
        tensor.axis, scale, zero_point);
  }
  std::vector<Offset<dumphook_schema::Attribute>> attributes;
  for (const auto& [key, value] : tensor.attributes) {
    const auto key_text = builder.CreateString(key);
    attributes.push_back(dumphook_schema::CreateAttribute(builder, key_text, builder.CreateString(value)));
  }
  std::vector<Offset<dumphook_schema::Plane>> planes;
  for (const auto& plane : tensor.planes)
    planes.push_back(dumphook_schema::CreatePlane(builder, plane.row_stride, plane.row_bytes, plane.rows));
  const auto model = text_or_none(builder, tensor.model), name = text_or_none(builder, tensor.name),
             op = text_or_none(builder, tensor.op), raw_type = text_or_none(builder, tensor.raw_type);
  const auto shape = vector_or_none(builder, tensor.shape);
  const auto plane_list = vector_or_none(builder, planes);
  const auto attribute_list = vector_or_none(builder, attributes);
  dumphook_schema::DescriptorBuilder table(builder);
  table.add_hash(descriptor_hash(tensor));
  table.add_tensor_id(tensor.tensor_id);
  table.add_model(model);
  table.add_name(name);
  table.add_op(op);
  table.add_raw_type(raw_type);
  table.add_role(static_cast<dumphook_schema::Role>(tensor.role));
  table.add_dtype(static_cast<dumphook_schema::DType>(tensor.dtype));
  table.add_shape(shape);
  table.add_planes(plane_list);
  table.add_layout(static_cast<dumphook_schema::Layout>(tensor.layout));
  table.add_quantization(quantization);
  table.add_node_index(tensor.node_index);
  table.add_output_slot(tensor.output_slot);
  table.add_attributes(attribute_list);
  return table.Finish();
}

// The buffer with its CRC filled in.
template <class Table>
std::vector<uint8_t> sealed(FlatBufferBuilder& builder, Offset<Table> root) {
  builder.Finish(root);
  std::vector<uint8_t> data(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const auto* table = flatbuffers::GetRoot<Table>(data.data());
  const auto* field = reinterpret_cast<const flatbuffers::Table*>(table)->GetAddressOf(Table::VT_CRC32);
  if (field == nullptr) throw std::logic_error("no crc32 field");
  const size_t at = static_cast<size_t>(field - data.data());
  memset(data.data() + at, 0, 4);
  const auto crc = static_cast<uint32_t>(::crc32(0, data.data(), static_cast<uInt>(data.size())));
  memcpy(data.data() + at, &crc, 4);
  return data;
}

constexpr uint32_t kPlaceholder = 1;  // a zero would be left out

std::vector<dumphook_schema::ReasonCount> reason_counts(const std::map<uint8_t, uint64_t>& lost) {
  std::vector<dumphook_schema::ReasonCount> counts;
  for (const auto& [reason, count] : lost) counts.emplace_back(count, static_cast<dumphook_schema::LossReason>(reason));
  return counts;
}

dumphook_schema::CaptureKey key_of(const TensorSpec& tensor, const PartSpec& part) {
  return {descriptor_hash(tensor), part.frame, part.capture_id, part.instance, part.occurrence};
}

}  // namespace

CaptureBuilder::CaptureBuilder(Options options) { begin_stream(options); }

void CaptureBuilder::begin_stream(Options options) {
  end_chunk();
  options_ = options;
  next_seq_ = options.next_seq;
  summary_.clear();
  channels_.clear();
  described_.clear();
  message_counts_.clear();
  chunk_count_ = 0;
  first_time_ = last_time_ = 0;
  bytes_ += kMagic;
  put_record(bytes_, 0x01, text("") + text("libdumphook/test"));
  if (options.metadata) {
    const uint64_t first = options.first_stream_seq != 0 ? options.first_stream_seq : options.next_seq;
    put_record(bytes_, 0x0C,
               text("libdumphook") + map({{"session", options.session},
                                          {"stream", std::to_string(options.stream)},
                                          {"format_current", "1"},
                                          {"format_oldest", "1"},
                                          {"format_minor", "0"},
                                          {"first_stream_seq", std::to_string(first)},
                                          {"next_stream_seq", std::to_string(first)},
                                          {"board", "test board"},
                                          {"soc", "soc1"},
                                          {"clock", "realtime+monotonic"},
                                          {"attr.operator", "me"}}));
  }
  for (uint16_t i = 0; i < 10; ++i) {
    const std::string content = number(static_cast<uint16_t>(i + 1)) + text(std::string("dumphook.") + kSchemas[i]) +
                                text("flatbuffer") + text("bfbs");
    put_data(0x03, content, 0);
    put_record(summary_, 0x03, content);
  }
  for (uint16_t i = 0; i < 9 && options.channels_first; ++i) {
    channel(static_cast<uint16_t>(i + 1), static_cast<uint16_t>(i + 2), std::string("/dumphook/") + kTopics[i]);
  }
}

void CaptureBuilder::put_record(std::string& to, uint8_t opcode, const std::string& content) {
  if (&to == &bytes_) records_.push_back({opcode, bytes_.size(), 9 + content.size(), false, 0});
  to += number(opcode) + number(static_cast<uint64_t>(content.size())) + content;
}

// Into the chunk where there are chunks.
void CaptureBuilder::put_data(uint8_t opcode, const std::string& content, uint64_t seq) {
  if (!options_.chunked) {
    put_record(bytes_, opcode, content);
    records_.back().stream_seq = seq;
    return;
  }
  chunk_records_.push_back({opcode, chunk_.size(), 9 + content.size(), true, seq});
  if (opcode == 0x05) {
    uint16_t id = 0;
    memcpy(&id, content.data(), 2);
    message_index_[id] += content.substr(6, 8) + number(static_cast<uint64_t>(chunk_.size()));
  }
  put_record(chunk_, opcode, content);
  if (opcode == 0x05 && ++chunk_messages_ >= options_.messages_per_chunk) end_chunk();
}

void CaptureBuilder::record(uint8_t opcode, const std::string& content) {
  end_chunk();
  put_record(bytes_, opcode, content);
}

void CaptureBuilder::channel(uint16_t id, uint16_t schema, const std::string& topic, const std::string& encoding) {
  std::vector<std::pair<std::string, std::string>> metadata;
  if (id >= 32) metadata.emplace_back("tensor_id", std::to_string(id - 32));
  const std::string content = number(id) + number(schema) + text(topic) + text(encoding) + map(metadata);
  put_data(0x04, content, 0);
  put_record(summary_, 0x04, content);
  channels_[id] = true;
}

void CaptureBuilder::end_chunk() {
  if (chunk_.empty()) return;
  const auto crc = static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(chunk_.data()), static_cast<uInt>(chunk_.size())));
  uint64_t first = 0, last = 0;
  for (const auto& [id, entries] : message_index_) {
    for (size_t at = 0; at < entries.size(); at += 16) {
      uint64_t time = 0;
      memcpy(&time, entries.data() + at, sizeof time);
      first = first == 0 ? time : std::min(first, time);
      last = std::max(last, time);
    }
  }
  ++chunk_count_;
  const std::string head = number(first) + number(last) + number(static_cast<uint64_t>(chunk_.size())) + number(crc) +
                           text(options_.chunk_compression) + number(static_cast<uint64_t>(chunk_.size()));
  const size_t begin = bytes_.size() + 9 + head.size();
  put_record(bytes_, 0x06, head + chunk_);
  for (RecordAt at : chunk_records_) {
    at.offset += begin;
    records_.push_back(at);
  }
  for (const auto& [id, entries] : message_index_) put_record(bytes_, 0x07, number(id) + text(entries));
  chunk_.clear();
  chunk_records_.clear();
  message_index_.clear();
  chunk_messages_ = 0;
}

void CaptureBuilder::message(uint16_t channel_id, std::vector<uint8_t> data, uint64_t seq) {
  const uint64_t time = 1700000000000000000u + seq * 1000000;
  ++message_counts_[channel_id];
  first_time_ = message_counts_.size() == 1 && message_counts_[channel_id] == 1 ? time : std::min(first_time_, time);
  last_time_ = std::max(last_time_, time);
  put_data(0x05,
           number(channel_id) + number(static_cast<uint32_t>(seq)) + number(time) + number(time) +
               std::string(data.begin(), data.end()),
           seq);
}

void CaptureBuilder::seal() {
  end_chunk();
  put_record(bytes_, 0x0F, number(uint32_t{0}));
  const uint64_t summary_start = bytes_.size();
  bytes_ += summary_;
  uint64_t messages = 0;
  std::string counts;
  for (const auto& [id, count] : message_counts_) {
    messages += count;
    counts += number(id) + number(count);
  }
  const auto channels =
      std::count_if(channels_.begin(), channels_.end(), [](const auto& entry) { return entry.second; });
  put_record(bytes_, 0x0B,
             number(messages) + number(uint16_t{10}) + number(static_cast<uint32_t>(channels)) + number(uint32_t{0}) +
                 number(uint32_t{options_.metadata ? 1u : 0u}) + number(chunk_count_) + number(first_time_) +
                 number(last_time_) + text(counts));
  put_record(bytes_, 0x02, number(summary_start) + number(uint64_t{0}) + number(uint32_t{0}));
  bytes_ += kMagic;
}

const std::string& CaptureBuilder::bytes() {
  end_chunk();
  return bytes_;
}

const std::vector<CaptureBuilder::RecordAt>& CaptureBuilder::records() {
  end_chunk();
  return records_;
}

uint16_t CaptureBuilder::channel_of(const TensorSpec& tensor) {
  const auto id = static_cast<uint16_t>(32 + tensor.tensor_id);
  if (!channels_[id]) channel(id, 1, "/" + escaped(tensor.model) + "/" + escaped(tensor.name));
  return id;
}

void CaptureBuilder::descriptor(const TensorSpec& tensor, uint64_t seq) {
  const uint16_t id = channel_of(tensor);
  seq = take_seq(seq);
  FlatBufferBuilder builder;
  const auto descriptor = put_descriptor(builder, tensor);
  dumphook_schema::TensorMessageBuilder table(builder);
  table.add_crc32(kPlaceholder);
  table.add_stream_seq(seq);
  table.add_descriptor(descriptor);
  message(id, sealed(builder, table.Finish()), seq);
  described_[{tensor.model, tensor.name}] = true;
}

void CaptureBuilder::part(const TensorSpec& tensor, const PartSpec& part, bool with_descriptor, uint64_t seq) {
  const uint16_t id = channel_of(tensor);
  seq = take_seq(seq);
  FlatBufferBuilder builder;
  Offset<dumphook_schema::Descriptor> descriptor;
  if (with_descriptor) descriptor = put_descriptor(builder, tensor);
  const auto shape = vector_or_none(builder, tensor.shape);
  const auto data = builder.CreateVector(part.data);
  const auto part_table =
      dumphook_schema::CreatePart(builder, part.part_index, part.part_count, part.offset, part.total,
                                  static_cast<dumphook_schema::DType>(tensor.dtype), shape,
                                  static_cast<dumphook_schema::Codec>(part.codec), part.raw_size, data);
  Offset<dumphook_schema::Digest> digest;
  if (part.with_digest)
    digest = dumphook_schema::CreateDigest(builder, dumphook_schema::DigestKind::XXH64, part.digest);
  const dumphook_schema::CaptureKey key = key_of(tensor, part);
  dumphook_schema::TensorMessageBuilder table(builder);
  table.add_crc32(kPlaceholder);
  table.add_stream_seq(seq);
  table.add_key(&key);
  table.add_descriptor(descriptor);
  table.add_part(part_table);
  table.add_digest(digest);
  message(id, sealed(builder, table.Finish()), seq);
}

void CaptureBuilder::tensor(const TensorSpec& tensor, uint64_t frame, size_t part_bytes, uint32_t occurrence) {
  if (!described_[{tensor.model, tensor.name}]) descriptor(tensor);
  const std::vector<uint8_t> bytes = dense(tensor);
  PartSpec spec;
  spec.frame = frame;
  spec.capture_id = next_capture_id_++;
  spec.occurrence = occurrence;
  spec.total = bytes.size();
  spec.part_count = static_cast<uint32_t>(std::max<size_t>(1, (bytes.size() + part_bytes - 1) / part_bytes));
  for (uint32_t i = 0; i < spec.part_count; ++i) {
    spec.part_index = i;
    spec.offset = i * part_bytes;
    spec.raw_size = static_cast<uint32_t>(std::min(part_bytes, bytes.size() - spec.offset));
    const uint8_t* from = bytes.data() + spec.offset;
    std::vector<char> packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(spec.raw_size))));
    const int size = LZ4_compress_default(reinterpret_cast<const char*>(from), packed.data(),
                                          static_cast<int>(spec.raw_size), static_cast<int>(packed.size()));
    spec.codec = spec.raw_size > 0 && static_cast<uint32_t>(size) < spec.raw_size ? 1 : 0;
    if (spec.codec == 1)
      spec.data.assign(packed.begin(), packed.begin() + size);
    else
      spec.data.assign(from, from + spec.raw_size);
    spec.with_digest = i + 1 == spec.part_count;
    spec.digest = dumphook::xxh64(bytes.data(), bytes.size(), 0);
    part(tensor, spec);
  }
}

void CaptureBuilder::statistics(const TensorSpec& tensor, uint64_t frame, double min, double max) {
  if (!described_[{tensor.model, tensor.name}]) descriptor(tensor);
  const uint16_t id = channel_of(tensor);
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  const auto shape = vector_or_none(builder, tensor.shape);
  const auto statistics = dumphook_schema::CreateStatistics(builder, static_cast<dumphook_schema::DType>(tensor.dtype),
                                                            shape, 6, 6, min, max);
  PartSpec spec;
  spec.frame = frame;
  spec.capture_id = next_capture_id_++;
  const dumphook_schema::CaptureKey key = key_of(tensor, spec);
  dumphook_schema::TensorMessageBuilder table(builder);
  table.add_crc32(kPlaceholder);
  table.add_stream_seq(seq);
  table.add_key(&key);
  table.add_statistics(statistics);
  message(id, sealed(builder, table.Finish()), seq);
}

void CaptureBuilder::digest(const TensorSpec& tensor, uint64_t frame, uint64_t value) {
  if (!described_[{tensor.model, tensor.name}]) descriptor(tensor);
  const uint16_t id = channel_of(tensor);
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  const auto shape = vector_or_none(builder, tensor.shape);
  const auto digest = dumphook_schema::CreateDigest(builder, dumphook_schema::DigestKind::XXH64, value,
                                                    static_cast<dumphook_schema::DType>(tensor.dtype), shape);
  PartSpec spec;
  spec.frame = frame;
  spec.capture_id = next_capture_id_++;
  const dumphook_schema::CaptureKey key = key_of(tensor, spec);
  dumphook_schema::TensorMessageBuilder table(builder);
  table.add_crc32(kPlaceholder);
  table.add_stream_seq(seq);
  table.add_key(&key);
  table.add_digest(digest);
  message(id, sealed(builder, table.Finish()), seq);
}

void CaptureBuilder::frame_begin(uint64_t frame, const std::string& model, uint64_t seq) {
  seq = take_seq(seq);
  FlatBufferBuilder builder;
  const auto root =
      dumphook_schema::CreateFrameBegin(builder, kPlaceholder, seq, frame, 0, builder.CreateString(model), 5, 6);
  message(1, sealed(builder, root), seq);
}

void CaptureBuilder::frame_end(uint64_t frame, uint32_t seen, uint32_t accepted,
                               const std::map<uint8_t, uint64_t>& lost, uint8_t state) {
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  const auto counts = builder.CreateVectorOfStructs(reason_counts(lost));
  const auto root = dumphook_schema::CreateFrameEnd(
      builder, kPlaceholder, seq, frame, static_cast<dumphook_schema::FrameState>(state), seen, accepted, counts, 7);
  message(2, sealed(builder, root), seq);
}

void CaptureBuilder::graph(const std::string& model, const std::vector<NodeSpec>& nodes, uint64_t seq) {
  seq = take_seq(seq);
  FlatBufferBuilder builder;
  std::vector<Offset<dumphook_schema::Node>> tables;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto name = builder.CreateString(nodes[i].name), op = builder.CreateString(nodes[i].op);
    const auto inputs = builder.CreateVectorOfStrings(nodes[i].inputs),
               outputs = builder.CreateVectorOfStrings(nodes[i].outputs);
    tables.push_back(dumphook_schema::CreateNode(builder, static_cast<int>(i), name, op, inputs, outputs, 0,
                                                 static_cast<dumphook_schema::Visibility>(nodes[i].visibility)));
  }
  const auto name = builder.CreateString(model);
  const auto list = builder.CreateVector(tables);
  const auto root = dumphook_schema::CreateModelGraph(builder, kPlaceholder, seq, name, 0,
                                                      static_cast<uint32_t>(nodes.size()), 0, list);
  message(3, sealed(builder, root), seq);
}

void CaptureBuilder::loss(const std::vector<LossSpec>& ranges) {
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  std::vector<Offset<dumphook_schema::LossRange>> tables;
  for (const LossSpec& range : ranges) {
    tables.push_back(dumphook_schema::CreateLossRange(builder, range.tensor_id,
                                                      static_cast<dumphook_schema::LossReason>(range.reason),
                                                      range.first_frame, range.last_frame, range.count));
  }
  const auto list = builder.CreateVector(tables);
  message(4, sealed(builder, dumphook_schema::CreateLoss(builder, kPlaceholder, seq, list)), seq);
}

void CaptureBuilder::counters(const CountersSpec& counters) {
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  const auto lost = builder.CreateVectorOfStructs(reason_counts(counters.lost));
  dumphook_schema::CountersBuilder table(builder);
  table.add_crc32(kPlaceholder);
  table.add_stream_seq(seq);
  table.add_seen(counters.seen);
  table.add_shipped(counters.shipped);
  table.add_in_flight(counters.in_flight);
  table.add_lost(lost);
  table.add_closing(counters.closing);
  message(5, sealed(builder, table.Finish()), seq);
}

void CaptureBuilder::log(uint8_t level, const std::string& line) {
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  const auto content = builder.CreateString(line);
  message(8,
          sealed(builder, dumphook_schema::CreateLog(builder, kPlaceholder, seq,
                                                     static_cast<dumphook_schema::LogLevel>(level), content)),
          seq);
}

void CaptureBuilder::config_change(const std::string& line) {
  const uint64_t seq = take_seq(0);
  FlatBufferBuilder builder;
  const auto content = builder.CreateString(line);
  const auto origin = builder.CreateString("app");
  message(6, sealed(builder, dumphook_schema::CreateConfigChange(builder, kPlaceholder, seq, 0, content, origin)), seq);
}

std::vector<uint8_t> CaptureBuilder::dense(const TensorSpec& tensor) {
  if (!tensor.bytes.empty()) return tensor.bytes;
  int64_t count = 1;
  for (const int64_t dimension : tensor.shape) count *= dimension;
  static constexpr size_t kBits[] = {8, 64, 32, 16, 16, 8, 8, 64, 64, 32, 32, 16, 16, 8, 8, 8, 4, 4};
  std::vector<uint8_t> bytes((static_cast<size_t>(count) * kBits[tensor.dtype] + 7) / 8);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  if (tensor.dtype == 2) {  // f32: 0, 0.5, 1, ...
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const float value = static_cast<float>(i) * 0.5f;
      memcpy(bytes.data() + i * 4, &value, 4);
    }
  }
  return bytes;
}

void seal_message(std::string& bytes, size_t begin, size_t size) {
  // Root, vtable, first field; all of it checked, since callers damage messages.
  auto* data = reinterpret_cast<uint8_t*>(bytes.data()) + begin;
  const auto number_at = [&](size_t at) {
    uint32_t value = 0;
    if (at + 4 <= size) memcpy(&value, data + at, 4);
    return value;
  };
  const uint32_t root = number_at(0);
  if (root + size_t{4} > size) return;
  const int64_t vtable = int64_t{root} - static_cast<int32_t>(number_at(root));
  if (vtable < 0 || static_cast<size_t>(vtable) + 8 > size) return;
  const size_t field = number_at(static_cast<size_t>(vtable) + 4) & 0xFFFF;
  if (field == 0 || root + field + 4 > size) return;
  memset(data + root + field, 0, 4);
  const auto crc = static_cast<uint32_t>(::crc32(0, data, static_cast<uInt>(size)));
  memcpy(data + root + field, &crc, 4);
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

namespace {
struct ScratchFolder {
  std::string path;
  ScratchFolder() {
    const char* chosen = std::getenv("TMPDIR");
    // Tests write thousands of small files: in memory where that is offered.
    const char* base = chosen != nullptr ? chosen : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path = std::string(base) + "/dumphook_test.XXXXXX";
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};
}  // namespace

std::string scratch_folder() {
  static const ScratchFolder folder;
  return folder.path;
}

}  // namespace dumphook_test
