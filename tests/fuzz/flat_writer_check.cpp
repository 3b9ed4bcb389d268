// SPDX-License-Identifier: Apache-2.0
#include "flat_writer_check.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "tensor_generated.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

#define CHECK(condition)                 \
  do {                                   \
    if (!(condition)) return #condition; \
  } while (false)
#define CHECK_ALL(call)                               \
  do {                                                \
    if (const char* failure = (call)) return failure; \
  } while (false)

using Reader = std::function<const char*(ConstBytes)>;
using Writer = std::function<size_t(Bytes)>;

// Draws values from the fuzzer's bytes, zeros when they are used up, and owns what views point to.
class Choices {
 public:
  explicit Choices(ConstBytes bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t value = bytes_[0];
    bytes_ = bytes_.from(1);
    return value;
  }
  size_t below(size_t limit) { return byte() % limit; }

  template <class T>
  T number() {
    switch (byte() % 4) {
      case 0: return 0;
      case 1: return static_cast<T>(byte());
      case 2: return static_cast<T>(~uint64_t{0});
      default: {
        uint64_t bits = 0;
        for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
        return static_cast<T>(bits);
      }
    }
  }

  const char* text() {
    if (byte() % 4 == 0) return nullptr;
    texts_.emplace_back();
    for (size_t left = below(20); left > 0; --left) texts_.back() += static_cast<char>(1 + byte() % 255);
    return texts_.back().c_str();
  }

  Span<const char* const> texts() {
    text_lists_.emplace_back(below(4));
    for (const char*& each : text_lists_.back()) each = text();
    return Span<const char* const>(text_lists_.back().data(), text_lists_.back().size());
  }

  template <class T>
  Span<const T> numbers(std::deque<std::vector<T>>& owner, size_t limit) {
    owner.emplace_back(below(limit));
    for (T& each : owner.back()) each = number<T>();
    return Span<const T>(owner.back().data(), owner.back().size());
  }
  Span<const int64_t> shape() { return numbers(shapes_, 9); }
  Span<const float> floats() { return numbers(floats_, 6); }
  Span<const int32_t> ints() { return numbers(ints_, 6); }
  Span<const uint64_t> counts() { return numbers(counts_, DH_LOSS_REASON_COUNT + 1); }

  Span<const AttributeView> attributes() {
    attributes_.emplace_back(below(4));
    for (AttributeView& each : attributes_.back()) each = {text(), text()};
    return Span<const AttributeView>(attributes_.back().data(), attributes_.back().size());
  }

  void key(TensorKey& out) {
    out.descriptor_hash = number<uint64_t>();
    out.frame = number<uint64_t>();
    out.capture_id = number<uint64_t>();
    out.instance = number<uint32_t>();
    out.occurrence = number<uint32_t>();
  }

 private:
  ConstBytes bytes_;
  std::deque<std::string> texts_;
  std::deque<std::vector<const char*>> text_lists_;
  std::deque<std::vector<int64_t>> shapes_;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<int32_t>> ints_;
  std::deque<std::vector<uint64_t>> counts_;
  std::deque<std::vector<AttributeView>> attributes_;
};

bool same(const flatbuffers::String* read, const char* written) {
  if (written == nullptr || *written == '\0') return read == nullptr;
  return read != nullptr && read->str() == written;
}

template <class T>
bool same(const flatbuffers::Vector<T>* read, Span<const T> written) {
  if (written.empty()) return read == nullptr;
  if (read == nullptr || read->size() != written.size) return false;
  if (reinterpret_cast<uintptr_t>(read->data()) % alignof(T) != 0) return false;
  return memcmp(read->data(), written.data, written.size * sizeof(T)) == 0;
}

bool same(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* read, Span<const char* const> written) {
  if (written.empty()) return read == nullptr;
  if (read == nullptr || read->size() != written.size) return false;
  for (size_t i = 0; i < written.size; ++i) {
    const std::string expected = written[i] == nullptr ? "" : written[i];
    if (read->Get(static_cast<flatbuffers::uoffset_t>(i))->str() != expected) return false;
  }
  return true;
}

bool same(const flatbuffers::Vector<flatbuffers::Offset<Attribute>>* read, Span<const AttributeView> written) {
  if (written.empty()) return read == nullptr;
  if (read == nullptr || read->size() != written.size) return false;
  for (size_t i = 0; i < written.size; ++i) {
    const Attribute* attribute = read->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (!same(attribute->key(), written[i].key) || !same(attribute->value(), written[i].value)) return false;
  }
  return true;
}

bool same(const flatbuffers::Vector<const ReasonCount*>* read, Span<const uint64_t> written) {
  std::vector<uint64_t> counts(written.size);
  const size_t listed = read == nullptr ? 0 : read->size();
  for (size_t i = 0; i < listed; ++i) {
    const ReasonCount* each = read->Get(static_cast<flatbuffers::uoffset_t>(i));
    const size_t reason = static_cast<size_t>(each->reason());
    if (reason >= counts.size() || counts[reason] != 0 || each->count() == 0) return false;
    counts[reason] = each->count();
  }
  return std::equal(counts.begin(), counts.end(), written.begin());
}

bool same(const CaptureKey* read, const TensorKey& written) {
  return read != nullptr && read->descriptor_hash() == written.descriptor_hash && read->frame() == written.frame &&
         read->capture_id() == written.capture_id && read->instance() == written.instance &&
         read->occurrence() == written.occurrence;
}

bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

// Writes with every room from none to enough (with gaps when that is long), then reads.
const char* check(const Writer& write, const Reader& read) {
  constexpr uint8_t kGuard = 0xA5;
  std::vector<uint64_t> enough(1 << 13);
  const size_t needed = write(Bytes(reinterpret_cast<uint8_t*>(enough.data()), enough.size() * 8));
  CHECK(needed != 0);
  CHECK(needed % 8 == 0);
  const uint8_t* whole = reinterpret_cast<const uint8_t*>(enough.data());

  std::vector<uint64_t> words(needed / 8 + 2);
  uint8_t* out = reinterpret_cast<uint8_t*>(words.data());
  const size_t out_bytes = words.size() * 8;
  const size_t step = needed < 400 ? 1 : needed / 97;
  for (size_t room = 0; room <= needed + 3; room += step) {
    memset(out, kGuard, out_bytes);
    const size_t bytes = write(Bytes(out, room));
    CHECK(bytes == (room < needed ? 0 : needed));
    for (size_t i = room; i < out_bytes; ++i) CHECK(out[i] == kGuard);
    if (bytes != 0) CHECK(memcmp(out, whole, bytes) == 0);
  }

  const ConstBytes message(whole, needed);
  CHECK(check_message_crc(message));
  return read(message);
}

template <class T>
const T* verified(ConstBytes message) {
  flatbuffers::Verifier verifier(message.data, message.size, kMaxFlatDepth, kMaxFlatTables);
  return verifier.VerifyBuffer<T>(nullptr) ? flatbuffers::GetRoot<T>(message.data) : nullptr;
}

const char* check_descriptor(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  std::vector<PlaneView> planes(choices.below(4));
  for (PlaneView& plane : planes) {
    plane = {choices.number<uint64_t>(), choices.number<uint64_t>(), choices.number<uint64_t>()};
  }
  const Span<const char* const> origins = choices.texts();
  DescriptorView view;
  view.tensor_id = choices.number<uint32_t>();
  view.model = choices.text();
  view.name = choices.text();
  view.op = choices.text();
  view.raw_type = choices.text();
  view.origin_names = origins.data;
  view.origin_count = static_cast<uint32_t>(origins.size);
  view.role = choices.number<uint8_t>();
  view.dtype = choices.number<uint8_t>();
  view.layout = choices.number<uint8_t>();
  view.shape = choices.shape();
  view.logical_shape = choices.shape();
  view.strides = choices.shape();
  view.planes = Span<const PlaneView>(planes.data(), planes.size());
  view.quant_kind = choices.byte() % 3;
  view.quant_axis = choices.number<int32_t>();
  view.scale = choices.floats();
  view.zero_point = choices.ints();
  view.node_index = choices.number<int32_t>();
  view.output_slot = choices.number<int32_t>();
  view.attributes = choices.attributes();
  view.hash = descriptor_hash(view);
  return check([&](Bytes out) { return write_descriptor(out, seq, view); },
               [&](ConstBytes message) -> const char* {
                 const TensorMessage* read = verified<TensorMessage>(message);
                 CHECK(read != nullptr);
                 CHECK(read->stream_seq() == seq);
                 const Descriptor* descriptor = read->descriptor();
                 CHECK(descriptor != nullptr);
                 CHECK(descriptor->hash() == view.hash);
                 CHECK(descriptor->tensor_id() == view.tensor_id);
                 CHECK(same(descriptor->model(), view.model));
                 CHECK(same(descriptor->name(), view.name));
                 CHECK(same(descriptor->op(), view.op));
                 CHECK(same(descriptor->raw_type(), view.raw_type));
                 CHECK(same(descriptor->origin_names(), origins));
                 CHECK(static_cast<uint8_t>(descriptor->role()) == view.role);
                 CHECK(static_cast<uint8_t>(descriptor->dtype()) == view.dtype);
                 CHECK(static_cast<uint8_t>(descriptor->layout()) == view.layout);
                 CHECK(same(descriptor->shape(), view.shape));
                 CHECK(same(descriptor->logical_shape(), view.logical_shape));
                 CHECK(same(descriptor->strides(), view.strides));
                 CHECK((descriptor->planes() == nullptr) == planes.empty());
                 for (size_t i = 0; i < planes.size(); ++i) {
                   const Plane* plane = descriptor->planes()->Get(static_cast<flatbuffers::uoffset_t>(i));
                   CHECK(plane->row_stride() == planes[i].row_stride);
                   CHECK(plane->row_bytes() == planes[i].row_bytes);
                   CHECK(plane->rows() == planes[i].rows);
                 }
                 const Quantization* quantization = descriptor->quantization();
                 CHECK((quantization == nullptr) == (view.quant_kind == DH_QUANT_NONE));
                 if (quantization != nullptr) {
                   CHECK(static_cast<uint8_t>(quantization->kind()) == view.quant_kind);
                   CHECK(quantization->axis() == view.quant_axis);
                   CHECK(same(quantization->scale(), view.scale));
                   CHECK(same(quantization->zero_point(), view.zero_point));
                 }
                 CHECK(descriptor->node_index() == view.node_index);
                 CHECK(descriptor->output_slot() == view.output_slot);
                 CHECK(same(descriptor->attributes(), view.attributes));
                 return nullptr;
               });
}

const char* check_part(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  std::vector<uint8_t> payload(choices.below(100));
  for (uint8_t& byte : payload) byte = choices.byte();
  PartView view;
  choices.key(view);
  view.part_index = choices.number<uint32_t>();
  view.part_count = choices.number<uint32_t>();
  view.offset = choices.number<uint64_t>();
  view.total = choices.number<uint64_t>();
  view.dtype = choices.number<uint8_t>();
  view.shape = choices.shape();
  view.capture_time_ns = choices.number<uint64_t>();
  view.digest_kind = choices.byte() % 2;
  view.digest = choices.number<uint64_t>();
  const uint8_t codec = choices.byte() % 2;
  const uint32_t raw_size = choices.number<uint32_t>();
  const auto write = [&](Bytes out) -> size_t {
    const size_t at = write_part_prefix(out, seq, view);
    if (at == 0 || at % 16 != 0 || at > kMaxPartPrefixBytes || payload.size() > out.size - at) return 0;
    if (!payload.empty()) memcpy(out.data + at, payload.data(), payload.size());
    return finish_part(out, at, static_cast<uint32_t>(payload.size()), codec, raw_size);
  };
  return check(write, [&](ConstBytes message) -> const char* {
    const TensorMessage* read = verified<TensorMessage>(message);
    CHECK(read != nullptr);
    CHECK(read->stream_seq() == seq);
    CHECK(same(read->key(), view));
    CHECK(read->capture_time_ns() == view.capture_time_ns);
    CHECK((read->digest() == nullptr) == (view.digest_kind == kDigestNone));
    if (read->digest() != nullptr) CHECK(read->digest()->value() == view.digest);
    const Part* part = read->part();
    CHECK(part != nullptr);
    CHECK(part->part_index() == view.part_index);
    CHECK(part->part_count() == view.part_count);
    CHECK(part->offset() == view.offset);
    CHECK(part->total() == view.total);
    CHECK(static_cast<uint8_t>(part->dtype()) == view.dtype);
    CHECK(same(part->shape(), view.shape));
    CHECK(static_cast<uint8_t>(part->codec()) == codec);
    CHECK(part->raw_size() == raw_size);
    CHECK(part->data() != nullptr);
    CHECK(part->data()->size() == payload.size());
    CHECK(std::equal(payload.begin(), payload.end(), part->data()->begin()));
    return nullptr;
  });
}

const char* check_statistics(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  StatisticsView view;
  choices.key(view);
  view.dtype = choices.number<uint8_t>();
  view.shape = choices.shape();
  view.count = choices.number<uint64_t>();
  view.sampled = choices.number<uint64_t>();
  view.min = choices.number<double>();
  view.max = choices.number<double>();
  view.mean = choices.number<double>();
  view.variance = choices.number<double>();
  view.nan = choices.number<uint64_t>();
  view.pos_inf = choices.number<uint64_t>();
  view.neg_inf = choices.number<uint64_t>();
  view.zeros = choices.number<uint64_t>();
  view.saturated = choices.number<uint64_t>();
  view.histogram_first_exponent = choices.number<int32_t>();
  view.histogram = choices.counts();
  view.capture_time_ns = choices.number<uint64_t>();
  return check([&](Bytes out) { return write_tensor_statistics(out, seq, view); },
               [&](ConstBytes message) -> const char* {
                 const TensorMessage* read = verified<TensorMessage>(message);
                 CHECK(read != nullptr);
                 CHECK(same(read->key(), view));
                 CHECK(read->capture_time_ns() == view.capture_time_ns);
                 const Statistics* statistics = read->statistics();
                 CHECK(statistics != nullptr);
                 CHECK(static_cast<uint8_t>(statistics->dtype()) == view.dtype);
                 CHECK(same(statistics->shape(), view.shape));
                 CHECK(statistics->count() == view.count);
                 CHECK(statistics->sampled() == view.sampled);
                 CHECK(same_bits(statistics->min(), view.min));
                 CHECK(same_bits(statistics->max(), view.max));
                 CHECK(same_bits(statistics->mean(), view.mean));
                 CHECK(same_bits(statistics->variance(), view.variance));
                 CHECK(statistics->nan() == view.nan);
                 CHECK(statistics->pos_inf() == view.pos_inf);
                 CHECK(statistics->neg_inf() == view.neg_inf);
                 CHECK(statistics->zeros() == view.zeros);
                 CHECK(statistics->saturated() == view.saturated);
                 CHECK(statistics->histogram_first_exponent() == view.histogram_first_exponent);
                 CHECK(same(statistics->histogram(), view.histogram));
                 return nullptr;
               });
}

const char* check_digest(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  DigestView view;
  choices.key(view);
  view.kind = choices.number<uint8_t>();
  view.value = choices.number<uint64_t>();
  view.dtype = choices.number<uint8_t>();
  view.shape = choices.shape();
  return check([&](Bytes out) { return write_tensor_digest(out, seq, view); },
               [&](ConstBytes message) -> const char* {
                 const TensorMessage* read = verified<TensorMessage>(message);
                 CHECK(read != nullptr);
                 CHECK(same(read->key(), view));
                 CHECK(read->digest() != nullptr);
                 CHECK(static_cast<uint8_t>(read->digest()->kind()) == view.kind);
                 CHECK(read->digest()->value() == view.value);
                 CHECK(static_cast<uint8_t>(read->digest()->dtype()) == view.dtype);
                 CHECK(same(read->digest()->shape(), view.shape));
                 return nullptr;
               });
}

const char* check_frames(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  FrameBeginView begin;
  begin.frame = choices.number<uint64_t>();
  begin.instance = choices.number<uint32_t>();
  begin.model = choices.text();
  begin.capture_time_ns = choices.number<uint64_t>();
  begin.begin_time_ns = choices.number<uint64_t>();
  CHECK_ALL(check([&](Bytes out) { return write_frame_begin(out, seq, begin); },
                  [&](ConstBytes message) -> const char* {
                    const FrameBegin* read = verified<FrameBegin>(message);
                    CHECK(read != nullptr);
                    CHECK(read->stream_seq() == seq);
                    CHECK(read->frame() == begin.frame);
                    CHECK(read->instance() == begin.instance);
                    CHECK(same(read->model(), begin.model));
                    CHECK(read->capture_time_ns() == begin.capture_time_ns);
                    CHECK(read->begin_time_ns() == begin.begin_time_ns);
                    return nullptr;
                  }));
  FrameEndView end;
  end.frame = choices.number<uint64_t>();
  end.state = choices.number<uint8_t>();
  end.seen = choices.number<uint32_t>();
  end.accepted = choices.number<uint32_t>();
  end.lost = choices.counts();
  end.end_time_ns = choices.number<uint64_t>();
  end.attributes = choices.attributes();
  return check([&](Bytes out) { return write_frame_end(out, seq, end); },
               [&](ConstBytes message) -> const char* {
                 const FrameEnd* read = verified<FrameEnd>(message);
                 CHECK(read != nullptr);
                 CHECK(read->stream_seq() == seq);
                 CHECK(read->frame() == end.frame);
                 CHECK(static_cast<uint8_t>(read->state()) == end.state);
                 CHECK(read->seen() == end.seen);
                 CHECK(read->accepted() == end.accepted);
                 CHECK(same(read->lost(), end.lost));
                 CHECK(read->end_time_ns() == end.end_time_ns);
                 CHECK(same(read->attributes(), end.attributes));
                 return nullptr;
               });
}

const char* check_graph(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  std::vector<NodeView> nodes(choices.below(30));
  for (NodeView& node : nodes) {
    node.index = choices.number<int32_t>();
    node.name = choices.text();
    node.op = choices.text();
    node.inputs = choices.texts();
    node.outputs = choices.texts();
    node.backend = choices.text();
    node.visibility = choices.number<uint8_t>();
  }
  GraphView view;
  view.model = choices.text();
  view.model_hash = choices.text();
  view.node_total = choices.number<uint32_t>();
  view.first_node = choices.number<uint32_t>();
  view.nodes = Span<const NodeView>(nodes.data(), nodes.size());
  view.attributes = choices.attributes();
  return check([&](Bytes out) { return write_graph(out, seq, view); },
               [&](ConstBytes message) -> const char* {
                 const ModelGraph* read = verified<ModelGraph>(message);
                 CHECK(read != nullptr);
                 CHECK(read->stream_seq() == seq);
                 CHECK(same(read->model(), view.model));
                 CHECK(same(read->model_hash(), view.model_hash));
                 CHECK(read->node_total() == view.node_total);
                 CHECK(read->first_node() == view.first_node);
                 CHECK(same(read->attributes(), view.attributes));
                 CHECK((read->nodes() == nullptr) == nodes.empty());
                 for (size_t i = 0; i < nodes.size(); ++i) {
                   const Node* node = read->nodes()->Get(static_cast<flatbuffers::uoffset_t>(i));
                   CHECK(node->index() == nodes[i].index);
                   CHECK(same(node->name(), nodes[i].name));
                   CHECK(same(node->op(), nodes[i].op));
                   CHECK(same(node->inputs(), nodes[i].inputs));
                   CHECK(same(node->outputs(), nodes[i].outputs));
                   CHECK(same(node->backend(), nodes[i].backend));
                   CHECK(static_cast<uint8_t>(node->visibility()) == nodes[i].visibility);
                 }
                 return nullptr;
               });
}

const char* check_loss(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  std::vector<LossRangeView> ranges(choices.below(30));
  for (LossRangeView& range : ranges) {
    range.tensor_id = choices.number<uint32_t>();
    range.reason = choices.number<uint8_t>();
    range.first_frame = choices.number<uint64_t>();
    range.last_frame = choices.number<uint64_t>();
    range.count = choices.number<uint64_t>();
    range.pool_bytes_needed = choices.number<uint64_t>();
  }
  const Span<const LossRangeView> view(ranges.data(), ranges.size());
  return check([&](Bytes out) { return write_loss(out, seq, view); },
               [&](ConstBytes message) -> const char* {
                 const Loss* read = verified<Loss>(message);
                 CHECK(read != nullptr);
                 CHECK(read->stream_seq() == seq);
                 CHECK((read->ranges() == nullptr) == ranges.empty());
                 for (size_t i = 0; i < ranges.size(); ++i) {
                   const LossRange* range = read->ranges()->Get(static_cast<flatbuffers::uoffset_t>(i));
                   CHECK(range->tensor_id() == ranges[i].tensor_id);
                   CHECK(static_cast<uint8_t>(range->reason()) == ranges[i].reason);
                   CHECK(range->first_frame() == ranges[i].first_frame);
                   CHECK(range->last_frame() == ranges[i].last_frame);
                   CHECK(range->count() == ranges[i].count);
                   CHECK(range->pool_bytes_needed() == ranges[i].pool_bytes_needed);
                 }
                 return nullptr;
               });
}

const char* check_counters(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  std::vector<TensorCountersView> tensors(choices.below(20));
  for (TensorCountersView& tensor : tensors) {
    tensor.tensor_id = choices.number<uint32_t>();
    tensor.seen = choices.number<uint64_t>();
    tensor.shipped = choices.number<uint64_t>();
    tensor.in_flight = choices.number<uint64_t>();
    tensor.lost = choices.counts();
  }
  CountersView view;
  view.seen = choices.number<uint64_t>();
  view.shipped = choices.number<uint64_t>();
  view.in_flight = choices.number<uint64_t>();
  view.lost = choices.counts();
  view.frames_begun = choices.number<uint64_t>();
  view.frames_ended = choices.number<uint64_t>();
  view.raw_bytes = choices.number<uint64_t>();
  view.encoded_bytes = choices.number<uint64_t>();
  view.pool_peak_bytes = choices.number<uint64_t>();
  view.spool_peak_bytes = choices.number<uint64_t>();
  view.tensors = Span<const TensorCountersView>(tensors.data(), tensors.size());
  view.closing = choices.byte() % 2 == 1;
  return check([&](Bytes out) { return write_counters(out, seq, view); },
               [&](ConstBytes message) -> const char* {
                 const Counters* read = verified<Counters>(message);
                 CHECK(read != nullptr);
                 CHECK(read->stream_seq() == seq);
                 CHECK(read->seen() == view.seen);
                 CHECK(read->shipped() == view.shipped);
                 CHECK(read->in_flight() == view.in_flight);
                 CHECK(same(read->lost(), view.lost));
                 CHECK(read->frames_begun() == view.frames_begun);
                 CHECK(read->frames_ended() == view.frames_ended);
                 CHECK(read->raw_bytes() == view.raw_bytes);
                 CHECK(read->encoded_bytes() == view.encoded_bytes);
                 CHECK(read->pool_peak_bytes() == view.pool_peak_bytes);
                 CHECK(read->spool_peak_bytes() == view.spool_peak_bytes);
                 CHECK(read->closing() == view.closing);
                 CHECK((read->tensors() == nullptr) == tensors.empty());
                 for (size_t i = 0; i < tensors.size(); ++i) {
                   const TensorCounters* tensor = read->tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
                   CHECK(tensor->tensor_id() == tensors[i].tensor_id);
                   CHECK(tensor->seen() == tensors[i].seen);
                   CHECK(tensor->shipped() == tensors[i].shipped);
                   CHECK(tensor->in_flight() == tensors[i].in_flight);
                   CHECK(same(tensor->lost(), tensors[i].lost));
                 }
                 return nullptr;
               });
}

const char* check_small_ones(Choices& choices) {
  const uint64_t seq = choices.number<uint64_t>();
  ConfigChangeView change;
  change.first_frame = choices.number<uint64_t>();
  change.text = choices.text();
  change.origin = choices.text();
  CHECK_ALL(check([&](Bytes out) { return write_config_change(out, seq, change); },
                  [&](ConstBytes message) -> const char* {
                    const ConfigChange* read = verified<ConfigChange>(message);
                    CHECK(read != nullptr);
                    CHECK(read->stream_seq() == seq);
                    CHECK(read->first_frame() == change.first_frame);
                    CHECK(same(read->text(), change.text));
                    CHECK(same(read->origin(), change.origin));
                    return nullptr;
                  }));
  ClockSyncView sync;
  sync.session_ns = choices.number<uint64_t>();
  sync.wall_ns = choices.number<uint64_t>();
  CHECK_ALL(check([&](Bytes out) { return write_clock_sync(out, seq, sync); },
                  [&](ConstBytes message) -> const char* {
                    const ClockSync* read = verified<ClockSync>(message);
                    CHECK(read != nullptr);
                    CHECK(read->session_ns() == sync.session_ns);
                    CHECK(read->wall_ns() == sync.wall_ns);
                    return nullptr;
                  }));
  LogView log;
  log.level = choices.number<uint8_t>();
  log.text = choices.text();
  CHECK_ALL(check([&](Bytes out) { return write_log(out, seq, log); },
                  [&](ConstBytes message) -> const char* {
                    const Log* read = verified<Log>(message);
                    CHECK(read != nullptr);
                    CHECK(static_cast<uint8_t>(read->level()) == log.level);
                    CHECK(same(read->text(), log.text));
                    return nullptr;
                  }));
  RunReplyView reply;
  reply.request_id = choices.number<uint64_t>();
  reply.status = choices.number<uint8_t>();
  reply.text = choices.text();
  reply.first_frame = choices.number<uint64_t>();
  reply.frame_count = choices.number<uint32_t>();
  return check([&](Bytes out) { return write_run_reply(out, seq, reply); },
               [&](ConstBytes message) -> const char* {
                 const RunReply* read = verified<RunReply>(message);
                 CHECK(read != nullptr);
                 CHECK(read->request_id() == reply.request_id);
                 CHECK(static_cast<uint8_t>(read->status()) == reply.status);
                 CHECK(same(read->text(), reply.text));
                 CHECK(read->first_frame() == reply.first_frame);
                 CHECK(read->frame_count() == reply.frame_count);
                 return nullptr;
               });
}

}  // namespace

const char* check_flat_writer(ConstBytes bytes) {
  using Check = const char* (*)(Choices&);
  constexpr Check kChecks[] = {check_descriptor, check_part, check_statistics, check_digest,    check_frames,
                               check_graph,      check_loss, check_counters,   check_small_ones};
  Choices choices(bytes);
  return kChecks[choices.below(sizeof kChecks / sizeof *kChecks)](choices);
}

}  // namespace dumphook
