// SPDX-License-Identifier: Apache-2.0
// SinkHolder: the sink that dh_options.sink names, in fixed room.
#pragma once

#include "base/arena.h"
#include "sink/file_sink.h"
#include "sink/stream_sink.h"

namespace dumphook {

class SinkHolder {
 public:
  // Takes what the sink of options.sink needs besides the holder itself: room for chunk indexes and
  // for the books of segments, file sinks only. `arena` may only measure. Also right for options that open() will
  // refuse.
  void carve(Arena& arena, const dh_options& options);

  // Opens the sink of options.sink; the options have no zeros left that mean a default. The context's log has said what
  // is wrong when it is not DH_OK: DH_ERR_OPTION, DH_ERR_ADDRESS, DH_ERR_SECURITY, DH_ERR_SINK, DH_ERR_LIMIT,
  // DH_ERR_MEMORY, DH_ERR_UNSUPPORTED. May block while a host's name is resolved. Afterwards nothing is allocated.
  Status open(const SinkContext& context, const dh_options& options);

  // Never NULL. Before open(), and when it failed, it is a sink that takes nothing.
  Sink* get() const { return sink_; }

 private:
  struct None final : Sink {
    None() { state_ = SinkState::failed; }
  };
  struct TcpStream {
    StreamSink sink;
    TcpTransport transport;
  };
  struct CallbackStream {
    StreamSink sink;
    CallbackTransport transport;
  };
  // No constructor runs before open() chooses one.
  union Room {
    Room() {}
    FileSink file;
    TcpStream tcp;
    CallbackStream callback;
  };

  Status open_file(const dh_options& options, const SinkContext& context, const char* path);
  Status open_tcp(const dh_options& options, const SinkContext& context, const char* uri);
  Status open_callback(const dh_options& options, const SinkContext& context);

  None none_;
  Sink* sink_ = &none_;
  Bytes index_memory_;
  Bytes ledger_memory_;
  Room room_;
};

}  // namespace dumphook
