// SPDX-License-Identifier: Apache-2.0
#define FLATBUFFERS_ASSERT(condition) static_cast<void>(0)
#include "tensor_generated.h"

#include "emit.h"

namespace dumphook {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using flatbuffers::String;
using flatbuffers::Vector;

// The interface has no way to say "full": the builder writes to whatever address comes back.
class FixedAllocator : public flatbuffers::Allocator {
 public:
  explicit FixedAllocator(Bytes memory) : memory_(memory) {}
  uint8_t* allocate(size_t bytes) override { return bytes <= memory_.size ? memory_.data : nullptr; }
  void deallocate(uint8_t*, size_t) override {}

 private:
  Bytes memory_;
};

Offset<String> text(FlatBufferBuilder& builder, const char* text_or_null) {
  return text_length(text_or_null) == 0 ? Offset<String>() : builder.CreateString(text_or_null);
}

template <class T>
Offset<Vector<T>> numbers(FlatBufferBuilder& builder, Span<const T> values) {
  return values.empty() ? Offset<Vector<T>>() : builder.CreateVector(values.data, values.size);
}

Emitted finish(FlatBufferBuilder& builder, Offset<TensorMessage> root) {
  builder.Finish(root);
  const Bytes message(builder.GetBufferPointer(), builder.GetSize());
  const size_t at = find_crc_field(message);
  store_le(message.data + at, message_crc(message, at));
  Emitted emitted;
  emitted.data = message.data;
  emitted.size = message.size;
  return emitted;
}

Emitted part(Bytes out, Bytes scratch, const PartView& view, ConstBytes raw, Emitter::Encode encode) {
  // The builder puts the length in front of the payload and all else in front of both, so the payload comes first.
  const size_t payload_bytes = encode(scratch, raw);
  FixedAllocator allocator(out);
  FlatBufferBuilder builder(out.size, &allocator);
  builder.ForceDefaults(true);
  builder.ForceVectorAlignment(payload_bytes, 1, 16);
  const auto data = builder.CreateVector(scratch.data, payload_bytes);
  const auto shape = numbers(builder, view.shape);
  const auto part =
      CreatePart(builder, view.part_index, view.part_count, view.offset, view.total, static_cast<DType>(view.dtype),
                 shape, Codec::RAW, static_cast<uint32_t>(raw.size), data);
  const CaptureKey key(view.descriptor_hash, view.frame, view.capture_id, view.instance, view.occurrence);
  return finish(builder, CreateTensorMessage(builder, 0, 1, &key, 0, part, 0, 0, view.capture_time_ns));
}

Emitted descriptor(Bytes out, const DescriptorView& view) {
  FixedAllocator allocator(out);
  FlatBufferBuilder builder(out.size, &allocator);
  builder.ForceDefaults(true);
  constexpr size_t kMost = 16;
  Offset<String> origins[kMost];
  for (uint32_t i = 0; i < view.origin_count && i < kMost; ++i) origins[i] = builder.CreateString(view.origin_names[i]);
  const auto origin_names = builder.CreateVector(origins, view.origin_count);
  Offset<Plane> planes[DH_MAX_PLANES];
  for (size_t i = 0; i < view.planes.size && i < DH_MAX_PLANES; ++i) {
    planes[i] = CreatePlane(builder, view.planes[i].row_stride, view.planes[i].row_bytes, view.planes[i].rows);
  }
  const auto plane_list = builder.CreateVector(planes, view.planes.size);
  const auto quantization = CreateQuantization(builder, static_cast<QuantKind>(view.quant_kind), view.quant_axis,
                                               numbers(builder, view.scale), numbers(builder, view.zero_point));
  Offset<Attribute> attributes[kMost];
  for (size_t i = 0; i < view.attributes.size && i < kMost; ++i) {
    const auto key = text(builder, view.attributes[i].key);
    attributes[i] = CreateAttribute(builder, key, text(builder, view.attributes[i].value));
  }
  const auto attribute_list = builder.CreateVector(attributes, view.attributes.size);
  const auto model = text(builder, view.model);
  const auto name = text(builder, view.name);
  const auto op = text(builder, view.op);
  const auto raw_type = text(builder, view.raw_type);
  const auto shape = numbers(builder, view.shape);
  const auto logical_shape = numbers(builder, view.logical_shape);
  const auto strides = numbers(builder, view.strides);
  const auto table = CreateDescriptor(builder, view.hash, view.tensor_id, model, name, op, origin_names,
                                      static_cast<Role>(view.role), static_cast<DType>(view.dtype), raw_type, shape,
                                      logical_shape, strides, plane_list, static_cast<Layout>(view.layout),
                                      quantization, view.node_index, view.output_slot, attribute_list);
  return finish(builder, CreateTensorMessage(builder, 0, 1, nullptr, table));
}

}  // namespace

Emitter builder_emitter() { return {part, descriptor}; }

}  // namespace dumphook
