// SPDX-License-Identifier: Apache-2.0
#include "decode/message.h"

#include <cstring>

#include "decode/dtype.h"
#include "decode/schema.h"
#include "measure/xxh64.h"
#include "wire/codec.h"
#include "wire/format.h"

namespace dumphook {
namespace {

namespace fb = dumphook_schema;

// Copies out of verified tables. Tables may share their children, so that a small message can describe an endless one:
// what is copied is limited to a few times the message.
class Copier {
 public:
  explicit Copier(size_t message_bytes) : budget_(4 * message_bytes + 65536) {}

  bool exhausted() const { return exhausted_; }

  std::string text(const flatbuffers::String* from) {
    if (from == nullptr || !spend(from->size() + sizeof(std::string))) return {};
    return std::string(from->c_str(), from->size());
  }
  // Vectors of numbers are not aligned for sure: the verifier does not look.
  template <class T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* from) {
    if (from == nullptr || !spend(size_t{from->size()} * sizeof(T))) return {};
    std::vector<T> to(from->size());
    if (!to.empty()) memcpy(to.data(), from->Data(), to.size() * sizeof(T));
    return to;
  }
  template <class T>
  std::vector<T> structs(const flatbuffers::Vector<const T*>* from) {
    if (from == nullptr || !spend(size_t{from->size()} * sizeof(T))) return {};
    std::vector<T> to(from->size());
    if (!to.empty()) memcpy(static_cast<void*>(to.data()), from->Data(), to.size() * sizeof(T));
    return to;
  }
  std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from) {
    std::vector<std::string> to;
    for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size() && !exhausted_; ++i)
      to.push_back(text(from->Get(i)));
    return to;
  }
  std::map<std::string, std::string> attributes(const flatbuffers::Vector<flatbuffers::Offset<fb::Attribute>>* from) {
    std::map<std::string, std::string> to;
    for (flatbuffers::uoffset_t i = 0; from != nullptr && i < from->size() && !exhausted_; ++i) {
      std::string key = text(from->Get(i)->key());
      to[std::move(key)] = text(from->Get(i)->value());
    }
    return to;
  }
  LossCounts losses(const flatbuffers::Vector<const fb::ReasonCount*>* from) {
    LossCounts to;
    for (const fb::ReasonCount& entry : structs(from)) to[static_cast<LossReason>(entry.reason())] += entry.count();
    return to;
  }

 private:
  bool spend(size_t bytes) {
    if (bytes > budget_)
      exhausted_ = true;
    else
      budget_ -= bytes;
    return !exhausted_;
  }

  size_t budget_;
  bool exhausted_ = false;
};

Error broken(std::string what) { return Error{std::move(what), ""}; }

// The canonical bytes of FORMAT.md section 4.
class DescriptorHash {
 public:
  void u8(uint8_t value) { hash_.update(&value, sizeof value); }
  template <class T>
  void number(T value) {
    hash_.update(&value, sizeof value);
  }
  void text(const flatbuffers::String* value) {
    number(value == nullptr ? uint32_t{0} : uint32_t{value->size()});
    if (value != nullptr) hash_.update(value->c_str(), value->size());
  }
  template <class T>
  void numbers(const flatbuffers::Vector<T>* values) {
    number(values == nullptr ? uint32_t{0} : uint32_t{values->size()});
    if (values != nullptr) hash_.update(values->Data(), size_t{values->size()} * sizeof(T));
  }
  uint64_t digest() const { return hash_.digest(); }

 private:
  Xxh64 hash_;
};

uint64_t content_hash(const fb::Descriptor& from) {
  DescriptorHash hash;
  hash.text(from.model());
  hash.text(from.name());
  hash.text(from.op());
  hash.number(from.origin_names() == nullptr ? uint32_t{0} : uint32_t{from.origin_names()->size()});
  if (from.origin_names() != nullptr) {
    for (const flatbuffers::String* name : *from.origin_names()) hash.text(name);
  }
  hash.u8(static_cast<uint8_t>(from.role()));
  hash.u8(static_cast<uint8_t>(from.dtype()));
  hash.text(from.raw_type());
  hash.numbers(from.shape());
  hash.numbers(from.logical_shape());
  hash.numbers(from.strides());
  hash.number(from.planes() == nullptr ? uint32_t{0} : uint32_t{from.planes()->size()});
  if (from.planes() != nullptr) {
    for (const fb::Plane* plane : *from.planes()) {
      hash.number(plane->row_stride());
      hash.number(plane->row_bytes());
      hash.number(plane->rows());
    }
  }
  hash.u8(static_cast<uint8_t>(from.layout()));
  const fb::Quantization* quantization = from.quantization();
  hash.u8(quantization == nullptr ? uint8_t{0} : static_cast<uint8_t>(quantization->kind()));
  hash.number(quantization == nullptr ? int32_t{-1} : quantization->axis());
  hash.numbers(quantization == nullptr ? nullptr : quantization->scale());
  hash.numbers(quantization == nullptr ? nullptr : quantization->zero_point());
  hash.number(from.node_index());
  hash.number(from.output_slot());
  hash.number(from.attributes() == nullptr ? uint32_t{0} : uint32_t{from.attributes()->size()});
  if (from.attributes() != nullptr) {
    for (const fb::Attribute* attribute : *from.attributes()) {
      hash.text(attribute->key());
      hash.text(attribute->value());
    }
  }
  return hash.digest();
}

bool known_dtype(uint8_t dtype) { return dtype <= static_cast<uint8_t>(DType::u4); }

// Rank and dimensions; nothing is wrong when the text is empty.
std::string shape_fault(const Shape& shape, const char* of) {
  if (shape.size() > kMaxRank) return std::string(of) + " has " + std::to_string(shape.size()) + " dimensions";
  for (const int64_t dimension : shape) {
    if (dimension < 0) return std::string(of) + " has a negative dimension";
  }
  return {};
}

Expected<std::shared_ptr<Descriptor>> read_descriptor(const fb::Descriptor& from, Copier& copy,
                                                      std::vector<std::string>& remarks) {
  for (const flatbuffers::String* name : {from.model(), from.name(), from.op(), from.raw_type()}) {
    if (name != nullptr && name->size() > kMaxNameBytes) return broken("a name is longer than 512 bytes");
  }
  if (!known_dtype(static_cast<uint8_t>(from.dtype()))) return broken("the element type is unknown");
  auto to = std::make_shared<Descriptor>();
  to->hash = from.hash();
  to->tensor_id = from.tensor_id();
  to->model = copy.text(from.model());
  to->name = copy.text(from.name());
  to->op = copy.text(from.op());
  to->raw_type = copy.text(from.raw_type());
  to->origin_names = copy.texts(from.origin_names());
  to->role = static_cast<uint8_t>(from.role()) <= static_cast<uint8_t>(Role::postprocessed)
                 ? static_cast<Role>(from.role())
                 : Role::intermediate;
  to->dtype = static_cast<DType>(from.dtype());
  to->layout = static_cast<uint8_t>(from.layout()) <= static_cast<uint8_t>(Layout::text)
                   ? static_cast<Layout>(from.layout())
                   : Layout::any;
  to->shape = copy.numbers(from.shape());
  to->logical_shape = copy.numbers(from.logical_shape());
  to->strides = copy.numbers(from.strides());
  std::string fault = shape_fault(to->shape, "the shape");
  if (fault.empty()) fault = shape_fault(to->logical_shape, "the logical shape");
  if (fault.empty() && to->strides.size() > kMaxRank) fault = "there are too many strides";
  if (!fault.empty()) return broken(std::move(fault));
  if (from.planes() != nullptr && from.planes()->size() > 8) return broken("there are too many planes");
  if (from.planes() != nullptr) {
    for (const fb::Plane* plane : *from.planes())
      to->planes.push_back({plane->row_stride(), plane->row_bytes(), plane->rows()});
  }
  if (const fb::Quantization* quantization = from.quantization();
      quantization != nullptr && quantization->kind() != fb::QuantKind::NONE) {
    to->quantization.scale = copy.numbers(quantization->scale());
    to->quantization.zero_point = copy.numbers(quantization->zero_point());
    to->quantization.axis = quantization->kind() == fb::QuantKind::PER_AXIS ? quantization->axis() : -1;
    const bool axis_missing = quantization->kind() == fb::QuantKind::PER_AXIS && quantization->axis() < 0;
    if (axis_missing || to->quantization.scale.empty() || !quantization_fits(to->quantization, to->shape)) {
      to->quantization = {};
      remarks.push_back("the quantization of " + to->name + " does not fit its shape and was left out");
    }
  }
  to->node_index = from.node_index();
  to->output_slot = from.output_slot();
  to->attributes = copy.attributes(from.attributes());
  // Sharing could make the hash as long as it likes, too.
  if (!copy.exhausted() && content_hash(from) != from.hash()) {
    remarks.push_back("the descriptor hash of " + to->name + " is not that of its content");
  }
  return to;
}

Expected<TensorPart> read_part(const fb::Part& from, DType dtype, const uint8_t* message) {
  TensorPart to;
  to.part_index = from.part_index();
  to.part_count = from.part_count();
  to.offset = from.offset();
  to.total = from.total();
  to.raw_bytes = from.raw_size();
  if (to.part_count == 0 || to.part_index >= to.part_count) return broken("the part's number is not below their count");
  if (to.raw_bytes > kMaxPartRawBytes) return broken("a part is larger than 16 MiB");
  if (to.raw_bytes > to.total || to.offset > to.total - to.raw_bytes) return broken("a part reaches beyond its tensor");
  const uint32_t element_bytes = dtype_bits(dtype) < 8 ? 1 : dtype_bits(dtype) / 8;
  if (to.offset % element_bytes != 0) return broken("a part begins inside an element");
  to.codec = static_cast<uint8_t>(from.codec());
  if (!codec_is_known(to.codec)) {
    return Error{"the codec " + std::to_string(unsigned{to.codec}) + " is unknown", "use a newer dumphook"};
  }
  if (from.data() != nullptr) {
    to.data_at = static_cast<size_t>(from.data()->Data() - message);
    to.data_bytes = from.data()->size();
  }
  if (to.codec == kCodecRaw) {
    if (to.data_bytes != to.raw_bytes) return broken("a part holds another number of bytes than it says");
  } else if (to.raw_bytes > 255 * uint64_t{to.data_bytes}) {  // an LZ4 block cannot grow by more, and the others less
    return broken("a part cannot decode to the size it says");
  }
  return to;
}

Expected<Message> read_tensor(const fb::TensorMessage& from, ConstBytes data) {
  Copier copy(data.size);
  Message message;
  message.stream_seq = from.stream_seq();
  TensorNews news;
  news.capture_time_ns = from.capture_time_ns();
  if (const fb::CaptureKey* at = from.key(); at != nullptr) {
    fb::CaptureKey key;
    memcpy(static_cast<void*>(&key), at, sizeof key);
    news.key = TensorNews::Key{key.descriptor_hash(), key.frame(), key.capture_id(), key.instance(), key.occurrence()};
  }
  if (from.descriptor() != nullptr) {
    Expected<std::shared_ptr<Descriptor>> descriptor = read_descriptor(*from.descriptor(), copy, message.remarks);
    if (!descriptor) return descriptor.error();
    news.descriptor = std::move(*descriptor);
  }
  uint8_t dtype = 0;
  if (const fb::Digest* digest = from.digest(); digest != nullptr) {
    dtype = static_cast<uint8_t>(digest->dtype());
    news.shape = copy.numbers(digest->shape());
    news.has_digest = true;
    if (digest->kind() == fb::DigestKind::XXH64) news.digest = digest->value();
  }
  if (const fb::Statistics* statistics = from.statistics(); statistics != nullptr) {
    dtype = static_cast<uint8_t>(statistics->dtype());
    news.shape = copy.numbers(statistics->shape());
    TensorStatistics to;
    to.count = statistics->count();
    to.sampled = statistics->sampled();
    to.min = statistics->min();
    to.max = statistics->max();
    to.mean = statistics->mean();
    to.variance = statistics->variance();
    to.nan = statistics->nan();
    to.pos_inf = statistics->pos_inf();
    to.neg_inf = statistics->neg_inf();
    to.zeros = statistics->zeros();
    to.saturated = statistics->saturated();
    to.histogram_first_exponent = statistics->histogram_first_exponent();
    to.histogram = copy.numbers(statistics->histogram());
    news.statistics = std::move(to);
  }
  if (const fb::Part* part = from.part(); part != nullptr) {
    dtype = static_cast<uint8_t>(part->dtype());
    news.shape = copy.numbers(part->shape());
    if (!known_dtype(dtype)) return broken("the element type is unknown");
    Expected<TensorPart> read = read_part(*part, static_cast<DType>(dtype), data.data);
    if (!read) return read.error();
    news.part = *read;
  }
  if (!known_dtype(dtype)) return broken("the element type is unknown");
  if (std::string fault = shape_fault(news.shape, "the shape"); !fault.empty()) return broken(std::move(fault));
  news.dtype = static_cast<DType>(dtype);
  if ((news.part || news.statistics || news.has_digest) && !news.key) return broken("the tensor's key is missing");
  if (copy.exhausted()) return broken("the message unfolds to many times its size");
  message.body = std::move(news);
  return message;
}

GraphNews read_graph(const fb::ModelGraph& from, Copier& copy) {
  GraphNews to;
  to.model = copy.text(from.model());
  to.model_hash = copy.text(from.model_hash());
  to.node_total = from.node_total();
  to.first_node = from.first_node();
  for (flatbuffers::uoffset_t i = 0; from.nodes() != nullptr && i < from.nodes()->size() && !copy.exhausted(); ++i) {
    const fb::Node& node = *from.nodes()->Get(i);
    GraphNode out;
    out.index = node.index();
    out.name = copy.text(node.name());
    out.op = copy.text(node.op());
    out.backend = copy.text(node.backend());
    out.inputs = copy.texts(node.inputs());
    out.outputs = copy.texts(node.outputs());
    out.visibility = static_cast<Visibility>(node.visibility());
    to.nodes.push_back(std::move(out));
  }
  to.attributes = copy.attributes(from.attributes());
  return to;
}

LossNews read_loss(const fb::Loss& from) {
  LossNews to;
  for (flatbuffers::uoffset_t i = 0; from.ranges() != nullptr && i < from.ranges()->size(); ++i) {
    const fb::LossRange& range = *from.ranges()->Get(i);
    LossRange out;
    if (range.tensor_id() != kNoTensorId) out.tensor_id = range.tensor_id();
    out.reason = static_cast<LossReason>(range.reason());
    out.first_frame = range.first_frame();
    out.last_frame = range.last_frame();
    out.count = range.count();
    out.pool_bytes_needed = range.pool_bytes_needed();
    to.ranges.push_back(out);
  }
  return to;
}

SessionCounters read_counters(const fb::Counters& from, Copier& copy) {
  SessionCounters to;
  to.stream_seq = from.stream_seq();
  to.seen = from.seen();
  to.shipped = from.shipped();
  to.in_flight = from.in_flight();
  to.lost = copy.losses(from.lost());
  to.frames_begun = from.frames_begun();
  to.frames_ended = from.frames_ended();
  to.raw_bytes = from.raw_bytes();
  to.encoded_bytes = from.encoded_bytes();
  to.pool_peak_bytes = from.pool_peak_bytes();
  to.spool_peak_bytes = from.spool_peak_bytes();
  to.closing = from.closing();
  for (flatbuffers::uoffset_t i = 0; from.tensors() != nullptr && i < from.tensors()->size() && !copy.exhausted();
       ++i) {
    const fb::TensorCounters& tensor = *from.tensors()->Get(i);
    SessionTensorCounters& out = to.tensors[tensor.tensor_id()];
    out.seen = tensor.seen();
    out.shipped = tensor.shipped();
    out.in_flight = tensor.in_flight();
    out.lost = copy.losses(tensor.lost());
  }
  return to;
}

// The root table when all of it lies in the message, else null.
template <class Table>
const Table* verified(ConstBytes data) {
  flatbuffers::Verifier verifier(data.data, data.size, kMaxFlatDepth, kMaxFlatTables);
  return verifier.VerifyBuffer<Table>(nullptr) ? flatbuffers::GetRoot<Table>(data.data) : nullptr;
}

// Reads with `read(table, copier)` into a message.
template <class Table, class Read>
Expected<Message> read_as(ConstBytes data, Read read) {
  const Table* table = verified<Table>(data);
  if (table == nullptr) return broken("the message is not a valid FlatBuffer");
  Copier copy(data.size);
  Message message;
  message.stream_seq = table->stream_seq();
  message.body = read(*table, copy);
  if (copy.exhausted()) return broken("the message unfolds to many times its size");
  return message;
}

FrameState frame_state(fb::FrameState state) {
  if (state == fb::FrameState::COMPLETE) return FrameState::complete;
  return state == fb::FrameState::ABANDONED ? FrameState::abandoned : FrameState::incomplete;
}

}  // namespace

std::optional<MessageKind> message_kind(const std::string& schema_name) {
  static const std::map<std::string, MessageKind> kinds = {
      {kTensorSchemaName, MessageKind::tensor},
      {kFrameBeginChannel.schema_name, MessageKind::frame_begin},
      {kFrameEndChannel.schema_name, MessageKind::frame_end},
      {kModelGraphChannel.schema_name, MessageKind::model_graph},
      {kLossChannel.schema_name, MessageKind::loss},
      {kCountersChannel.schema_name, MessageKind::counters},
      {kConfigChangeChannel.schema_name, MessageKind::config_change},
      {kClockSyncChannel.schema_name, MessageKind::clock_sync},
      {kLogChannel.schema_name, MessageKind::log},
      {kRunReplyChannel.schema_name, MessageKind::run_reply},
  };
  const auto found = kinds.find(schema_name);
  if (found == kinds.end()) return std::nullopt;
  return found->second;
}

Expected<Message> read_message(MessageKind kind, ConstBytes data) {
  switch (kind) {
    case MessageKind::tensor: {
      const fb::TensorMessage* table = verified<fb::TensorMessage>(data);
      if (table == nullptr) return broken("the message is not a valid FlatBuffer");
      return read_tensor(*table, data);
    }
    case MessageKind::frame_begin:
      return read_as<fb::FrameBegin>(data, [](const fb::FrameBegin& from, Copier& copy) {
        return FrameBeginNews{from.frame(), from.capture_time_ns(), from.begin_time_ns(), copy.text(from.model())};
      });
    case MessageKind::frame_end:
      return read_as<fb::FrameEnd>(data, [](const fb::FrameEnd& from, Copier& copy) {
        return FrameEndNews{from.frame(),
                            from.seen(),
                            from.accepted(),
                            from.end_time_ns(),
                            frame_state(from.state()),
                            copy.losses(from.lost()),
                            copy.attributes(from.attributes())};
      });
    case MessageKind::model_graph: return read_as<fb::ModelGraph>(data, read_graph);
    case MessageKind::loss:
      return read_as<fb::Loss>(data, [](const fb::Loss& from, Copier&) { return read_loss(from); });
    case MessageKind::counters: return read_as<fb::Counters>(data, read_counters);
    case MessageKind::config_change:
      return read_as<fb::ConfigChange>(data, [](const fb::ConfigChange& from, Copier& copy) {
        return ConfigChange{from.first_frame(), 0, copy.text(from.text()), copy.text(from.origin())};
      });
    case MessageKind::clock_sync:
      return read_as<fb::ClockSync>(data, [](const fb::ClockSync& from, Copier&) {
        return ClockSync{from.session_ns(), from.wall_ns()};
      });
    case MessageKind::log:
      return read_as<fb::Log>(data, [](const fb::Log& from, Copier& copy) {
        return LogLine{static_cast<LogLevel>(from.level()), copy.text(from.text()), 0};
      });
    case MessageKind::run_reply:
      return read_as<fb::RunReply>(data, [](const fb::RunReply& from, Copier& copy) {
        return RunReplyNews{from.request_id(), copy.text(from.text())};
      });
  }
  return broken("unknown kind of message");
}

}  // namespace dumphook
