// SPDX-License-Identifier: Apache-2.0
#include "walk.h"

#include <fstream>
#include <set>
#include <sstream>

#include "wire/crc32.h"
#include "wire/mcap.h"
#include "wire/messages.h"

namespace dumphook {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    if (bytes_.size() - at_ < sizeof(T)) return fail<T>();
    T value = load_le<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  std::string text() { return take(number<uint32_t>()); }
  std::string take(uint64_t count) {
    if (bytes_.size() - at_ < count) return fail<std::string>();
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  bool done() const { return at_ == bytes_.size(); }
  bool ok() const { return ok_; }

 private:
  template <class T>
  T fail() {
    ok_ = false;
    at_ = bytes_.size();
    return T();
  }
  const std::string& bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct Chunk {
  uint64_t at = 0, bytes = 0, start = 0, end = 0, records = 0;
  std::map<uint16_t, std::vector<std::pair<uint64_t, uint64_t>>> messages;  // by channel: log_time, offset
  std::map<uint16_t, uint64_t> indexes;                                     // by channel: file offset
};

class Walker {
 public:
  explicit Walker(const std::string& bytes) : bytes_(bytes) {}

  Walked walk() {
    size_t at = 0;
    const std::string magic(reinterpret_cast<const char*>(kMcapMagic), 8);
    while (out_.wrong.empty() && at < bytes_.size()) {
      if (bytes_.compare(at, 8, magic) == 0) {
        at += 8;
        out_.sealed = after_footer_;
        if (!after_footer_) begin_stream(at - 8);
        after_footer_ = false;
        out_.whole_bytes = at;
        continue;
      }
      if (bytes_.size() - at < 9) break;
      const auto op = static_cast<McapOp>(bytes_[at]);
      const uint64_t length = load_le<uint64_t>(bytes_.data() + at + 1);
      if (length > bytes_.size() - at - 9) {
        if (op == McapOp::kChunk) cut_chunk(at);
        break;
      }
      if (out_.streams == 0) return broken("a record before the magic");
      if (after_footer_) return broken("a record after the footer");
      out_.sealed = false;
      if ((op == McapOp::kChunk || op == McapOp::kMessage) && out_.preamble_bytes == 0)
        out_.preamble_bytes = at - stream_at_;
      record(op, at, bytes_.substr(at + 9, length));
      at += 9 + length;
      out_.whole_bytes = at;
    }
    return out_;
  }

 private:
  Walked broken(const std::string& why) {
    if (out_.wrong.empty()) out_.wrong = why;
    return out_;
  }

  void begin_stream(size_t at) {
    stream_at_ = at;
    ++out_.streams;
    out_.preamble_bytes = 0;
    schemas_.clear();
    channels_.clear();
    chunks_.clear();
    summary_ = data_ended_ = false;
    messages_ = 0;
    counts_.clear();
    first_seq_ = 0;
    out_.sealed = false;
  }

  void record(McapOp op, uint64_t at, const std::string& content) {
    Reader in(content);
    const uint64_t offset = at - stream_at_;
    if (summary_at_ == 0 && data_ended_) summary_at_ = offset;
    switch (op) {
      case McapOp::kHeader:
        if (!in.text().empty()) broken("profile");
        if (in.text().rfind("libdumphook/", 0) != 0) broken("library");
        break;
      case McapOp::kMetadata: {
        if (in.text() != "libdumphook") broken("metadata name");
        Reader map(content);
        map.text();
        uint32_t left = map.number<uint32_t>();
        std::map<std::string, std::string> values;
        while (left > 0 && map.ok()) {
          const std::string key = map.text(), value = map.text();
          left -= static_cast<uint32_t>(8 + key.size() + value.size());
          values[key] = value;
        }
        first_seq_ = std::stoull(values["first_stream_seq"]);
        out_.metadata.push_back(values);
        metadata_at_ = offset;
        metadata_bytes_ = content.size() + 9;
        return;
      }
      case McapOp::kSchema: schemas_.insert(in.number<uint16_t>()); return;
      case McapOp::kChannel:
      case McapOp::kMessage:
        if (op == McapOp::kMessage && !chunks_.empty()) broken("a message outside the chunks");
        inner(op, content, 0, nullptr);
        return;
      case McapOp::kChunk: chunk(at, content); return;
      case McapOp::kMessageIndex: {
        if (chunks_.empty()) return void(broken("an index before the chunk"));
        Chunk& last = chunks_.back();
        const auto channel = in.number<uint16_t>();
        const auto bytes = in.number<uint32_t>();
        std::vector<std::pair<uint64_t, uint64_t>> entries;
        while (!in.done()) {
          const auto time = in.number<uint64_t>();
          entries.push_back({time, in.number<uint64_t>()});
        }
        if (bytes != entries.size() * 16 || entries != last.messages[channel]) broken("a wrong message index");
        if (last.indexes.count(channel) != 0) broken("two indexes of a channel");
        last.indexes[channel] = offset;
        return;
      }
      case McapOp::kDataEnd:
        data_ended_ = true;
        out_.data_bytes = offset;
        summary_at_ = 0;
        return;
      case McapOp::kStatistics: {
        const auto messages = in.number<uint64_t>();
        const auto schemas = in.number<uint16_t>();
        const auto channels = in.number<uint32_t>();
        in.number<uint32_t>();
        if (in.number<uint32_t>() != 1) broken("metadata count");
        if (in.number<uint32_t>() != chunks_.size()) broken("chunk count");
        const auto start = in.number<uint64_t>(), end = in.number<uint64_t>();
        uint64_t least = ~uint64_t{0}, most = 0;
        for (const Chunk& c : chunks_) {
          if (c.messages.empty()) continue;
          least = std::min(least, c.start);
          most = std::max(most, c.end);
        }
        if (messages != messages_ || schemas != schemas_.size() || channels != channels_.size()) broken("statistics");
        if (messages_ != 0 && (start != least || end != most)) broken("statistics' times");
        std::map<uint16_t, uint64_t> counts;
        if (in.number<uint32_t>() % 10 != 0) broken("statistics' map");
        while (!in.done()) {
          const auto channel = in.number<uint16_t>();
          counts[channel] = in.number<uint64_t>();
        }
        if (counts != counts_) broken("statistics' counts");
        return;
      }
      case McapOp::kChunkIndex: {
        Chunk read;
        read.start = in.number<uint64_t>();
        read.end = in.number<uint64_t>();
        read.at = in.number<uint64_t>();
        read.bytes = in.number<uint64_t>();
        uint32_t left = in.number<uint32_t>();
        for (; left >= 10; left -= 10) {
          const auto channel = in.number<uint16_t>();
          read.indexes[channel] = in.number<uint64_t>();
        }
        if (indexed_ >= chunks_.size()) return void(broken("too many chunk indexes"));
        const Chunk& c = chunks_[indexed_++];
        if (read.at != c.at || read.bytes != c.bytes || read.indexes != c.indexes || read.start != c.start ||
            read.end != c.end) {
          broken("a wrong chunk index");
        }
        return;
      }
      case McapOp::kMetadataIndex:
        if (in.number<uint64_t>() != metadata_at_ || in.number<uint64_t>() != metadata_bytes_) broken("metadata index");
        return;
      case McapOp::kFooter: {
        const auto start = in.number<uint64_t>();
        const auto offsets = in.number<uint64_t>();
        const auto crc = in.number<uint32_t>();
        ++out_.footers;
        if (start == 0) {
          if (offsets != 0 || crc != 0 || !chunks_.empty()) broken("a footer without a summary");
        } else {
          if (start != summary_at_ || offsets < start) broken("summary start");
          const size_t from = stream_at_ + start;
          if (crc32(0, bytes_.data() + from, at + 9 + 16 - from) != crc) broken("summary CRC");
          if (indexed_ != chunks_.size()) broken("chunks without an index");
        }
        after_footer_ = true;
        indexed_ = 0;
        return;
      }
      case McapOp::kSummaryOffset: {
        const auto group = in.number<uint8_t>();
        const auto start = in.number<uint64_t>();
        if (static_cast<uint8_t>(bytes_[stream_at_ + start]) != group) broken("summary offset");
        return;
      }
      default: broken("an unknown record");
    }
  }

  void chunk(uint64_t at, const std::string& content) {
    Reader in(content);
    Chunk c;
    c.at = at - stream_at_;
    c.bytes = content.size() + 9;
    c.start = in.number<uint64_t>();
    c.end = in.number<uint64_t>();
    const auto raw = in.number<uint64_t>();
    const auto crc = in.number<uint32_t>();
    if (!in.text().empty()) broken("chunk compression");
    const auto bytes = in.number<uint64_t>();
    const std::string records = in.take(bytes);
    if (!in.ok() || !in.done() || raw != bytes) broken("chunk lengths");
    if (crc != crc32(0, records.data(), records.size())) broken("chunk CRC");
    ++out_.chunks;
    if (inner_records(records, &c) != records.size()) broken("a chunk that ends within a record");
    chunks_.push_back(c);
  }

  // A chunk whose tail is missing still gives its whole messages.
  void cut_chunk(size_t at) {
    if (bytes_.size() - at < kChunkHeaderBytes) return;
    Chunk c;
    inner_records(bytes_.substr(at + kChunkHeaderBytes), &c);
  }

  size_t inner_records(const std::string& records, Chunk* c) {
    size_t at = 0;
    uint64_t least = ~uint64_t{0}, most = 0;
    while (records.size() - at >= 9) {
      const uint64_t length = load_le<uint64_t>(records.data() + at + 1);
      if (length > records.size() - at - 9) break;
      const auto op = static_cast<McapOp>(records[at]);
      if (op != McapOp::kMessage && op != McapOp::kChannel) broken("a chunk with another record");
      const uint64_t time = inner(op, records.substr(at + 9, length), at, c);
      if (op == McapOp::kMessage) {
        least = std::min(least, time);
        most = std::max(most, time);
      }
      at += 9 + length;
    }
    if (c->bytes != 0 && !c->messages.empty() && (c->start != least || c->end != most)) broken("chunk times");
    return at;
  }

  uint64_t inner(McapOp op, const std::string& content, uint64_t offset, Chunk* c) {
    Reader in(content);
    const auto channel = in.number<uint16_t>();
    if (op == McapOp::kChannel) {
      if (!data_ended_) ++out_.channel_records;
      if (schemas_.count(in.number<uint16_t>()) == 0) broken("a channel before its schema");
      if (!data_ended_ && !channels_.insert(channel).second) broken("a channel twice");
      return 0;
    }
    if (channels_.count(channel) == 0) broken("a message before its channel");
    in.number<uint32_t>();
    const auto time = in.number<uint64_t>();
    in.number<uint64_t>();
    const std::string data = content.substr(22);
    std::vector<uint64_t> aligned(data.size() / 8 + 1);
    memcpy(aligned.data(), data.data(), data.size());
    const ConstBytes message(reinterpret_cast<const uint8_t*>(aligned.data()), data.size());
    if (!check_message_crc(message)) broken("a message's CRC");
    const uint64_t seq = seq_of(message);
    if (seq < first_seq_) {
      out_.repeats.push_back(seq);
    } else {
      out_.seqs.push_back(seq);
    }
    if (c != nullptr) c->messages[channel].push_back({time, offset});
    ++messages_;
    ++counts_[channel];
    return time;
  }

  static uint64_t seq_of(ConstBytes message) {
    const auto table = load_le<uint32_t>(message.data);
    const auto vtable = table - static_cast<uint32_t>(load_le<int32_t>(message.data + table));
    return load_le<uint64_t>(message.data + table + load_le<uint16_t>(message.data + vtable + 6));
  }

  const std::string& bytes_;
  Walked out_;
  size_t stream_at_ = 0;
  std::set<uint16_t> schemas_, channels_;
  std::vector<Chunk> chunks_;
  std::map<uint16_t, uint64_t> counts_;
  uint64_t messages_ = 0, first_seq_ = 0, summary_at_ = 0, metadata_at_ = 0, metadata_bytes_ = 0;
  size_t indexed_ = 0;
  bool summary_ = false, data_ended_ = false, after_footer_ = false;
};

}  // namespace

Walked walk(const std::string& bytes) { return Walker(bytes).walk(); }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace dumphook
