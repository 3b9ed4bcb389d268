// SPDX-License-Identifier: Apache-2.0
#include "sink/make_sink.h"

#include <cstring>
#include <new>

#include "sink/sink_log.h"

namespace dumphook {
namespace {

constexpr bool kHasFile = DUMPHOOK_FILE != 0, kHasTcp = DUMPHOOK_TCP != 0;

bool starts_with(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

// "file:PATH", "file:///PATH" or a bare path; NULL when it is something else.
const char* file_path(const char* uri) {
  if (starts_with(uri, "file://")) return uri + 7;
  if (starts_with(uri, "file:")) return uri + 5;
  if (strstr(uri, "://") != nullptr || strcmp(uri, "callback:") == 0) return nullptr;
  return uri;
}

}  // namespace

void SinkHolder::carve(Arena& arena, const dh_options& options) {
  if (!kHasFile || options.sink == nullptr || file_path(options.sink) == nullptr) return;
  const size_t bytes = SegmentIndex::memory_bytes(options.index_bytes, options.max_tensors);
  index_memory_ = Bytes(static_cast<uint8_t*>(arena.take(bytes, kArenaAlign)), bytes);
  ledger_memory_ = {};
  if (options.quota_bytes == 0 && options.on_full != DH_ON_FULL_ROTATE) return;
  const size_t ledger_bytes = SegmentLedger::memory_bytes(options.max_tensors);
  ledger_memory_ = Bytes(static_cast<uint8_t*>(arena.take(ledger_bytes, kArenaAlign)), ledger_bytes);
}

Status SinkHolder::open(const SinkContext& context, const dh_options& options) {
  sink_ = &none_;
  const char* uri = options.sink;
  if (uri == nullptr || uri[0] == '\0') {
    say(context.log, DH_LOG_ERROR, "sink: none is named");
    return DH_ERR_OPTION;
  }
  const char* const path = file_path(uri);
  if (kHasFile && path != nullptr) return open_file(options, context, path);
  if (kHasTcp && starts_with(uri, "tcp://")) return open_tcp(options, context, uri);
  if (strcmp(uri, "callback:") == 0) return open_callback(options, context);
  constexpr const char* kAbsent[] = {"tcp://", "tls://", "tcp-listen://", "tls-listen://"};
  const char* absent = path != nullptr ? "file:" : nullptr;
  for (const char* scheme : kAbsent) {
    if (starts_with(uri, scheme)) absent = scheme;
  }
  if (absent != nullptr) {
    say(context.log, DH_LOG_ERROR, "sink: this build has no %s (DUMPHOOK_FILE, DUMPHOOK_TCP, DUMPHOOK_TLS in CMake)",
        absent);
    return DH_ERR_UNSUPPORTED;
  }
  say(context.log, DH_LOG_ERROR,
      "sink: \"%s\" is none of file:, tcp://, tls://, tcp-listen://, tls-listen://, callback:", uri);
  return DH_ERR_OPTION;
}

Status SinkHolder::open_file(const dh_options& options, const SinkContext& context, const char* path) {
  FileSinkOptions file;
  char bare[FileSink::kPathBytes];
  const char* query = strrchr(path, '?');
  const bool has_query = query != nullptr && starts_with(query, "?overwrite=");
  const size_t bytes = has_query ? static_cast<size_t>(query - path) : strlen(path);
  if (bytes >= sizeof bare) {
    say(context.log, DH_LOG_ERROR, "sink: the file's path is too long");
    return DH_ERR_LIMIT;
  }
  if (has_query && strcmp(query, "?overwrite=1") != 0 && strcmp(query, "?overwrite=0") != 0) {
    say(context.log, DH_LOG_ERROR, "sink: overwrite must be 0 or 1");
    return DH_ERR_OPTION;
  }
  memcpy(bare, path, bytes);
  bare[bytes] = '\0';
  file.path = bare;
  file.overwrite = has_query && query[strlen("?overwrite=")] == '1';
  file.chunk_bytes = options.chunk_bytes;
  file.segment_bytes = options.segment_bytes;
  file.segment_ns = options.segment_ms * kMillisecond;
  file.quota_bytes = options.quota_bytes;
  file.on_full = static_cast<dh_on_full>(options.on_full);
  file.sync = options.sync == DH_SYNC_DEFAULT ? DH_SYNC_CLOSE : static_cast<dh_sync>(options.sync);
  file.sync_interval_ns = options.sync_interval_ms * kMillisecond;
  file.max_tensors = options.max_tensors;
  file.index_memory = index_memory_;
  file.ledger_memory = ledger_memory_;
  auto* sink = ::new (static_cast<void*>(&room_.file)) FileSink;
  const Status status = sink->open(context, file);
  if (status == DH_OK) sink_ = sink;
  return status;
}

Status SinkHolder::open_tcp(const dh_options& options, const SinkContext& context, const char* uri) {
  Address address;
  const char* wrong = parse_address(uri, &address);
  if (wrong == nullptr && address.port == 0) wrong = "port 0 is nobody's";
  Endpoints endpoints;
  if (wrong == nullptr) wrong = resolve(address, false, &endpoints);
  if (wrong != nullptr) {
    say(context.log, DH_LOG_ERROR, "sink: %s: %s", uri, wrong);
    return DH_ERR_ADDRESS;
  }
  if (!is_loopback(endpoints) && (options.flags & DH_FLAG_INSECURE) == 0) {
    say(context.log, DH_LOG_ERROR,
        "sink: %s is another machine, and TCP is plain to everyone on the way: use tls://, or allow it with `insecure`",
        uri);
    return DH_ERR_SECURITY;
  }
  auto* stream = ::new (static_cast<void*>(&room_.tcp)) TcpStream;
  stream->transport.open(endpoints, uri);
  stream->sink.open(context, &stream->transport);
  sink_ = &stream->sink;
  return DH_OK;
}

Status SinkHolder::open_callback(const dh_options& options, const SinkContext& context) {
  if (options.on_bytes == nullptr) {
    say(context.log, DH_LOG_ERROR, "sink: \"callback:\" needs on_bytes");
    return DH_ERR_OPTION;
  }
  auto* stream = ::new (static_cast<void*>(&room_.callback)) CallbackStream;
  stream->transport.open(options.on_bytes, options.on_bytes_user);
  stream->sink.open(context, &stream->transport);
  sink_ = &stream->sink;
  return DH_OK;
}

}  // namespace dumphook
