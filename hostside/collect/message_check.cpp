// SPDX-License-Identifier: Apache-2.0
#include "collect/message_check.h"

#include "collect/schema.h"
#include "wire/format.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

namespace fb = dumphook_schema;

template <class T>
std::optional<uint64_t> verified_seq(ConstBytes message) {
  flatbuffers::Verifier::Options limits;
  limits.max_depth = kMaxFlatDepth;
  limits.max_tables = kMaxFlatTables;
  flatbuffers::Verifier verifier(message.data, message.size, limits);
  if (!verifier.VerifyBuffer<T>(nullptr)) return std::nullopt;
  const uint64_t seq = flatbuffers::GetRoot<T>(message.data)->stream_seq();
  return seq == 0 ? std::nullopt : std::optional(seq);
}

struct Kind {
  const char* schema_name;
  std::optional<uint64_t> (*seq)(ConstBytes message);
};

const Kind kKinds[] = {
    {kTensorSchemaName, verified_seq<fb::TensorMessage>},
    {kFrameBeginChannel.schema_name, verified_seq<fb::FrameBegin>},
    {kFrameEndChannel.schema_name, verified_seq<fb::FrameEnd>},
    {kModelGraphChannel.schema_name, verified_seq<fb::ModelGraph>},
    {kLossChannel.schema_name, verified_seq<fb::Loss>},
    {kCountersChannel.schema_name, verified_seq<fb::Counters>},
    {kConfigChangeChannel.schema_name, verified_seq<fb::ConfigChange>},
    {kClockSyncChannel.schema_name, verified_seq<fb::ClockSync>},
    {kLogChannel.schema_name, verified_seq<fb::Log>},
    {kRunReplyChannel.schema_name, verified_seq<fb::RunReply>},
};

}  // namespace

std::optional<uint64_t> MessageCheck::stream_seq(const std::string& schema_name, ConstBytes message) {
  if (message.size < 8) return std::nullopt;
  aligned_.resize((message.size + 7) / 8);
  memcpy(aligned_.data(), message.data, message.size);
  const ConstBytes aligned(reinterpret_cast<const uint8_t*>(aligned_.data()), message.size);
  if (!check_message_crc(aligned)) return std::nullopt;
  for (const Kind& kind : kKinds) {
    if (schema_name == kind.schema_name) return kind.seq(aligned);
  }
  return std::nullopt;
}

}  // namespace dumphook
