// SPDX-License-Identifier: Apache-2.0
#include "measure/xxh64.h"
#include "wire/flat_fields.h"
#include "wire/flat_writer.h"
#include "wire/generated.h"
#include "wire/message_crc.h"
#include "wire/message_parts.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

static_assert(static_cast<uint8_t>(DType::U4) == DH_U4 && static_cast<uint8_t>(Layout::TEXT) == DH_LAYOUT_TEXT &&
                  static_cast<uint8_t>(Role::POSTPROCESSED) == DH_ROLE_POSTPROCESSED &&
                  static_cast<uint8_t>(QuantKind::PER_AXIS) == DH_QUANT_PER_AXIS,
              "the schema and dumphook.h number alike");
static_assert(static_cast<uint8_t>(Codec::LZ4) == kCodecLz4 && static_cast<uint8_t>(DigestKind::XXH64) == kDigestXxh64,
              "the schema and format.h number alike");
static_assert(kMaxRank == DH_MAX_RANK && kMaxNameBytes == DH_MAX_NAME_BYTES, "the same limits in both headers");
static_assert(sizeof(TensorKey) == sizeof(CaptureKey) && alignof(CaptureKey) == 8, "TensorKey is written as it is");

// Feeds fields to the hash in the encoding of FORMAT.md section 4.
class FieldHash {
 public:
  template <class T>
  void number(T value) {
    hash_.update(&value, sizeof value);
  }
  void text(const char* text_or_null) {
    const size_t length = text_length(text_or_null);
    number(static_cast<uint32_t>(length));
    hash_.update(text_or_null, length);
  }
  template <class T>
  void numbers(Span<const T> values) {
    number(static_cast<uint32_t>(values.size));
    hash_.update(values.data, values.size * sizeof(T));
  }
  uint64_t digest() const { return hash_.digest(); }

 private:
  Xxh64 hash_;
};

void write_quantization(FlatWriter& writer, FlatSlot slot, const DescriptorView& view) {
  FlatTable table(writer, slot);
  table.put(Quantization::VT_AXIS, view.quant_axis);
  const FlatSlot scale = table.slot_if(!view.scale.empty(), Quantization::VT_SCALE);
  const FlatSlot zero_point = table.slot_if(!view.zero_point.empty(), Quantization::VT_ZERO_POINT);
  table.put(Quantization::VT_KIND, view.quant_kind);
  table.end();
  writer.numbers(scale, view.scale);
  writer.numbers(zero_point, view.zero_point);
}

void write_planes(FlatWriter& writer, FlatSlot slot, Span<const PlaneView> planes) {
  const FlatSlots slots = writer.offsets(slot, planes.size);
  for (size_t i = 0; i < planes.size && !writer.overflowed(); ++i) {
    FlatTable table(writer, slots[i]);
    table.put_nonzero(Plane::VT_ROW_STRIDE, planes[i].row_stride);
    table.put_nonzero(Plane::VT_ROW_BYTES, planes[i].row_bytes);
    table.put_nonzero(Plane::VT_ROWS, planes[i].rows);
    table.end();
  }
}

void write_descriptor_table(FlatWriter& writer, FlatSlot slot, const DescriptorView& view) {
  const Span<const char* const> origins(view.origin_names, view.origin_count);
  FlatTable table(writer, slot);
  table.put(Descriptor::VT_TENSOR_ID, view.tensor_id);
  table.put(Descriptor::VT_HASH, view.hash);
  const FlatSlot model = table.slot_if(!is_blank(view.model), Descriptor::VT_MODEL);
  const FlatSlot name = table.slot_if(!is_blank(view.name), Descriptor::VT_NAME);
  const FlatSlot op = table.slot_if(!is_blank(view.op), Descriptor::VT_OP);
  const FlatSlot origin_names = table.slot_if(!origins.empty(), Descriptor::VT_ORIGIN_NAMES);
  const FlatSlot raw_type = table.slot_if(!is_blank(view.raw_type), Descriptor::VT_RAW_TYPE);
  const FlatSlot shape = table.slot_if(!view.shape.empty(), Descriptor::VT_SHAPE);
  const FlatSlot logical_shape = table.slot_if(!view.logical_shape.empty(), Descriptor::VT_LOGICAL_SHAPE);
  const FlatSlot strides = table.slot_if(!view.strides.empty(), Descriptor::VT_STRIDES);
  const FlatSlot planes = table.slot_if(!view.planes.empty(), Descriptor::VT_PLANES);
  const FlatSlot quantization = table.slot_if(view.quant_kind != DH_QUANT_NONE, Descriptor::VT_QUANTIZATION);
  const FlatSlot attributes = table.slot_if(!view.attributes.empty(), Descriptor::VT_ATTRIBUTES);
  table.put(Descriptor::VT_NODE_INDEX, view.node_index);
  table.put_nonzero(Descriptor::VT_OUTPUT_SLOT, view.output_slot);
  table.put_nonzero(Descriptor::VT_ROLE, view.role);
  table.put_nonzero(Descriptor::VT_DTYPE, view.dtype);
  table.put_nonzero(Descriptor::VT_LAYOUT, view.layout);
  table.end();

  writer.text(model, view.model);
  writer.text(name, view.name);
  writer.text(op, view.op);
  writer.texts(origin_names, origins);
  writer.text(raw_type, view.raw_type);
  writer.numbers(shape, view.shape);
  writer.numbers(logical_shape, view.logical_shape);
  writer.numbers(strides, view.strides);
  write_planes(writer, planes, view.planes);
  write_quantization(writer, quantization, view);
  write_attributes(writer, attributes, view.attributes);
}

void put_key(FlatTable& message, const TensorKey& key) {
  message.put_struct(TensorMessage::VT_KEY, &key, sizeof(TensorKey), alignof(CaptureKey));
}

}  // namespace

uint64_t descriptor_hash(const DescriptorView& view) {
  FieldHash hash;
  hash.text(view.model);
  hash.text(view.name);
  hash.text(view.op);
  hash.number(view.origin_count);
  for (uint32_t i = 0; i < view.origin_count; ++i) hash.text(view.origin_names[i]);
  hash.number(view.role);
  hash.number(view.dtype);
  hash.text(view.raw_type);
  hash.numbers(view.shape);
  hash.numbers(view.logical_shape);
  hash.numbers(view.strides);
  hash.number(static_cast<uint32_t>(view.planes.size));
  for (const PlaneView& plane : view.planes) {
    hash.number(plane.row_stride);
    hash.number(plane.row_bytes);
    hash.number(plane.rows);
  }
  hash.number(view.layout);
  const bool is_quantized = view.quant_kind != DH_QUANT_NONE;
  hash.number(view.quant_kind);
  hash.number(is_quantized ? view.quant_axis : int32_t{-1});
  hash.numbers(is_quantized ? view.scale : Span<const float>());
  hash.numbers(is_quantized ? view.zero_point : Span<const int32_t>());
  hash.number(view.node_index);
  hash.number(view.output_slot);
  hash.number(static_cast<uint32_t>(view.attributes.size));
  for (const AttributeView& attribute : view.attributes) {
    hash.text(attribute.key);
    hash.text(attribute.value);
  }
  return hash.digest();
}

size_t write_descriptor(Bytes out, uint64_t stream_seq, const DescriptorView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(TensorMessage::VT_STREAM_SEQ, stream_seq);
  message.put(TensorMessage::VT_CRC32, uint32_t{0});
  const FlatSlot descriptor = message.slot(TensorMessage::VT_DESCRIPTOR);
  message.end();
  write_descriptor_table(writer, descriptor, view);
  return seal_message(writer, out);
}

size_t write_part_prefix(Bytes out, uint64_t stream_seq, const PartView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(TensorMessage::VT_STREAM_SEQ, stream_seq);
  put_key(message, view);
  message.put_nonzero(TensorMessage::VT_CAPTURE_TIME_NS, view.capture_time_ns);
  message.put(TensorMessage::VT_CRC32, uint32_t{0});
  const FlatSlot digest = message.slot_if(view.digest_kind != kDigestNone, TensorMessage::VT_DIGEST);
  const FlatSlot part = message.slot(TensorMessage::VT_PART);
  message.end();

  if (digest.at != FlatSlot::kNone) {
    FlatTable table(writer, digest);
    table.put(Digest::VT_VALUE, view.digest);
    table.put(Digest::VT_KIND, view.digest_kind);
    table.end();
  }

  // The fields that finish_part() fills in must be present.
  FlatTable table(writer, part);
  table.put(Part::VT_RAW_SIZE, uint32_t{0});
  table.put(Part::VT_TOTAL, view.total);
  table.put_nonzero(Part::VT_OFFSET, view.offset);
  table.put_nonzero(Part::VT_PART_INDEX, view.part_index);
  table.put(Part::VT_PART_COUNT, view.part_count);
  const FlatSlot shape = table.slot_if(!view.shape.empty(), Part::VT_SHAPE);
  const FlatSlot data = table.slot(Part::VT_DATA);
  table.put(Part::VT_DTYPE, view.dtype);
  table.put(Part::VT_CODEC, kCodecRaw);
  table.end();
  writer.numbers(shape, view.shape);

  constexpr size_t kPayloadAlign = 16;
  writer.vector(data, 0, 1, kPayloadAlign);
  return writer.overflowed() ? 0 : writer.used_bytes();
}

size_t finish_part(Bytes out, size_t payload_offset, uint32_t payload_bytes, uint8_t codec, uint32_t raw_size) {
  const bool fits = payload_offset <= out.size && payload_bytes <= out.size - payload_offset;
  if (payload_offset < sizeof(uint32_t) || !fits) return 0;
  const size_t end = payload_offset + payload_bytes;
  const size_t message_bytes = align_up(end, kMessageAlign);
  if (message_bytes > out.size) return 0;

  const size_t part = flat_child(out, flat_root(out), TensorMessage::VT_PART);
  const size_t codec_at = flat_field(out, part, Part::VT_CODEC, sizeof codec);
  const size_t raw_size_at = flat_field(out, part, Part::VT_RAW_SIZE, sizeof raw_size);
  if (codec_at == 0 || raw_size_at == 0) return 0;
  store_le(out.data + codec_at, codec);
  store_le(out.data + raw_size_at, raw_size);
  store_le(out.data + payload_offset - sizeof(uint32_t), payload_bytes);
  memset(out.data + end, 0, message_bytes - end);
  return seal_message(out.first(message_bytes));
}

size_t write_tensor_digest(Bytes out, uint64_t stream_seq, const DigestView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(TensorMessage::VT_STREAM_SEQ, stream_seq);
  put_key(message, view);
  message.put_nonzero(TensorMessage::VT_CAPTURE_TIME_NS, view.capture_time_ns);
  message.put(TensorMessage::VT_CRC32, uint32_t{0});
  const FlatSlot digest = message.slot(TensorMessage::VT_DIGEST);
  message.end();

  FlatTable table(writer, digest);
  table.put(Digest::VT_VALUE, view.value);
  const FlatSlot shape = table.slot_if(!view.shape.empty(), Digest::VT_SHAPE);
  table.put(Digest::VT_KIND, view.kind);
  table.put(Digest::VT_DTYPE, view.dtype);
  table.end();
  writer.numbers(shape, view.shape);
  return seal_message(writer, out);
}

size_t write_tensor_statistics(Bytes out, uint64_t stream_seq, const StatisticsView& view) {
  FlatWriter writer(out);
  FlatTable message(writer, writer.root());
  message.put(TensorMessage::VT_STREAM_SEQ, stream_seq);
  put_key(message, view);
  message.put_nonzero(TensorMessage::VT_CAPTURE_TIME_NS, view.capture_time_ns);
  message.put(TensorMessage::VT_CRC32, uint32_t{0});
  const FlatSlot statistics = message.slot(TensorMessage::VT_STATISTICS);
  message.end();

  FlatTable table(writer, statistics);
  table.put(Statistics::VT_COUNT, view.count);
  table.put(Statistics::VT_SAMPLED, view.sampled);
  table.put(Statistics::VT_MIN, view.min);
  table.put(Statistics::VT_MAX, view.max);
  table.put(Statistics::VT_MEAN, view.mean);
  table.put(Statistics::VT_VARIANCE, view.variance);
  table.put_nonzero(Statistics::VT_NAN, view.nan);
  table.put_nonzero(Statistics::VT_POS_INF, view.pos_inf);
  table.put_nonzero(Statistics::VT_NEG_INF, view.neg_inf);
  table.put_nonzero(Statistics::VT_ZEROS, view.zeros);
  table.put_nonzero(Statistics::VT_SATURATED, view.saturated);
  table.put_nonzero(Statistics::VT_HISTOGRAM_FIRST_EXPONENT, view.histogram_first_exponent);
  const FlatSlot shape = table.slot_if(!view.shape.empty(), Statistics::VT_SHAPE);
  const FlatSlot histogram = table.slot_if(!view.histogram.empty(), Statistics::VT_HISTOGRAM);
  table.put(Statistics::VT_DTYPE, view.dtype);
  table.end();
  writer.numbers(shape, view.shape);
  writer.numbers(histogram, view.histogram);
  return seal_message(writer, out);
}

}  // namespace dumphook
