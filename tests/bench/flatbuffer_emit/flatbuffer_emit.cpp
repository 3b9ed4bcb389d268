// SPDX-License-Identifier: Apache-2.0
// Times both emitters on a part with 64 KiB of payload and on a descriptor. With --quick: only checks that they work.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "emit.h"
#include "tensor_generated.h"

namespace dumphook {
namespace {

constexpr size_t kPayloadBytes = 64 << 10;
alignas(64) uint8_t out_memory[kPayloadBytes + 4096];
alignas(64) uint8_t scratch_memory[kPayloadBytes];
alignas(64) uint8_t raw_memory[kPayloadBytes];

size_t copy(Bytes to, ConstBytes from) {
  memcpy(to.data, from.data, from.size);
  return from.size;
}

PartView make_part() {
  static const int64_t shape[] = {1, 64, 16, 16};
  PartView view;
  view.descriptor_hash = 1;
  view.frame = 2;
  view.capture_id = 3;
  view.total = kPayloadBytes;
  view.dtype = DH_F32;
  view.shape = shape;
  view.capture_time_ns = 4;
  return view;
}

DescriptorView make_descriptor() {
  static const int64_t shape[] = {1, 64, 16, 16};
  static const float scale[] = {0.5f};
  static const int32_t zero_point[] = {-3};
  static const char* const origins[] = {"conv1", "bn1", "relu1"};
  static const AttributeView attributes[] = {{"mean", "0.485,0.456,0.406"}, {"colour", "rgb"}};
  DescriptorView view;
  view.hash = 1;
  view.tensor_id = 2;
  view.model = "yolov8n";
  view.name = "/model.0/conv/Conv_output_0";
  view.op = "Conv2D";
  view.origin_names = origins;
  view.origin_count = 3;
  view.role = DH_ROLE_OUTPUT;
  view.dtype = DH_I8;
  view.layout = DH_LAYOUT_NCHW;
  view.shape = shape;
  view.quant_kind = DH_QUANT_PER_TENSOR;
  view.scale = scale;
  view.zero_point = zero_point;
  view.node_index = 5;
  view.attributes = attributes;
  return view;
}

bool is_whole(Emitted message) {
  flatbuffers::Verifier verifier(message.data, message.size);
  return VerifyTensorMessageBuffer(verifier) && check_message_crc(ConstBytes(message.data, message.size));
}

// Nanoseconds of one call: the best of several rounds.
template <class Call>
double nanoseconds(int calls, Call call) {
  double best = 1e30;
  for (int round = 0; round < 15; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / calls);
  }
  return best;
}

int run(bool quick) {
  const Bytes out = out_memory;
  const Bytes scratch = scratch_memory;
  const ConstBytes raw = Bytes(raw_memory);
  const PartView part = make_part();
  const DescriptorView descriptor = make_descriptor();
  struct Contender {
    const char* name;
    Emitter emitter;
  };
  const Contender contenders[] = {{"FlatBufferBuilder", builder_emitter()}, {"FlatWriter", writer_emitter()}};
  for (const Contender& contender : contenders) {
    const Emitter& emitter = contender.emitter;
    const Emitted whole_part = emitter.part(out, scratch, part, raw, copy);
    const bool part_is_whole =
        is_whole(whole_part) && GetTensorMessage(whole_part.data)->part()->data()->size() == kPayloadBytes;
    const Emitted whole_descriptor = emitter.descriptor(out, descriptor);
    if (!part_is_whole || !is_whole(whole_descriptor)) {
      fprintf(stderr, "%s made a message that does not verify\n", contender.name);
      return 1;
    }
    if (quick) continue;
    const size_t header_bytes = whole_part.size - kPayloadBytes;
    const double part_ns = nanoseconds(500, [&] { emitter.part(out, scratch, part, raw, copy); });
    const double tiny_ns = nanoseconds(20000, [&] { emitter.part(out, scratch, part, raw.first(16), copy); });
    const double descriptor_ns = nanoseconds(20000, [&] { emitter.descriptor(out, descriptor); });
    printf(
        "%-18s part of 64 KiB %7.0f ns, part of 16 bytes %5.0f ns, descriptor %5.0f ns; "
        "around the payload %zu bytes, descriptor %zu bytes\n",
        contender.name, part_ns, tiny_ns, descriptor_ns, header_bytes, whole_descriptor.size);
  }
  if (!quick) {
    const ConstBytes message = out.first(kPayloadBytes + 256);
    volatile uint32_t sink = 0;
    printf("%-18s part of 64 KiB %7.0f ns, contained in both\n", "CRC alone",
           nanoseconds(500, [&] { sink = message_crc(message, 32); }));
  }
  return 0;
}

}  // namespace
}  // namespace dumphook

int main(int argc, char** argv) { return dumphook::run(argc > 1 && strcmp(argv[1], "--quick") == 0); }
