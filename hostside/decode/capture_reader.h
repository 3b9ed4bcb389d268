// SPDX-License-Identifier: Apache-2.0
// CaptureReader: what a Capture is made of. Takes records in, file by file, and keeps the index.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decode/capture.h"
#include "decode/message.h"
#include "decode/seq_set.h"
#include "source/file_source.h"
#include "source/record_scanner.h"

namespace dumphook {

class CaptureReader {
 public:
  Expected<bool> add_file(const std::string& path);
  // Reads all there is. `final`: what is left over at the ends is cut off. True when there was something new.
  Expected<bool> read(bool final, int timeout_ms);
  bool is_capture() const { return any_of_ours_; }

  Expected<Tensor> load(const CapturedTensor& tensor) const;

  std::vector<std::string> paths;
  uint64_t file_bytes() const;

  // What Capture gives out.
  std::vector<CaptureSession> sessions;
  std::vector<CaptureStream> streams;
  std::vector<CapturedTensor> tensors;
  std::vector<CapturedFrame> frames;
  std::vector<CapturedGraph> graphs;
  ProblemList problems;
  bool follow = false;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  struct Channel {
    uint16_t schema_id = 0;
    std::string topic;
    bool flatbuffer = false;
    std::string model, name;  // of a tensor, from the topic
  };
  struct File {
    std::shared_ptr<FileSource> source;
    std::unique_ptr<RecordScanner> scanner;
    std::unordered_map<uint16_t, std::string> schemas;  // names
    std::unordered_map<uint16_t, Channel> channels;
    std::vector<bool> strange_channels;  // told already
    uint32_t stream = kNone;             // position in streams
    bool skip_stream = false;            // of a later format
    bool schemas_fell_back = false;
  };
  struct TensorKey {
    uint32_t session;
    TensorNews::Key key;
    bool operator==(const TensorKey& other) const;
  };
  struct TensorKeyHash {
    size_t operator()(const TensorKey& key) const;
  };
  struct DescriptorKey {
    uint32_t session;
    uint64_t hash;
    bool operator==(const DescriptorKey& other) const { return session == other.session && hash == other.hash; }
  };
  struct DescriptorKeyHash {
    size_t operator()(const DescriptorKey& key) const { return static_cast<size_t>(key.hash * 31 + key.session); }
  };
  struct SessionState {
    SeqSet seqs;
    uint64_t first_known = 0;  // lowest first_stream_seq, or lowest new message
    uint64_t last_known = 0;   // highest seq that is known to exist
  };

  bool read_file(uint32_t number, bool final);
  void take(uint32_t number, const McapRecord& record);
  void begin_stream(uint32_t number, uint64_t offset);
  void take_metadata(File& file, const McapRecord& record);
  void take_channel(File& file, const McapRecord& record);
  void take_message(uint32_t number, const McapRecord& record);
  std::optional<MessageKind> kind_of(File& file, uint16_t channel, uint64_t offset, uint32_t number);
  uint32_t session_of(File& file);
  uint32_t find_session(const std::string& uuid);
  void note_seq(CaptureStream& stream, uint64_t seq, uint64_t log_time);
  void apply(uint32_t number, const McapRecord& record, uint32_t session, const Channel* channel, Message& message,
             uint64_t log_time);
  void apply_tensor(uint32_t number, const McapRecord& record, uint32_t session, const Channel* channel,
                    TensorNews& news);
  void apply_graph(uint32_t session, GraphNews& news);
  CapturedFrame& frame_of(uint32_t session, uint64_t number);
  std::shared_ptr<const Descriptor> made_up_descriptor(uint32_t session, const TensorNews& news,
                                                       const Channel* channel);

  // Brings everything derived up to date.
  void settle();
  void settle_tensor(CapturedTensor& tensor) const;
  void settle_gaps();

  void report(Severity severity, uint32_t file, uint64_t offset, std::string what, std::string todo = "");

  std::vector<File> files_;
  std::vector<SessionState> states_;                         // as sessions
  std::unordered_map<std::string, uint32_t> session_index_;  // by uuid
  std::unordered_map<TensorKey, size_t, TensorKeyHash> tensor_index_;
  std::unordered_map<DescriptorKey, std::shared_ptr<const Descriptor>, DescriptorKeyHash> descriptors_, made_up_;
  std::map<std::pair<uint32_t, uint64_t>, CapturedFrame> frame_index_;
  std::map<std::pair<uint32_t, std::string>, size_t> graph_index_;
  bool any_of_ours_ = false;
};

}  // namespace dumphook
