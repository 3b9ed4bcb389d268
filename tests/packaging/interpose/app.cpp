// SPDX-License-Identifier: Apache-2.0
// Its own lz4, mbedTLS and FlatBuffers answer it, and nobody else, while it captures.
#include <flatbuffers/flatbuffers.h>

int own_flatbuffers_calls;
extern "C" int own_lz4_calls, own_mbedtls_calls;
extern "C" int LZ4_compress_fast_extState(void*, const char*, char*, int, int, int);
extern "C" int mbedtls_ssl_write(void);

#define main consumer_main
extern "C" {
#include "main.c"
}
#undef main

static bool own_libraries_answer(int calls) {
  flatbuffers::Table table;
  const bool own = !table.VerifyField<uint64_t>(flatbuffers::Verifier(), 4, 8) && mbedtls_ssl_write() == -1 &&
                   LZ4_compress_fast_extState(nullptr, nullptr, nullptr, 0, 0, 0) == 1;
  return own && own_flatbuffers_calls == calls && own_lz4_calls == calls && own_mbedtls_calls == calls;
}

int main(int argc, char** argv) {
  if (!own_libraries_answer(1)) return 100;
  const int status = consumer_main(argc, argv);
  if (status != 0) return status;
  return own_libraries_answer(2) ? 0 : 101;  // the second call each: the capture made none
}
