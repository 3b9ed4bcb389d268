// SPDX-License-Identifier: Apache-2.0
// CaptureBuilder: captures for tests of readers, written after FORMAT.md and the MCAP specification with nothing of our
// own writer: flatc's classes, zlib's CRC. Keeps where each record lies, so that tests can damage it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dumphook_test {

struct TensorSpec {
  std::string model = "net", name = "conv1", op = "Conv", raw_type;
  uint8_t dtype = 2;  // f32
  uint8_t role = 0, layout = 0;
  std::vector<int64_t> shape{2, 3};
  std::vector<uint8_t> bytes;  // dense; empty: filled by count
  std::vector<float> scale;
  std::vector<int32_t> zero_point;
  int axis = -1;
  std::vector<std::pair<std::string, std::string>> attributes;
  struct Plane {
    uint64_t row_stride, row_bytes, rows;
  };
  std::vector<Plane> planes;
  uint32_t tensor_id = 0;
  int node_index = -1, output_slot = 0;
};

struct PartSpec {
  uint64_t frame = 0, capture_id = 0;
  uint32_t instance = 0, occurrence = 0;
  uint32_t part_index = 0, part_count = 1;
  uint64_t offset = 0, total = 0;
  uint32_t raw_size = 0;
  uint8_t codec = 0;
  std::vector<uint8_t> data;
  bool with_digest = false;
  uint64_t digest = 0;
};

struct NodeSpec {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
  uint8_t visibility = 0;
};

struct LossSpec {
  uint32_t tensor_id = 0;
  uint8_t reason = 0;
  uint64_t first_frame = 0, last_frame = 0, count = 0;
};

struct CountersSpec {
  uint64_t seen = 0, shipped = 0, in_flight = 0;
  std::map<uint8_t, uint64_t> lost;
  bool closing = false;
};

class CaptureBuilder {
 public:
  struct Options {
    bool chunked = false;
    size_t messages_per_chunk = 4;
    std::string session = "00112233445566778899aabbccddeeff";
    uint32_t stream = 0;
    uint64_t next_seq = 1;          // of the first new message
    uint64_t first_stream_seq = 0;  // in the metadata; 0: next_seq
    bool channels_first = true;     // all control channels; tensors' channels come when needed
    std::string chunk_compression;  // only says so
    bool metadata = true;
  };
  struct RecordAt {
    uint8_t opcode;
    size_t offset, bytes;  // all of the record, in bytes()
    bool in_chunk;
    uint64_t stream_seq;  // of a message
  };

  CaptureBuilder() : CaptureBuilder(Options{}) {}
  explicit CaptureBuilder(Options options);

  // Magic, Header, Metadata, Schemas, control Channels. Done by the constructor; again for a further stream, whose
  // records follow in the same bytes.
  void begin_stream(Options options);

  // ---- messages. `seq` 0: the next one.
  void descriptor(const TensorSpec& tensor, uint64_t seq = 0);
  void part(const TensorSpec& tensor, const PartSpec& part, bool with_descriptor = false, uint64_t seq = 0);
  // In parts of at most `part_bytes`; describes it first where that was not done in this stream.
  void tensor(const TensorSpec& tensor, uint64_t frame, size_t part_bytes = 1 << 20, uint32_t occurrence = 0);
  void statistics(const TensorSpec& tensor, uint64_t frame, double min, double max);
  void digest(const TensorSpec& tensor, uint64_t frame, uint64_t value);
  void frame_begin(uint64_t frame, const std::string& model = "net", uint64_t seq = 0);
  void frame_end(uint64_t frame, uint32_t seen, uint32_t accepted, const std::map<uint8_t, uint64_t>& lost = {},
                 uint8_t state = 0);
  void graph(const std::string& model, const std::vector<NodeSpec>& nodes, uint64_t seq = 0);
  void loss(const std::vector<LossSpec>& ranges);
  void counters(const CountersSpec& counters);
  void log(uint8_t level, const std::string& text);
  void config_change(const std::string& text);
  // Any bytes as a message.
  void message(uint16_t channel, std::vector<uint8_t> data, uint64_t seq);
  void skip_seq(uint64_t count) { next_seq_ += count; }

  // ---- other records
  void record(uint8_t opcode, const std::string& content);
  void channel(uint16_t id, uint16_t schema, const std::string& topic, const std::string& encoding = "flatbuffer");
  void end_chunk();
  // DataEnd, summary, Footer, magic.
  void seal();

  const std::string& bytes();  // ends an open chunk
  const std::vector<RecordAt>& records();
  uint64_t next_seq() const { return next_seq_; }

  static std::vector<uint8_t> dense(const TensorSpec& tensor);

 private:
  void put_record(std::string& to, uint8_t opcode, const std::string& content);
  void put_data(uint8_t opcode, const std::string& content, uint64_t seq);
  uint16_t channel_of(const TensorSpec& tensor);
  uint64_t take_seq(uint64_t seq) { return seq != 0 ? seq : next_seq_++; }

  Options options_;
  std::string bytes_;
  std::vector<RecordAt> records_;
  std::string chunk_;
  std::vector<RecordAt> chunk_records_;
  std::map<uint16_t, std::string> message_index_;
  size_t chunk_messages_ = 0;
  uint64_t next_seq_ = 1, next_capture_id_ = 0;
  std::string summary_;
  std::map<uint16_t, bool> channels_;
  std::map<std::pair<std::string, std::string>, bool> described_;
  std::map<uint16_t, uint64_t> message_counts_;
  uint32_t chunk_count_ = 0;
  uint64_t first_time_ = 0, last_time_ = 0;
};

// Sets the crc32 field of the message at bytes[begin, begin + size) anew, if it has one.
void seal_message(std::string& bytes, size_t begin, size_t size);

void write_file(const std::string& path, const std::string& bytes);
// A folder of this process that is empty at first and goes away with it.
std::string scratch_folder();

}  // namespace dumphook_test
