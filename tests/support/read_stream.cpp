// SPDX-License-Identifier: Apache-2.0
#include "read_stream.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "counters_generated.h"
#include "frame_generated.h"
#include "graph_generated.h"
#include "loss_generated.h"
#include "session_generated.h"
#include "tensor_generated.h"
#include "wire/codec.h"

namespace test_reader {
namespace {

template <class T>
T load(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

uint32_t crc32_of(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

std::string text(const flatbuffers::String* from) { return from == nullptr ? "" : from->str(); }

template <class Out, class In>
void copy(std::vector<Out>* to, const In* from) {
  if (from != nullptr) to->assign(from->begin(), from->end());
}

void copy_texts(std::vector<std::string>* to,
                const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from) {
  if (from == nullptr) return;
  for (const auto* item : *from) to->push_back(text(item));
}

template <class In>
void copy_attributes(std::map<std::string, std::string>* to, const In* from) {
  if (from == nullptr) return;
  for (const auto* attribute : *from) (*to)[text(attribute->key())] = text(attribute->value());
}

template <class In>
void copy_reasons(std::map<uint32_t, uint64_t>* to, const In* from) {
  if (from == nullptr) return;
  for (const auto* lost : *from) (*to)[static_cast<uint32_t>(lost->reason())] = lost->count();
}

class Reader {
 public:
  explicit Reader(Stream* out) : out_(*out) {}

  void read(const std::string& bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
      if (bytes.size() - at >= 8 && memcmp(bytes.data() + at, kMagic, 8) == 0) {
        if (footer_) {
          out_.sealed = true;
          footer_ = false;
        } else {
          begin_stream();
        }
        at += 8;
        continue;
      }
      const size_t next = record(bytes.data() + at, bytes.size() - at);
      if (next == 0) {
        out_.cut = true;
        return;
      }
      at += next;
    }
  }

 private:
  static constexpr char kMagic[9] = "\x89MCAP0\r\n";

  void wrong(const std::string& what) {
    if (out_.wrong.size() < 20) out_.wrong.push_back(what);
  }

  void begin_stream() {
    ++out_.streams;
    out_.sealed = footer_ = false;
    channels_.clear();
    schemas_.clear();
    described_.clear();
    last_log_time_ = 0;
    first_new_seq_ = 0;
  }

  // Bytes of the record; 0 when it is cut.
  size_t record(const char* data, size_t size) {
    if (size < 9) return 0;
    const auto opcode = static_cast<uint8_t>(data[0]);
    const auto length = load<uint64_t>(data + 1);
    if (length > size - 9) return 0;
    const char* content = data + 9;
    switch (opcode) {
      case 0x01: break;
      case 0x02: footer_ = true; break;
      case 0x03: schemas_[load<uint16_t>(content)] = std::string(content + 6, load<uint32_t>(content + 2)); break;
      case 0x04: channels_[load<uint16_t>(content)] = load<uint16_t>(content + 2); break;
      case 0x05: message(content, length); break;
      case 0x06: {
        const auto compression = load<uint32_t>(content + 28);
        if (compression != 0) wrong("a chunk is compressed");
        const char* records = content + 40;
        const auto bytes = load<uint64_t>(content + 32);
        const std::string copy_of_records(records, bytes);
        if (crc32_of(copy_of_records) != load<uint32_t>(content + 24)) wrong("a chunk's CRC is wrong");
        for (size_t at = 0; at < bytes;) {
          const size_t next = record(records + at, bytes - at);
          if (next == 0) {
            wrong("a record is cut within a chunk");
            break;
          }
          at += next;
        }
        break;
      }
      case 0x0C: metadata(content); break;
      default: break;
    }
    return 9 + length;
  }

  void metadata(const char* content) {
    const auto name_bytes = load<uint32_t>(content);
    const char* at = content + 4 + name_bytes + 4;
    const char* end = at + load<uint32_t>(content + 4 + name_bytes);
    std::set<std::string> keys;
    out_.metadata.clear();
    while (at < end) {
      const std::string key(at + 4, load<uint32_t>(at));
      at += 4 + key.size();
      const std::string value(at + 4, load<uint32_t>(at));
      at += 4 + value.size();
      if (!keys.insert(key).second) wrong("metadata has two values of " + key);
      out_.metadata[key] = value;
    }
    first_new_seq_ = std::stoull(out_.metadata["first_stream_seq"]);
  }

  template <class Table>
  const Table* check(const std::string& bytes) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (!verifier.VerifyBuffer<Table>(nullptr)) {
      wrong("a message does not verify");
      return nullptr;
    }
    const auto* table = flatbuffers::GetRoot<Table>(bytes.data());
    const auto field = reinterpret_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(4);
    if (field == 0) {
      wrong("a message has no crc32");
      return nullptr;
    }
    std::string zeroed = bytes;
    const auto offset = static_cast<size_t>(reinterpret_cast<const char*>(table) - bytes.data()) + field;
    memset(&zeroed[offset], 0, 4);
    if (crc32_of(zeroed) != table->crc32()) {
      wrong("a message's CRC is wrong");
      return nullptr;
    }
    is_new_ = note_seq(table->stream_seq());
    return table;
  }

  bool note_seq(uint64_t seq) {
    if (static_cast<uint32_t>(seq) != sequence_) wrong("MCAP's sequence is not the low half of stream_seq");
    if (seq < first_new_seq_ || seq <= out_.last_seq) {
      ++out_.repeats;
      return false;
    }
    if (out_.last_seq == 0) out_.first_seq = seq;
    if (out_.last_seq != 0 && seq != out_.last_seq + 1) {
      wrong("stream_seq jumps from " + std::to_string(out_.last_seq) + " to " + std::to_string(seq));
    }
    out_.last_seq = seq;
    ++out_.messages;
    if (log_time_ < last_log_time_) wrong("log_time goes back");
    last_log_time_ = log_time_;
    return true;
  }

  void message(const char* content, uint64_t length) {
    const auto channel = load<uint16_t>(content);
    sequence_ = load<uint32_t>(content + 2);
    log_time_ = load<uint64_t>(content + 6);
    const auto found = channels_.find(channel);
    if (found == channels_.end()) return wrong("a message comes before its channel");
    const std::string schema = schemas_[found->second];
    const std::string bytes(content + 22, length - 22);
    if (schema == "dumphook.TensorMessage") {
      if (const auto* table = check<dumphook::TensorMessage>(bytes)) tensor(*table);
    } else if (schema == "dumphook.FrameBegin") {
      if (const auto* table = check<dumphook::FrameBegin>(bytes)) {
        ++out_.frames[table->frame()].begins;
        out_.frames[table->frame()].model = text(table->model());
      }
    } else if (schema == "dumphook.FrameEnd") {
      if (const auto* table = check<dumphook::FrameEnd>(bytes)) frame_end(*table);
    } else if (schema == "dumphook.ModelGraph") {
      const auto* table = check<dumphook::ModelGraph>(bytes);
      if (table != nullptr && is_new_) graph(*table);
    } else if (schema == "dumphook.Loss") {
      const auto* table = check<dumphook::Loss>(bytes);
      if (table == nullptr || !is_new_) return;
      for (const auto* range : *table->ranges()) {
        if (range->first_frame() > range->last_frame()) wrong("a loss range is inverted");
        out_.losses.push_back({range->tensor_id(), static_cast<uint32_t>(range->reason()), range->first_frame(),
                               range->last_frame(), range->count(), range->pool_bytes_needed()});
      }
    } else if (schema == "dumphook.Counters") {
      if (const auto* table = check<dumphook::Counters>(bytes)) counters(*table);
    } else if (schema == "dumphook.ConfigChange") {
      if (const auto* table = check<dumphook::ConfigChange>(bytes)) {
        out_.config_frames.emplace_back(out_.config_changes.size(), table->first_frame());
        out_.config_changes.push_back(text(table->text()));
      }
    } else if (schema == "dumphook.ClockSync") {
      if (check<dumphook::ClockSync>(bytes) != nullptr) ++out_.clock_syncs;
    } else if (schema == "dumphook.Log") {
      if (const auto* table = check<dumphook::Log>(bytes)) out_.logs.push_back(text(table->text()));
    } else {
      wrong("a message has the schema \"" + schema + "\"");
    }
  }

  void frame_end(const dumphook::FrameEnd& table) {
    Frame& frame = out_.frames[table.frame()];
    if (!is_new_) return;
    if (frame.begins == 0) wrong("FrameEnd without FrameBegin");
    ++frame.ends;
    frame.seen = table.seen();
    frame.accepted = table.accepted();
    frame.state = static_cast<uint32_t>(table.state());
    copy_reasons(&frame.lost, table.lost());
    copy_attributes(&frame.attributes, table.attributes());
    uint64_t lost = 0;
    for (const auto& [reason, count] : frame.lost) lost += count;
    if (frame.seen != frame.accepted + lost) wrong("FrameEnd: seen is not accepted + lost");
  }

  void graph(const dumphook::ModelGraph& table) {
    Graph& graph = out_.graphs[text(table.model())];
    if (table.first_node() != graph.nodes.size()) wrong("a graph's messages do not join");
    graph.node_total = table.node_total();
    copy_attributes(&graph.attributes, table.attributes());
    if (table.nodes() == nullptr) return;
    for (const auto* from : *table.nodes()) {
      Node node;
      node.index = from->index();
      node.name = text(from->name());
      node.op = text(from->op());
      copy_texts(&node.inputs, from->inputs());
      copy_texts(&node.outputs, from->outputs());
      graph.nodes.push_back(node);
    }
  }

  void counters(const dumphook::Counters& table) {
    Counters counters;
    counters.seen = table.seen();
    counters.shipped = table.shipped();
    counters.in_flight = table.in_flight();
    counters.frames_begun = table.frames_begun();
    counters.frames_ended = table.frames_ended();
    counters.closing = table.closing();
    counters.tensors = table.tensors() == nullptr ? 0 : table.tensors()->size();
    copy_reasons(&counters.lost, table.lost());
    if (counters.seen != counters.shipped + counters.in_flight + counters.lost_sum()) wrong("Counters do not add up");
    if (counters.in_flight > counters.seen) wrong("Counters: more in flight than seen");
    if (!out_.counters.empty() && out_.counters.back().closing) wrong("a message of Counters follows the closing one");
    out_.counters.push_back(counters);
  }

  void tensor(const dumphook::TensorMessage& table) {
    if (table.descriptor() != nullptr) {
      const auto& from = *table.descriptor();
      Tensor tensor;
      tensor.model = text(from.model());
      tensor.name = text(from.name());
      tensor.op = text(from.op());
      tensor.raw_type = text(from.raw_type());
      copy_texts(&tensor.origin_names, from.origin_names());
      copy_attributes(&tensor.attributes, from.attributes());
      tensor.role = static_cast<uint32_t>(from.role());
      tensor.dtype = static_cast<uint32_t>(from.dtype());
      tensor.layout = static_cast<uint32_t>(from.layout());
      tensor.node_index = from.node_index();
      tensor.output_slot = from.output_slot();
      tensor.descriptor_hash = from.hash();
      copy(&tensor.shape, from.shape());
      copy(&tensor.logical_shape, from.logical_shape());
      copy(&tensor.strides, from.strides());
      tensor.planes = from.planes() == nullptr ? 0 : from.planes()->size();
      if (from.quantization() != nullptr) {
        tensor.quant_kind = static_cast<uint32_t>(from.quantization()->kind());
        tensor.quant_axis = from.quantization()->axis();
        copy(&tensor.scale, from.quantization()->scale());
        copy(&tensor.zero_point, from.quantization()->zero_point());
      }
      described_[from.hash()] = tensor;
      out_.names[from.tensor_id()] = tensor.name;
      if (is_new_) ++out_.descriptors;
    }
    if (table.part() != nullptr && is_new_) part(table);
    if (table.part() == nullptr && table.key() != nullptr && is_new_) summary(table);
  }

  void summary(const dumphook::TensorMessage& table) {
    const auto& key = *table.key();
    const auto described = described_.find(key.descriptor_hash());
    if (described == described_.end()) return wrong("a summary comes before its descriptor");
    if (out_.frames[key.frame()].begins == 0) wrong("a summary comes before its FrameBegin");
    if (out_.frames[key.frame()].ends != 0) wrong("a summary comes after its FrameEnd");
    Summary summary;
    summary.name = described->second.name;
    summary.scale = described->second.scale;
    summary.frame = key.frame();
    summary.capture_id = key.capture_id();
    if (table.digest() != nullptr) summary.digest = table.digest()->value();
    if (const auto* statistics = table.statistics()) {
      summary.has_statistics = true;
      summary.count = statistics->count();
      summary.sampled = statistics->sampled();
      summary.nan = statistics->nan();
      summary.zeros = statistics->zeros();
      summary.saturated = statistics->saturated();
      summary.min = statistics->min();
      summary.max = statistics->max();
      summary.mean = statistics->mean();
      summary.variance = statistics->variance();
    }
    out_.summaries.push_back(summary);
  }

  void part(const dumphook::TensorMessage& table) {
    const auto& part = *table.part();
    const auto& key = *table.key();
    const auto described = described_.find(key.descriptor_hash());
    if (described == described_.end()) return wrong("a part comes before its descriptor");
    if (out_.frames[key.frame()].begins == 0) wrong("a part comes before its FrameBegin");
    if (out_.frames[key.frame()].ends != 0) wrong("a part comes after its FrameEnd");
    const auto [at, fresh] = out_.tensors.try_emplace(key.capture_id(), described->second);
    Tensor& tensor = at->second;
    if (fresh) {
      tensor.frame = key.frame();
      tensor.capture_id = key.capture_id();
      tensor.instance = key.instance();
      tensor.occurrence = key.occurrence();
      tensor.total = part.total();
      tensor.part_count = part.part_count();
      tensor.bytes.resize(part.total());
    }
    if (tensor.frame != key.frame() || tensor.total != part.total() || tensor.part_count != part.part_count()) {
      return wrong("the parts of a tensor contradict each other");
    }
    if (static_cast<uint32_t>(part.dtype()) != tensor.dtype) wrong("part and descriptor differ in dtype");
    std::vector<int64_t> shape;
    copy(&shape, part.shape());
    if (shape != tensor.shape) wrong("part and descriptor differ in shape");
    if (part.part_index() != tensor.parts || part.offset() != tensor.have) wrong("parts are out of order");
    if (part.offset() + part.raw_size() > tensor.total) return wrong("a part lies outside its tensor");
    if (part.raw_size() == 0 && tensor.total != 0) wrong("an empty part of a tensor that is not");
    const dumphook::ConstBytes data = part.data() == nullptr
                                          ? dumphook::ConstBytes()
                                          : dumphook::ConstBytes(part.data()->data(), part.data()->size());
    const dumphook::Bytes raw(reinterpret_cast<uint8_t*>(&tensor.bytes[part.offset()]), part.raw_size());
    std::vector<uint64_t> scratch(dumphook::kCodecScratchBytes / 8);
    if (!dumphook::decode_part(static_cast<uint32_t>(part.dtype()), static_cast<uint8_t>(part.codec()), data, raw,
                               scratch.data())) {
      wrong("a part does not decode");
    }
    if (part.codec() != dumphook::Codec::RAW && data.size * 50 > uint64_t{part.raw_size()} * 49) {
      wrong("a codec where it saves less than 2 %");
    }
    tensor.have += part.raw_size();
    ++tensor.parts;
    tensor.part_sizes.push_back(part.raw_size());
    if (table.digest() != nullptr) {
      tensor.has_digest = true;
      tensor.digest = table.digest()->value();
      if (tensor.have != tensor.total) wrong("a digest comes before the last part");
    }
  }

  Stream& out_;
  std::map<uint16_t, uint16_t> channels_;  // schema of each
  std::map<uint16_t, std::string> schemas_;
  std::map<uint64_t, Tensor> described_;
  uint64_t log_time_ = 0, last_log_time_ = 0, first_new_seq_ = 0;
  uint32_t sequence_ = 0;
  bool is_new_ = false, footer_ = false;
};

}  // namespace

std::vector<const Tensor*> Stream::of(const std::string& name) const {
  std::vector<const Tensor*> found;
  for (const auto& [id, tensor] : tensors) {
    if (tensor.name == name) found.push_back(&tensor);
  }
  return found;
}

uint64_t Stream::lost(uint32_t tensor_id) const {
  uint64_t sum = 0;
  for (const Loss& loss : losses) sum += loss.tensor_id == tensor_id ? loss.count : 0;
  return sum;
}

bool Stream::lost_in(uint32_t tensor_id, uint64_t frame) const {
  for (const Loss& loss : losses) {
    if (loss.tensor_id == tensor_id && loss.first <= frame && frame <= loss.last) return true;
  }
  return false;
}

uint32_t Stream::id_of(const std::string& name) const {
  for (const auto& [id, known] : names) {
    if (known == name) return id;
  }
  return 0xFFFFFFFFu;
}

Stream read_stream(const std::string& bytes) {
  Stream stream;
  Reader(&stream).read(bytes);
  return stream;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace test_reader
