/* SPDX-License-Identifier: Apache-2.0
 * The application's own lz4, which compresses nothing and remembers who asked. */
int own_lz4_calls;

int LZ4_compress_fast_extState(void* state, const char* source, char* target, int size, int capacity, int acceleration);
int LZ4_compress_fast_extState(void* state, const char* source, char* target, int size, int capacity,
                               int acceleration) {
  (void)state, (void)source, (void)target, (void)size, (void)capacity, (void)acceleration;
  ++own_lz4_calls;
  return 1;
}

int LZ4_compress_default(const char* source, char* target, int size, int capacity);
int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
  return LZ4_compress_fast_extState(0, source, target, size, capacity, 1);
}

int LZ4_decompress_safe(const char* source, char* target, int size, int capacity);
int LZ4_decompress_safe(const char* source, char* target, int size, int capacity) {
  (void)source, (void)target, (void)size, (void)capacity;
  ++own_lz4_calls;
  return -1;
}

int LZ4_compressBound(int size);
int LZ4_compressBound(int size) { return size; }
int LZ4_sizeofState(void);
int LZ4_sizeofState(void) { return 8; }
