// SPDX-License-Identifier: Apache-2.0
// The constants of schemas/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dumphook {

// ---- Versions: a reader that knows any of kFormatOldest ... kFormatCurrent can read the stream.
constexpr uint16_t kFormatCurrent = 1;
constexpr uint16_t kFormatOldest = 1;
constexpr uint16_t kFormatMinor = 0;

// ---- Container
constexpr const char* kMcapProfile = "";
constexpr const char* kMcapLibraryPrefix = "libdumphook/";
constexpr const char* kEncoding = "flatbuffer";  // Schema.encoding and Channel.message_encoding
constexpr const char* kMetadataName = "libdumphook";
constexpr const char* kTensorIdKey = "tensor_id";

// One schema per message table, one channel per control message, and kFirstTensorChannel + tensor_id per tensor.
constexpr uint16_t kSchemaTensor = 1;
constexpr uint16_t kFirstTensorChannel = 32;

struct ControlChannel {
  uint16_t channel;
  uint16_t schema;
  const char* schema_name;
  const char* topic;
};

constexpr const char* kTensorSchemaName = "dumphook.TensorMessage";
constexpr ControlChannel kFrameBeginChannel = {1, 2, "dumphook.FrameBegin", "/dumphook/frame_begin"};
constexpr ControlChannel kFrameEndChannel = {2, 3, "dumphook.FrameEnd", "/dumphook/frame_end"};
constexpr ControlChannel kModelGraphChannel = {3, 4, "dumphook.ModelGraph", "/dumphook/model_graph"};
constexpr ControlChannel kLossChannel = {4, 5, "dumphook.Loss", "/dumphook/loss"};
constexpr ControlChannel kCountersChannel = {5, 6, "dumphook.Counters", "/dumphook/counters"};
constexpr ControlChannel kConfigChangeChannel = {6, 7, "dumphook.ConfigChange", "/dumphook/config_change"};
constexpr ControlChannel kClockSyncChannel = {7, 8, "dumphook.ClockSync", "/dumphook/clock_sync"};
constexpr ControlChannel kLogChannel = {8, 9, "dumphook.Log", "/dumphook/log"};
constexpr ControlChannel kRunReplyChannel = {9, 10, "dumphook.RunReply", "/dumphook/run_reply"};

constexpr ControlChannel kControlChannels[] = {kFrameBeginChannel, kFrameEndChannel, kModelGraphChannel,
                                               kLossChannel,       kCountersChannel, kConfigChangeChannel,
                                               kClockSyncChannel,  kLogChannel,      kRunReplyChannel};

// ---- Messages: stream_seq is the second field of every table; this is its place in a vtable.
constexpr uint16_t kStreamSeqField = 6;

// ---- Parts
constexpr uint8_t kCodecRaw = 0;
constexpr uint8_t kCodecLz4 = 1;
constexpr uint8_t kCodecPacked = 2;
constexpr uint8_t kDigestNone = 0;
constexpr uint8_t kDigestXxh64 = 1;

// ---- Frames
constexpr uint8_t kFrameComplete = 0;
constexpr uint8_t kFrameAbandoned = 1;
constexpr uint8_t kFrameIncomplete = 2;

// ---- Losses
constexpr uint32_t kNoTensorId = 0xFFFFFFFFu;  // a tensor that never got an id (too_many_tensors)

// ---- Answers to the host
constexpr uint8_t kReplyDone = 0;
constexpr uint8_t kReplyRunning = 1;
constexpr uint8_t kReplyFailed = 2;
constexpr uint8_t kReplyRefused = 3;
constexpr uint8_t kReplyUnknownCommand = 4;

// ---- Limits (section 9)
constexpr uint32_t kMaxRank = 8;
constexpr uint32_t kMaxNameBytes = 512;
constexpr uint32_t kMaxPartRawBytes = 16u << 20;
constexpr uint32_t kMaxRecordBytes = 64u << 20;
constexpr size_t kSizePrefixBytes = 4;  // of a host message
constexpr uint32_t kMaxHostMessageBytes = 1u << 20;
constexpr uint32_t kMaxFlatDepth = 64;
constexpr uint32_t kMaxFlatTables = 100000;

}  // namespace dumphook
