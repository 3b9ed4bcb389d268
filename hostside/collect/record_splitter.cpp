// SPDX-License-Identifier: Apache-2.0
#include "collect/record_splitter.h"

#include "wire/format.h"

namespace dumphook {

Bytes RecordSplitter::room(size_t bytes) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (buffer_.size() - end_ < bytes && begin_ >= buffer_.size() / 2) {
    memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < bytes)
    buffer_.resize(end_ + bytes > 2 * buffer_.size() ? end_ + bytes : 2 * buffer_.size());
  return Bytes(buffer_.data() + end_, buffer_.size() - end_);
}

void RecordSplitter::add(ConstBytes bytes) {
  if (bytes.empty()) return;
  memcpy(room(bytes.size).data, bytes.data, bytes.size);
  filled(bytes.size);
}

RecordSplitter::Step RecordSplitter::next() {
  const ConstBytes rest(buffer_.data() + begin_, end_ - begin_);
  size_t bytes = 0;
  Step step = Step::record;
  if (rest.size >= sizeof kMcapMagic && memcmp(rest.data, kMcapMagic, sizeof kMcapMagic) == 0) {
    bytes = sizeof kMcapMagic;
    step = Step::magic;
  } else {
    if (rest.size < kRecordPrefixBytes) return Step::more;
    const uint64_t length = load_le<uint64_t>(rest.data + 1);
    if (length > kMaxRecordBytes || rest[0] == 0) return Step::broken;
    if (length > rest.size - kRecordPrefixBytes) return Step::more;
    bytes = kRecordPrefixBytes + static_cast<size_t>(length);
  }
  whole_ = rest.first(bytes);
  begin_ += bytes;
  position_ += bytes;
  return step;
}

}  // namespace dumphook
