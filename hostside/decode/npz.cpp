// SPDX-License-Identifier: Apache-2.0
#include "decode/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "decode/npy.h"
#include "decode/stem.h"
#include "source/file_source.h"

namespace dumphook {
namespace {

constexpr uint32_t kLocalHeader = 0x04034B50, kDirectoryEntry = 0x02014B50, kDirectoryEnd = 0x06054B50;
constexpr size_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46, kDirectoryEndBytes = 22;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kVersion = 20, kDosDate = 0x21;  // 1980-01-01: the same input gives the same file
constexpr uint64_t kMax32 = 0xFFFFFFFEu;
constexpr size_t kMaxEntries = 65534;

template <class... Numbers>
std::string packed(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

uint32_t crc_of(uint32_t crc, ConstBytes bytes) {
  for (size_t done = 0; done < bytes.size;) {
    const size_t step = std::min<size_t>(bytes.size - done, size_t{1} << 30);
    crc = static_cast<uint32_t>(::crc32(crc, bytes.data + done, static_cast<uInt>(step)));
    done += step;
  }
  return crc;
}

}  // namespace

Expected<bool> NpzWriter::put(const void* data, size_t bytes) {
  if (bytes > 0 && std::fwrite(data, 1, bytes, file_) != bytes)
    return Error{std::string("cannot write: ") + strerror(errno), ""};
  offset_ += bytes;
  return true;
}

// The number of bytes written.
Expected<uint64_t> NpzWriter::put_deflated(ConstBytes header, ConstBytes data) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return Error{"zlib cannot start", ""};
  std::vector<uint8_t> out(size_t{1} << 18);
  const uint64_t begin = offset_;
  for (const bool last : {false, true}) {
    const ConstBytes piece = last ? data : header;
    size_t done = 0;
    do {
      const size_t step = std::min<size_t>(piece.size - done, size_t{1} << 30);
      stream.next_in = const_cast<uint8_t*>(piece.data + done);
      stream.avail_in = static_cast<uInt>(step);
      done += step;
      const int flush = last && done == piece.size ? Z_FINISH : Z_NO_FLUSH;
      do {
        stream.next_out = out.data();
        stream.avail_out = static_cast<uInt>(out.size());
        deflate(&stream, flush);
        const Expected<bool> written = put(out.data(), out.size() - stream.avail_out);
        if (!written) {
          deflateEnd(&stream);
          return written.error();
        }
      } while (stream.avail_out == 0);
    } while (done < piece.size);
  }
  deflateEnd(&stream);
  return offset_ - begin;
}

Expected<bool> NpzWriter::add(const std::string& name, ConstBytes header, ConstBytes data) {
  const uint64_t bytes = uint64_t{header.size} + data.size;
  const Error too_large{name + " does not fit: a .npz holds 4 GiB and 65534 arrays",
                        "export as npy, or fewer tensors or frames"};
  if (bytes > kMax32 || offset_ + bytes > kMax32 || entries_.size() >= kMaxEntries || name.size() > 1000)
    return too_large;
  Entry entry{name + ".npy",
              crc_of(crc_of(0, header), data),
              static_cast<uint32_t>(bytes),
              static_cast<uint32_t>(bytes),
              static_cast<uint32_t>(offset_),
              deflate_ ? kDeflated : kStored};
  const auto local = [&entry] {
    return packed(kLocalHeader, kVersion, uint16_t{0}, entry.method, uint16_t{0}, kDosDate, entry.crc,
                  entry.stored_bytes, entry.bytes, static_cast<uint16_t>(entry.name.size()), uint16_t{0}) +
           entry.name;
  };
  std::string head = local();
  if (const auto written = put(head.data(), head.size()); !written) return written.error();
  if (!deflate_) {
    for (const ConstBytes piece : {header, data}) {
      if (const auto written = put(piece.data, piece.size); !written) return written.error();
    }
  } else {
    const Expected<uint64_t> stored = put_deflated(header, data);
    if (!stored) return stored.error();
    if (*stored > kMax32 || offset_ > kMax32) return too_large;
    entry.stored_bytes = static_cast<uint32_t>(*stored);
    head = local();
    if (std::fseek(file_, static_cast<long>(entry.offset), SEEK_SET) != 0 ||
        std::fwrite(head.data(), 1, head.size(), file_) != head.size() || std::fseek(file_, 0, SEEK_END) != 0) {
      return Error{std::string("cannot write: ") + strerror(errno), ""};
    }
  }
  entries_.push_back(std::move(entry));
  return true;
}

Expected<bool> NpzWriter::close() {
  const uint64_t begin = offset_;
  for (const Entry& entry : entries_) {
    const std::string record =
        packed(kDirectoryEntry, kVersion, kVersion, uint16_t{0}, entry.method, uint16_t{0}, kDosDate, entry.crc,
               entry.stored_bytes, entry.bytes, static_cast<uint16_t>(entry.name.size()), uint16_t{0}, uint16_t{0},
               uint16_t{0}, uint16_t{0}, uint32_t{0}, entry.offset) +
        entry.name;
    if (const auto written = put(record.data(), record.size()); !written) return written.error();
  }
  if (offset_ > kMax32) return Error{"the .npz is larger than 4 GiB", "export as npy, or fewer tensors or frames"};
  const uint16_t count = static_cast<uint16_t>(entries_.size());
  const std::string end = packed(kDirectoryEnd, uint16_t{0}, uint16_t{0}, count, count,
                                 static_cast<uint32_t>(offset_ - begin), static_cast<uint32_t>(begin), uint16_t{0});
  return put(end.data(), end.size());
}

Expected<std::vector<Tensor>> read_npz(const std::string& path) {
  Expected<std::shared_ptr<FileSource>> opened = FileSource::open(path);
  if (!opened) return opened.error();
  if (const auto all = (*opened)->drain(); !all) return all.error();
  const FileSource& file = **opened;
  const auto wrong = [&path](const std::string& what) {
    return Error{path + ": not a .npz that can be read: " + what, ""};
  };

  const uint64_t size = file.size();
  std::vector<uint8_t> tail(static_cast<size_t>(std::min<uint64_t>(size, 65536 + kDirectoryEndBytes)));
  if (file.read(size - tail.size(), tail.data(), tail.size()) != 0) return wrong("it cannot be read");
  size_t end = tail.size();
  for (size_t i = tail.size() < kDirectoryEndBytes ? 0 : tail.size() - kDirectoryEndBytes + 1; i-- > 0;) {
    if (load_le<uint32_t>(tail.data() + i) == kDirectoryEnd) {
      end = i;
      break;
    }
  }
  if (end == tail.size()) return wrong("its directory is missing");
  const size_t count = load_le<uint16_t>(tail.data() + end + 10);
  const uint64_t directory_bytes = load_le<uint32_t>(tail.data() + end + 12);
  const uint64_t directory_at = load_le<uint32_t>(tail.data() + end + 16);
  if (directory_at == 0xFFFFFFFFu || count == 0xFFFF) return wrong("it uses the 64-bit zip format");
  if (directory_at > size || directory_bytes > size - directory_at) return wrong("its directory is cut off");
  std::vector<uint8_t> directory(static_cast<size_t>(directory_bytes));
  if (file.read(directory_at, directory.data(), directory.size()) != 0) return wrong("its directory cannot be read");

  std::vector<Tensor> tensors;
  ConstBytes rest(directory.data(), directory.size());
  for (size_t i = 0; i < count; ++i) {
    if (rest.size < kDirectoryEntryBytes || load_le<uint32_t>(rest.data) != kDirectoryEntry)
      return wrong("its directory is damaged");
    const uint16_t method = load_le<uint16_t>(rest.data + 10);
    const uint32_t crc = load_le<uint32_t>(rest.data + 16);
    const uint64_t stored_bytes = load_le<uint32_t>(rest.data + 20);
    const uint64_t bytes = load_le<uint32_t>(rest.data + 24);
    const size_t name_bytes = load_le<uint16_t>(rest.data + 28);
    const size_t skip = name_bytes + load_le<uint16_t>(rest.data + 30) + load_le<uint16_t>(rest.data + 32);
    const uint64_t local = load_le<uint32_t>(rest.data + 42);
    if (rest.size - kDirectoryEntryBytes < skip) return wrong("its directory is damaged");
    std::string name(reinterpret_cast<const char*>(rest.data + kDirectoryEntryBytes), name_bytes);
    rest = rest.from(kDirectoryEntryBytes + skip);
    if (stored_bytes == 0xFFFFFFFFu || bytes == 0xFFFFFFFFu) return wrong("it uses the 64-bit zip format");
    if (name.size() < 4 || name.compare(name.size() - 4, 4, ".npy") != 0) continue;

    uint8_t head[kLocalHeaderBytes];
    if (file.read(local, head, sizeof head) != 0 || load_le<uint32_t>(head) != kLocalHeader)
      return wrong(name + " is missing");
    const uint64_t data_at = local + sizeof head + load_le<uint16_t>(head + 26) + load_le<uint16_t>(head + 28);
    if (data_at > size || stored_bytes > size - data_at) return wrong(name + " is cut off");
    std::vector<uint8_t> stored(static_cast<size_t>(stored_bytes));
    if (file.read(data_at, stored.data(), stored.size()) != 0) return wrong(name + " cannot be read");
    std::vector<uint8_t> plain;
    if (method == kStored) {
      if (stored_bytes != bytes) return wrong(name + " is damaged");
      plain = std::move(stored);
    } else if (method == kDeflated) {
      if (bytes > 1040 * stored_bytes + 1024) return wrong(name + " cannot decode to the size it says");
      plain.resize(static_cast<size_t>(bytes));
      z_stream stream{};
      if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return wrong("zlib cannot start");
      stream.next_in = stored.data();
      stream.avail_in = static_cast<uInt>(stored.size());
      stream.next_out = plain.data();
      stream.avail_out = static_cast<uInt>(plain.size());
      const int result = inflate(&stream, Z_FINISH);
      const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
      inflateEnd(&stream);
      if (!whole) return wrong(name + " is damaged");
    } else {
      return wrong(name + " is compressed with method " + std::to_string(method));
    }
    if (crc_of(0, ConstBytes(plain.data(), plain.size())) != crc)
      return wrong(name + " is damaged: its CRC does not match");
    Expected<Tensor> tensor = parse_npy(ConstBytes(plain.data(), plain.size()));
    if (!tensor) return wrong(name + ": " + tensor.error().what);
    name.resize(name.size() - 4);
    tensor->descriptor.name = name_of_stem(name);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

}  // namespace dumphook
