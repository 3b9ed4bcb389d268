// SPDX-License-Identifier: Apache-2.0
#include "tensor_generated.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "measure/xxh64.h"
#include "wire/crc32.h"
#include "wire/lz4_decode.h"
#include "wire/lz4_encode.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

alignas(16) uint8_t buffer[1 << 16];

const TensorMessage* verified(size_t bytes) {
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(0u, bytes % 8);
  flatbuffers::Verifier verifier(buffer, bytes, kMaxFlatDepth, kMaxFlatTables);
  EXPECT_TRUE(VerifyTensorMessageBuffer(verifier));
  EXPECT_TRUE(check_message_crc(ConstBytes(buffer, bytes)));
  return GetTensorMessage(buffer);
}

const int64_t kShape[] = {1, 3, 2, 4};
const int64_t kStrides[] = {96, 32, 16, 4};
const PlaneView kPlanes[] = {{128, 100, 50}, {128, 100, 25}};
const float kScale[] = {0.5f, 0.25f, -1.0f};
const int32_t kZeroPoint[] = {0, -128, 127};
const AttributeView kAttributes[] = {{"mean", "0.5"}, {"colour", nullptr}};
const char* const kOrigins[] = {"conv", "relu"};

DescriptorView full_descriptor() {
  DescriptorView view;
  view.tensor_id = 7;
  view.model = "yolo";
  view.name = "backbone/conv1";
  view.op = "Conv2D";
  view.raw_type = "q8_k";
  view.origin_names = kOrigins;
  view.origin_count = 2;
  view.role = DH_ROLE_OUTPUT;
  view.dtype = DH_I8;
  view.layout = DH_LAYOUT_NHWC;
  view.shape = kShape;
  view.logical_shape = Span<const int64_t>(kShape).first(3);
  view.strides = kStrides;
  view.planes = kPlanes;
  view.quant_kind = DH_QUANT_PER_AXIS;
  view.quant_axis = 1;
  view.scale = kScale;
  view.zero_point = kZeroPoint;
  view.node_index = 0;
  view.output_slot = 2;
  view.attributes = kAttributes;
  view.hash = descriptor_hash(view);
  return view;
}

// The bytes that FORMAT.md section 4 prescribes, spelt out.
class Prescribed {
 public:
  Prescribed& u8(uint8_t value) { return raw(&value, 1); }
  Prescribed& u32(uint32_t value) { return raw(&value, 4); }
  Prescribed& i32(int32_t value) { return raw(&value, 4); }
  Prescribed& i64(int64_t value) { return raw(&value, 8); }
  Prescribed& f32(float value) { return raw(&value, 4); }
  Prescribed& text(const std::string& value) {
    u32(static_cast<uint32_t>(value.size()));
    return raw(value.data(), value.size());
  }
  uint64_t hash() const { return xxh64(bytes_.data(), bytes_.size(), 0); }

 private:
  Prescribed& raw(const void* data, size_t bytes) {
    bytes_.append(static_cast<const char*>(data), bytes);
    return *this;
  }
  std::string bytes_;
};

TEST(DescriptorHash, IsOverTheBytesOfTheFormat) {
  Prescribed bytes;
  bytes.text("yolo").text("backbone/conv1").text("Conv2D");
  bytes.u32(2).text("conv").text("relu");
  bytes.u8(3).u8(13);
  bytes.text("q8_k");
  bytes.u32(4).i64(1).i64(3).i64(2).i64(4);
  bytes.u32(3).i64(1).i64(3).i64(2);
  bytes.u32(4).i64(96).i64(32).i64(16).i64(4);
  bytes.u32(2).i64(128).i64(100).i64(50).i64(128).i64(100).i64(25);
  bytes.u8(2);
  bytes.u8(2).i32(1).u32(3).f32(0.5f).f32(0.25f).f32(-1.0f).u32(3).i32(0).i32(-128).i32(127);
  bytes.i32(0).i32(2);
  bytes.u32(2).text("mean").text("0.5").text("colour").text("");
  EXPECT_EQ(bytes.hash(), descriptor_hash(full_descriptor()));
}

TEST(DescriptorHash, OfNothing_CountsAllAsEmpty) {
  Prescribed bytes;
  bytes.text("").text("").text("").u32(0).u8(0).u8(0).text("").u32(0).u32(0).u32(0).u32(0).u8(0);
  bytes.u8(0).i32(-1).u32(0).u32(0).i32(-1).i32(0).u32(0);
  EXPECT_EQ(bytes.hash(), descriptor_hash(DescriptorView()));
}

TEST(DescriptorHash, IgnoresWhatDoesNotDescribe) {
  DescriptorView view = full_descriptor();
  view.tensor_id = 8;
  view.hash = 1;
  EXPECT_EQ(descriptor_hash(full_descriptor()), descriptor_hash(view));

  DescriptorView plain, with_leftovers;
  with_leftovers.quant_axis = 3;
  with_leftovers.scale = kScale;
  EXPECT_EQ(descriptor_hash(plain), descriptor_hash(with_leftovers));
}

TEST(Descriptor, ComesThroughWhole) {
  const DescriptorView view = full_descriptor();
  const TensorMessage* message = verified(write_descriptor(buffer, 42, view));
  EXPECT_EQ(42u, message->stream_seq());
  EXPECT_EQ(nullptr, message->key());
  EXPECT_EQ(nullptr, message->part());
  const Descriptor* descriptor = message->descriptor();
  ASSERT_NE(nullptr, descriptor);
  EXPECT_EQ(view.hash, descriptor->hash());
  EXPECT_EQ(7u, descriptor->tensor_id());
  EXPECT_EQ("yolo", descriptor->model()->str());
  EXPECT_EQ("backbone/conv1", descriptor->name()->str());
  EXPECT_EQ("Conv2D", descriptor->op()->str());
  EXPECT_EQ("q8_k", descriptor->raw_type()->str());
  ASSERT_EQ(2u, descriptor->origin_names()->size());
  EXPECT_EQ("relu", descriptor->origin_names()->Get(1)->str());
  EXPECT_EQ(Role::OUTPUT, descriptor->role());
  EXPECT_EQ(DType::I8, descriptor->dtype());
  EXPECT_EQ(Layout::NHWC, descriptor->layout());
  ASSERT_EQ(4u, descriptor->shape()->size());
  EXPECT_EQ(3, descriptor->shape()->Get(1));
  EXPECT_EQ(3u, descriptor->logical_shape()->size());
  EXPECT_EQ(96, descriptor->strides()->Get(0));
  ASSERT_EQ(2u, descriptor->planes()->size());
  EXPECT_EQ(128u, descriptor->planes()->Get(1)->row_stride());
  EXPECT_EQ(100u, descriptor->planes()->Get(1)->row_bytes());
  EXPECT_EQ(25u, descriptor->planes()->Get(1)->rows());
  EXPECT_EQ(QuantKind::PER_AXIS, descriptor->quantization()->kind());
  EXPECT_EQ(1, descriptor->quantization()->axis());
  EXPECT_EQ(-1.0f, descriptor->quantization()->scale()->Get(2));
  EXPECT_EQ(-128, descriptor->quantization()->zero_point()->Get(1));
  EXPECT_EQ(0, descriptor->node_index());
  EXPECT_EQ(2, descriptor->output_slot());
  ASSERT_EQ(2u, descriptor->attributes()->size());
  EXPECT_EQ("mean", descriptor->attributes()->Get(0)->key()->str());
  EXPECT_EQ("0.5", descriptor->attributes()->Get(0)->value()->str());
  EXPECT_EQ(nullptr, descriptor->attributes()->Get(1)->value());
}

PartView second_part() {
  PartView view;
  view.descriptor_hash = 0x1111222233334444;
  view.frame = 5;
  view.capture_id = 6;
  view.instance = 7;
  view.occurrence = 8;
  view.part_index = 1;
  view.part_count = 2;
  view.offset = 16;
  view.total = 24;
  view.dtype = DH_F32;
  view.shape = Span<const int64_t>(kShape).first(2);
  view.capture_time_ns = 9;
  return view;
}

TEST(Part, PayloadLiesLastAndAligned) {
  const size_t payload = write_part_prefix(buffer, 3, second_part());
  ASSERT_GT(payload, 0u);
  EXPECT_EQ(0u, payload % 16);
  memcpy(buffer + payload, "12345678", 8);
  const size_t bytes = finish_part(buffer, payload, 8, kCodecRaw, 8);
  EXPECT_EQ(payload + 8, bytes);

  const TensorMessage* message = verified(bytes);
  EXPECT_EQ(3u, message->stream_seq());
  EXPECT_EQ(9u, message->capture_time_ns());
  EXPECT_EQ(nullptr, message->descriptor());
  EXPECT_EQ(nullptr, message->digest());
  ASSERT_NE(nullptr, message->key());
  EXPECT_EQ(0x1111222233334444u, message->key()->descriptor_hash());
  EXPECT_EQ(5u, message->key()->frame());
  EXPECT_EQ(6u, message->key()->capture_id());
  EXPECT_EQ(7u, message->key()->instance());
  EXPECT_EQ(8u, message->key()->occurrence());
  const Part* part = message->part();
  ASSERT_NE(nullptr, part);
  EXPECT_EQ(1u, part->part_index());
  EXPECT_EQ(2u, part->part_count());
  EXPECT_EQ(16u, part->offset());
  EXPECT_EQ(24u, part->total());
  EXPECT_EQ(DType::F32, part->dtype());
  ASSERT_EQ(2u, part->shape()->size());
  EXPECT_EQ(3, part->shape()->Get(1));
  EXPECT_EQ(Codec::RAW, part->codec());
  EXPECT_EQ(8u, part->raw_size());
  ASSERT_EQ(8u, part->data()->size());
  EXPECT_EQ(buffer + payload, part->data()->data());
  EXPECT_EQ(0, memcmp(part->data()->data(), "12345678", 8));
}

TEST(Part, OfAnyLength_IsPaddedWithZeros) {
  for (uint32_t length = 0; length < 40; ++length) {
    memset(buffer, 0xA5, 1024);
    const size_t payload = write_part_prefix(buffer, 3, second_part());
    const size_t bytes = finish_part(buffer, payload, length, kCodecLz4, 1000);
    ASSERT_EQ(align_up<size_t>(payload + length, 8), bytes);
    const TensorMessage* message = verified(bytes);
    EXPECT_EQ(length, message->part()->data()->size());
    EXPECT_EQ(Codec::LZ4, message->part()->codec());
    EXPECT_EQ(1000u, message->part()->raw_size());
    for (size_t i = payload + length; i < bytes; ++i) EXPECT_EQ(0, buffer[i]);
    EXPECT_EQ(0xA5, buffer[bytes]);
  }
}

TEST(Part, ItsCrcFollowsFromTheOneItHolds) {
  for (uint32_t length = 0; length < 20000; length = length * 5 / 4 + 1) {
    const Bytes out = buffer;
    const size_t payload = write_part_prefix(out, length * 977u + 1, second_part());
    for (uint32_t i = 0; i < length; ++i) out.data[payload + i] = static_cast<uint8_t>(i * i >> 3);
    const size_t bytes = finish_part(out, payload, length, kCodecRaw, length);
    ASSERT_GT(bytes, 0u);
    for (const uint32_t before : {0u, 1u, 0x80000000u, 0xDEADBEEFu}) {
      EXPECT_EQ(crc_of_sealed(before, ConstBytes(buffer, bytes)), crc32(before, buffer, bytes)) << length;
    }
  }
}

TEST(Part, EncodedInPlace_DecodesAgain) {
  std::vector<uint8_t> raw(20000);
  for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<uint8_t>(i / 64);
  alignas(8) static uint8_t state[kLz4StateBytes];
  const Bytes out = buffer;
  const size_t payload = write_part_prefix(out, 1, second_part());
  const size_t encoded = lz4_encode(ConstBytes(raw.data(), raw.size()), out.from(payload), state);
  ASSERT_GT(encoded, 0u);
  const TensorMessage* message = verified(finish_part(out, payload, static_cast<uint32_t>(encoded), kCodecLz4, 20000));
  std::vector<uint8_t> decoded(message->part()->raw_size());
  const auto* data = message->part()->data();
  ASSERT_TRUE(lz4_decode(ConstBytes(data->data(), data->size()), Bytes(decoded.data(), decoded.size())));
  EXPECT_EQ(raw, decoded);
}

TEST(Part, LastOne_CarriesTheDigest) {
  PartView view = second_part();
  view.digest_kind = kDigestXxh64;
  view.digest = 0xABCDEF;
  const TensorMessage* message = verified(finish_part(buffer, write_part_prefix(buffer, 3, view), 0, kCodecRaw, 0));
  ASSERT_NE(nullptr, message->digest());
  EXPECT_EQ(DigestKind::XXH64, message->digest()->kind());
  EXPECT_EQ(0xABCDEFu, message->digest()->value());
}

TEST(Part, LongestPrefix_IsTheStatedOne) {
  const int64_t shape[kMaxRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  PartView view = second_part();
  view.shape = shape;
  view.digest_kind = kDigestXxh64;
  view.digest = 1;
  EXPECT_EQ(kMaxPartPrefixBytes, write_part_prefix(buffer, 3, view));
}

TEST(Part, WithoutRoom_GivesZeroAndStaysInside) {
  const size_t payload = write_part_prefix(buffer, 3, second_part());
  for (size_t room = 0; room < payload + 24; ++room) {
    memset(buffer, 0xA5, 1024);
    const Bytes out(buffer, room);
    const size_t at = write_part_prefix(out, 3, second_part());
    EXPECT_EQ(room >= payload ? payload : 0, at) << room;
    const size_t bytes = finish_part(out, at, 9, kCodecRaw, 9);
    EXPECT_EQ(room >= payload + 16 ? payload + 16 : 0, bytes) << room;
    for (size_t i = room; i < 1024; ++i) ASSERT_EQ(0xA5, buffer[i]) << room;
  }
}

TEST(Part, OfAScalar_HasNoShape) {
  PartView view;
  view.dtype = DH_F64;
  view.total = 8;
  const size_t payload = write_part_prefix(buffer, 1, view);
  const TensorMessage* message = verified(finish_part(buffer, payload, 8, kCodecRaw, 8));
  EXPECT_EQ(nullptr, message->part()->shape());
  EXPECT_EQ(0u, message->part()->part_index());
  EXPECT_EQ(1u, message->part()->part_count());
}

TEST(TensorDigest, ComesThroughWhole) {
  DigestView view;
  view.frame = 4;
  view.value = 77;
  view.dtype = DH_BF16;
  view.shape = kShape;
  const TensorMessage* message = verified(write_tensor_digest(buffer, 2, view));
  EXPECT_EQ(4u, message->key()->frame());
  EXPECT_EQ(nullptr, message->part());
  EXPECT_EQ(DigestKind::XXH64, message->digest()->kind());
  EXPECT_EQ(77u, message->digest()->value());
  EXPECT_EQ(DType::BF16, message->digest()->dtype());
  EXPECT_EQ(4u, message->digest()->shape()->size());
}

TEST(TensorStatistics, ComeThroughWhole) {
  const uint64_t histogram[] = {1, 0, 5};
  StatisticsView view;
  view.frame = 4;
  view.dtype = DH_F32;
  view.shape = kShape;
  view.count = 24;
  view.sampled = 12;
  view.min = -1.5;
  view.max = 2.5;
  view.mean = 0.125;
  view.variance = 3;
  view.nan = 1;
  view.pos_inf = 2;
  view.neg_inf = 3;
  view.zeros = 4;
  view.saturated = 5;
  view.histogram_first_exponent = -20;
  view.histogram = histogram;
  view.capture_time_ns = 11;
  const TensorMessage* message = verified(write_tensor_statistics(buffer, 2, view));
  const Statistics* statistics = message->statistics();
  ASSERT_NE(nullptr, statistics);
  EXPECT_EQ(DType::F32, statistics->dtype());
  EXPECT_EQ(4u, statistics->shape()->size());
  EXPECT_EQ(24u, statistics->count());
  EXPECT_EQ(12u, statistics->sampled());
  EXPECT_EQ(-1.5, statistics->min());
  EXPECT_EQ(2.5, statistics->max());
  EXPECT_EQ(0.125, statistics->mean());
  EXPECT_EQ(3.0, statistics->variance());
  EXPECT_EQ(1u, statistics->nan());
  EXPECT_EQ(2u, statistics->pos_inf());
  EXPECT_EQ(3u, statistics->neg_inf());
  EXPECT_EQ(4u, statistics->zeros());
  EXPECT_EQ(5u, statistics->saturated());
  EXPECT_EQ(-20, statistics->histogram_first_exponent());
  ASSERT_EQ(3u, statistics->histogram()->size());
  EXPECT_EQ(5u, statistics->histogram()->Get(2));
  EXPECT_EQ(11u, message->capture_time_ns());
}

}  // namespace
}  // namespace dumphook
