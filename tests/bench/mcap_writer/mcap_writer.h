/* SPDX-License-Identifier: Apache-2.0
 * The official MCAP writer (crate `mcap`), as a C function. */
#ifndef MCAP_WRITER_H
#define MCAP_WRITER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcap_writer_message {
  const char* topic;
  const uint8_t* data;
  size_t bytes;
} mcap_writer_message;

/* Writes a file with a channel and a message for each, in chunks of 1 MiB, compressed by LZ4 or not; everything else is
 * as the crate has it by default, its CRCs too. 0, or -1 after an error. */
int mcap_writer_write(const char* path, const mcap_writer_message* messages, size_t count, int lz4);

#ifdef __cplusplus
}
#endif
#endif
