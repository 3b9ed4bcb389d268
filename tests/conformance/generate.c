/* SPDX-License-Identifier: Apache-2.0
 *
 * generate SCENARIO SINK TRUTH: makes a capture through the public API, and says in the folder TRUTH what went in.
 *
 * TRUTH/<n>.raw are the dense bytes of the n-th capture, laid out by this program and not by the library; truth.jsonl
 * has one line for each, names as hexadecimal. What a reader must find is there and nowhere else.
 *
 *   zoo       every dtype, shape, layout and name that the format knows; overlapping frames
 *   steady    the same small tensors for 200 frames: segments, streams
 *   quota     steady with a quota_bytes that holds a part of it
 *   losses    a pool that is too small, on purpose
 *   crash     steady, then SIGKILL after a flush
 *   slow      steady, with a pause after each frame: a stream to be cut
 *   tiny      one 2 x 2 tensor
 *   shapes    one tensor of each kind, few bytes each
 *   packed    activations of every type, made so that each kind of block is chosen
 */
#define _POSIX_C_SOURCE 200809L
#include <dumphook/dumphook.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static dh_session* session;
static const char* truth_folder;
static FILE* truth;
static unsigned captures;

static void die(const char* what, int status) {
  fprintf(stderr, "generate: %s: %s\n", what, dh_status_text((dh_status)status));
  exit(1);
}

static void print_log(void* user, dh_log_level level, const char* text) {
  (void)user;
  if (level != DH_LOG_INFO) fprintf(stderr, "generate: log: %s\n", text);
}

/* ---------------------------------------------------------------------------------------------------- truth */

static void put_hex(const char* key, const char* text) {
  fprintf(truth, "\"%s\": \"", key);
  for (; text != NULL && *text != '\0'; ++text) fprintf(truth, "%02x", (unsigned char)*text);
  fputs("\", ", truth);
}

static void put_numbers(const char* key, const int64_t* values, uint32_t count) {
  uint32_t i;
  fprintf(truth, "\"%s\": [", key);
  for (i = 0; i < count; ++i) fprintf(truth, "%s%lld", i != 0 ? ", " : "", (long long)values[i]);
  fputs("], ", truth);
}

static void put_truth(uint64_t frame, const dh_tensor* t, uint32_t occurrence, const void* dense, size_t bytes,
                      int status) {
  char path[4096];
  FILE* raw;
  uint32_t i;
  const int has_strides = t->strides[0] != 0;
  snprintf(path, sizeof path, "%s/%u.raw", truth_folder, captures);
  raw = fopen(path, "wb");
  if (raw == NULL || (bytes != 0 && fwrite(dense, 1, bytes, raw) != bytes) || fclose(raw) != 0) die(path, DH_ERR_SINK);
  fprintf(truth, "{\"raw\": \"%u.raw\", \"status\": %d, \"frame\": %llu, \"instance\": %u, \"occurrence\": %u, ",
          captures++, status, (unsigned long long)frame, (unsigned)t->instance, (unsigned)occurrence);
  put_hex("model", t->model == NULL ? "model" : t->model);
  put_hex("name", t->name);
  put_hex("op", t->op);
  put_hex("raw_type", t->raw_type);
  fputs("\"origin_names\": [", truth);
  for (i = 0; i < t->origin_count; ++i) fprintf(truth, "%s\"%s\"", i != 0 ? ", " : "", t->origin_names[i]);
  fputs("], ", truth);
  put_numbers("shape", t->shape, t->rank);
  put_numbers("logical_shape", t->logical_shape, t->logical_rank);
  put_numbers("strides", t->strides, has_strides ? t->rank : 0);
  fputs("\"planes\": [", truth);
  for (i = 0; i < t->plane_count; ++i) {
    fprintf(truth, "%s[%llu, %llu, %llu]", i != 0 ? ", " : "", (unsigned long long)t->planes[i].row_stride,
            (unsigned long long)t->planes[i].row_bytes, (unsigned long long)t->planes[i].rows);
  }
  fprintf(
      truth,
      "], \"dtype\": %u, \"role\": %u, \"layout\": %u, \"node_index\": %d, \"output_slot\": %d, \"quant\": [%u, %d, [",
      (unsigned)t->dtype, (unsigned)t->role, (unsigned)t->layout, (int)t->node_index, (int)t->output_slot,
      (unsigned)t->quant.kind, t->quant.kind == DH_QUANT_PER_AXIS ? (int)t->quant.axis : -1);
  for (i = 0; i < t->quant.count; ++i) fprintf(truth, "%s%.9g", i != 0 ? ", " : "", (double)t->quant.scale[i]);
  fputs("], [", truth);
  for (i = 0; t->quant.zero_point != NULL && i < t->quant.count; ++i) {
    fprintf(truth, "%s%d", i != 0 ? ", " : "", (int)t->quant.zero_point[i]);
  }
  fputs("]]}\n", truth);
}

/* ---------------------------------------------------------------------------------------------------- tensors */

static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

static void* noise(size_t bytes) {
  size_t i;
  unsigned char* data = malloc(bytes + 1);
  if (data == NULL) die("memory", DH_ERR_MEMORY);
  for (i = 0; i < bytes; ++i) data[i] = (unsigned char)next_random();
  return data;
}

/* Activations after ReLU: half of them zero. */
static float* activations(size_t count) {
  size_t i;
  float* data = malloc(count * sizeof *data + 1);
  if (data == NULL) die("memory", DH_ERR_MEMORY);
  for (i = 0; i < count; ++i) {
    const uint32_t r = next_random();
    data[i] = r & 1u ? (float)(r % 4096u) / 64.0f : 0.0f;
  }
  return data;
}

static dh_tensor named(const char* name, uint32_t dtype, uint32_t rank, const int64_t* shape) {
  uint32_t i;
  dh_tensor t = dh_tensor_default();
  t.name = name;
  t.dtype = dtype;
  t.rank = rank;
  for (i = 0; i < rank; ++i) t.shape[i] = shape[i];
  return t;
}

typedef struct frame_pair {
  dh_frame handle;
  uint64_t number;
} frame_pair;

static frame_pair begin_frame(uint64_t number) {
  frame_pair frame;
  dh_frame_info info = dh_frame_info_default();
  info.number = number;
  info.number_given = 1;
  info.model = "face/detect";
  info.capture_time_ns = 1000 + number;
  frame.number = number;
  frame.handle = dh_frame_begin(session, &info);
  return frame;
}

/* Captures `t`, whose dense form is `dense`. */
static void put(frame_pair frame, const dh_tensor* t, uint32_t occurrence, const void* dense, size_t bytes) {
  dh_tensor copy = *t;
  int status;
  if (copy.data == NULL && copy.plane_count == 0) copy.data = dense;
  status = dh_capture_by_name(session, frame.handle, &copy);
  if (status < 0) die(t->name, status);
  put_truth(frame.number, &copy, occurrence, dense, bytes, status);
}

static size_t element_bits(uint32_t dtype) {
  static const unsigned char bits[] = {8, 64, 32, 16, 16, 8, 8, 64, 64, 32, 32, 16, 16, 8, 8, 8, 4, 4};
  return bits[dtype];
}

static const char* const kWeirdNames[] = {"a/b",
                                          "100%",
                                          "tab\there",
                                          "line\nbreak",
                                          "del\x7f",
                                          "\xff\xfe not UTF-8",
                                          "cut \xe5\xb1",
                                          "overlong \xc0\xaf",
                                          "surrogate \xed\xa0\x80",
                                          "\xe5\xb1\x82/\xc3\xbc",
                                          "\xf0\x9f\x90\xb6",
                                          " spaces ",
                                          "..",
                                          "%2F",
                                          "quote\"back\\slash",
                                          "\x01"};

static void zoo_frame(frame_pair frame, unsigned index) {
  static const char* const dtype_names[] = {"raw", "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "u64",
                                            "i32", "u32", "i16", "u16", "i8",   "u8",     "bool",   "i4",  "u4"};
  uint32_t i;
  void* data;

  /* Each dtype, odd shape: 15 elements, so that int4 ends in half a byte. */
  for (i = 0; i <= DH_U4; ++i) {
    const int64_t shape[] = {3, 5};
    const size_t bytes = (15 * element_bits(i) + 7) / 8;
    char name[32];
    dh_tensor t;
    unsigned char* bits = data = noise(bytes);
    if (i == DH_BOOL) {
      size_t k;
      for (k = 0; k < bytes; ++k) bits[k] &= 1;
    }
    if (element_bits(i) == 4) bits[bytes - 1] &= 15;
    snprintf(name, sizeof name, "dtype_%s", dtype_names[i]);
    t = named(name, i, 2, shape);
    if (i == DH_RAW) {
      t.rank = 1;
      t.shape[0] = 15;
      t.raw_type = "opaque";
    }
    put(frame, &t, 0, data, bytes);
    free(data);
  }

  { /* Every field of the descriptor. */
    static const char* const origins[] = {"backbone/conv1", "backbone/relu1"};
    dh_tensor t = named("conv1/out", DH_F32, 4, (const int64_t[]){1, 8, 16, 16});
    t.model = "face/detect";
    t.op = "Conv2D";
    t.origin_names = origins;
    t.origin_count = 2;
    t.layout = DH_LAYOUT_NCHW;
    t.role = DH_ROLE_OUTPUT;
    t.logical_rank = 4;
    t.logical_shape[0] = 1;
    t.logical_shape[1] = 6;
    t.logical_shape[2] = 16;
    t.logical_shape[3] = 16;
    t.node_index = 7;
    t.output_slot = 1;
    t.instance = 3;
    data = activations(8 * 16 * 16);
    put(frame, &t, 0, data, 8 * 16 * 16 * 4);
    put(frame, &t, 1, data, 8 * 16 * 16 * 4); /* the same name again in one frame */
    free(data);
  }
  { /* Ranks. */
    const float scalar = 3.5f + (float)index;
    dh_tensor t = named("scalar", DH_F32, 0, NULL);
    put(frame, &t, 0, &scalar, 4);
    t = named("empty", DH_F32, 2, (const int64_t[]){0, 4});
    put(frame, &t, 0, "", 0);
    t = named("rank8", DH_I16, 8, (const int64_t[]){1, 2, 1, 2, 1, 2, 1, 2});
    data = noise(32);
    put(frame, &t, 0, data, 32);
    free(data);
  }
  { /* Quantization. */
    static const float scales[] = {0.1f, 0.25f, 1e-5f, 3.0f};
    static const int32_t zeros[] = {0, -3, 127, -128};
    dh_tensor t = named("per_axis", DH_I8, 3, (const int64_t[]){4, 3, 2});
    t.quant.kind = DH_QUANT_PER_AXIS;
    t.quant.axis = 0;
    t.quant.count = 4;
    t.quant.scale = scales;
    t.quant.zero_point = zeros;
    data = noise(24);
    put(frame, &t, 0, data, 24);
    t = named("per_tensor", DH_U8, 1, (const int64_t[]){24});
    t.quant.kind = DH_QUANT_PER_TENSOR;
    t.quant.count = 1;
    t.quant.scale = scales;
    put(frame, &t, 0, data, 24);
    free(data);
  }
  { /* A shape that changes from frame to frame, and back. */
    const int64_t shape[] = {1, 4 + (int64_t)(index % 2)};
    dh_tensor t = named("dynamic", DH_F32, 2, shape);
    data = activations(8);
    put(frame, &t, 0, data, (size_t)shape[1] * 4);
    free(data);
  }
  { /* Transposed, and with padded rows. */
    float stored[4][8], dense[6][4];
    int r, c;
    dh_tensor t = named("strided", DH_F32, 2, (const int64_t[]){6, 4});
    for (r = 0; r < 4; ++r) {
      for (c = 0; c < 8; ++c) stored[r][c] = (float)(10 * r + c + 100 * (int)index);
    }
    for (r = 0; r < 6; ++r) {
      for (c = 0; c < 4; ++c) dense[r][c] = stored[c][r];
    }
    t.strides[0] = 4;
    t.strides[1] = 32;
    t.data = stored;
    t.data_bytes = sizeof stored;
    put(frame, &t, 0, dense, sizeof dense);
  }
  { /* NV12, 6 x 4, rows padded to 8. */
    unsigned char y[4][8], uv[2][8], dense[36];
    int r;
    dh_tensor t = named("camera", DH_U8, 3, (const int64_t[]){1, 6, 6});
    for (r = 0; r < 32; ++r) y[r / 8][r % 8] = (unsigned char)next_random();
    for (r = 0; r < 16; ++r) uv[r / 8][r % 8] = (unsigned char)next_random();
    for (r = 0; r < 4; ++r) memcpy(dense + 6 * r, y[r], 6);
    for (r = 0; r < 2; ++r) memcpy(dense + 24 + 6 * r, uv[r], 6);
    t.role = DH_ROLE_INPUT;
    t.layout = DH_LAYOUT_NV12;
    t.plane_count = 2;
    t.planes[0].data = y;
    t.planes[0].row_stride = 8;
    t.planes[0].row_bytes = 6;
    t.planes[0].rows = 4;
    t.planes[1].data = uv;
    t.planes[1].row_stride = 8;
    t.planes[1].row_bytes = 6;
    t.planes[1].rows = 2;
    put(frame, &t, 0, dense, sizeof dense);
  }
  { /* Text. */
    const char* words = "person 0.97 [10, 20, 30, 40]";
    const int64_t length = (int64_t)strlen(words);
    dh_tensor t = named("detections", DH_U8, 1, &length);
    t.role = DH_ROLE_POSTPROCESSED;
    t.layout = DH_LAYOUT_TEXT;
    put(frame, &t, 0, words, strlen(words));
  }
  for (i = 0; i < sizeof kWeirdNames / sizeof kWeirdNames[0]; ++i) {
    const int64_t one = 1;
    dh_tensor t = named(kWeirdNames[i], DH_U32, 1, &one);
    if (i % 2 == 1) t.model = kWeirdNames[i - 1];
    put(frame, &t, 0, &i, 4);
  }
  { /* The longest name. */
    char name[DH_MAX_NAME_BYTES + 1];
    dh_tensor t;
    memset(name, '%', DH_MAX_NAME_BYTES);
    name[DH_MAX_NAME_BYTES] = '\0';
    t = named(name, DH_U32, 0, NULL);
    put(frame, &t, 0, &i, 4);
  }
  if (index == 0) { /* Several parts: noise, which LZ4 leaves alone, and zeros, which it does not. */
    const size_t bytes = 3 * 512 * 512 * 4 + 20;
    dh_tensor t = named("big/noise", DH_F32, 1, (const int64_t[]){3 * 512 * 512 + 5});
    data = noise(bytes);
    put(frame, &t, 0, data, bytes);
    memset(data, 0, bytes);
    t.name = "big/zeros";
    put(frame, &t, 0, data, bytes);
    free(data);
  }
}

static void declare(void) {
  static const char* const inputs[] = {"image"};
  static const char* const middle[] = {"conv1/out"};
  static const char* const outputs[] = {"scores"};
  dh_node nodes[2];
  dh_model model = dh_model_default();
  memset(nodes, 0, sizeof nodes);
  nodes[0].name = "conv1";
  nodes[0].op = "Conv2D";
  nodes[0].inputs = inputs;
  nodes[0].input_count = 1;
  nodes[0].outputs = middle;
  nodes[0].output_count = 1;
  nodes[0].backend = "cpu";
  nodes[1].name = "head";
  nodes[1].op = "FullyConnected";
  nodes[1].inputs = middle;
  nodes[1].input_count = 1;
  nodes[1].outputs = outputs;
  nodes[1].output_count = 1;
  nodes[1].backend = "npu";
  nodes[1].visibility = DH_INSIDE_DELEGATE;
  nodes[1].index = 1;
  model.name = "face/detect";
  model.hash = "0123456789abcdef";
  model.nodes = nodes;
  model.node_count = 2;
  if (dh_declare_model(session, &model) != DH_OK) die("declare_model", DH_ERR_ARGUMENT);
}

static void attribute(uint32_t scope, const char* model, const char* tensor, dh_frame frame, const char* key,
                      const char* value) {
  dh_attr_target target = dh_attr_target_default();
  dh_status status;
  target.scope = scope;
  target.model = model;
  target.tensor = tensor;
  target.frame = frame;
  status = dh_attr(session, &target, key, value);
  if (status != DH_OK) die(key, status);
}

static void zoo(void) {
  unsigned i;
  declare();
  attribute(DH_ATTR_SESSION, NULL, NULL, 0, "converter", "1.2.3");
  attribute(DH_ATTR_TENSOR, "face/detect", "conv1/out", 0, "precision_mode", "fp16");
  for (i = 0; i < 2; ++i) {
    const frame_pair first = begin_frame(100 + 2 * i), second = begin_frame(101 + 2 * i);
    attribute(DH_ATTR_FRAME, NULL, NULL, first.handle, "crop", "0,0,10,10");
    zoo_frame(first, 2 * i);
    zoo_frame(second, 2 * i + 1);
    dh_frame_end(session, second.handle);
    dh_frame_end(session, first.handle);
  }
  if (dh_configure(session, "exclude = dtype_*\n") != DH_OK) die("configure", DH_ERR_OPTION);
  zoo_frame(begin_frame(1ull << 40), 4); /* and never ended */
}

/* ---------------------------------------------------------------------------------------------------- scenarios */

static void steady_frame(unsigned number, size_t elements) {
  const int64_t shape[] = {1, (int64_t)elements};
  const frame_pair frame = begin_frame(number);
  dh_tensor t = named("pool/out", DH_F64, 2, shape);
  void* data = noise(elements * 8);
  put(frame, &t, 0, data, elements * 8);
  free(data);
  if (number >= 3) { /* a tensor that comes later than the others */
    t = named("late", DH_F32, 2, shape);
    data = activations(elements);
    put(frame, &t, 0, data, elements * 4);
    free(data);
  }
  dh_frame_end(session, frame.handle);
}

static void losses(void) {
  unsigned i;
  for (i = 0; i < 3; ++i) {
    const frame_pair frame = begin_frame(i);
    const int64_t few = 100, many = 1 << 20;
    dh_tensor t = named("fits", DH_F32, 1, &few);
    void* data = activations(1 << 20);
    put(frame, &t, 0, data, 400);
    t = named("too_big", DH_F32, 1, &many);
    put(frame, &t, 0, data, 4 << 20);
    free(data);
    dh_frame_end(session, frame.handle);
  }
}

static void tiny(void) {
  static const float values[] = {1.0f, -2.0f, 0.5f, 65504.0f};
  const frame_pair frame = begin_frame(1);
  dh_tensor t = named("logits", DH_F32, 2, (const int64_t[]){2, 2});
  t.model = "m";
  put(frame, &t, 0, values, sizeof values);
  dh_frame_end(session, frame.handle);
}

static void shapes(void) {
  const frame_pair frame = begin_frame(1);
  static const float scales[] = {0.5f, 0.25f};
  static const int32_t zeros[] = {3, -1};
  float* data;
  dh_tensor t = named("int4", DH_I4, 2, (const int64_t[]){3, 3});
  declare();
  attribute(DH_ATTR_TENSOR, "face/detect", "conv1/out", 0, "precision_mode", "fp16");
  put(frame, &t, 0, "\x10\x32\x54\x76\x08", 5);
  t = named("scalar", DH_F64, 0, NULL);
  put(frame, &t, 0, "\0\0\0\0\0\0\xf0\x3f", 8);
  t = named("empty", DH_F16, 2, (const int64_t[]){0, 4});
  put(frame, &t, 0, "", 0);
  t = named("per_axis", DH_I8, 2, (const int64_t[]){2, 3});
  t.quant.kind = DH_QUANT_PER_AXIS;
  t.quant.count = 2;
  t.quant.scale = scales;
  t.quant.zero_point = zeros;
  put(frame, &t, 0, "\x01\x02\x03\xff\xfe\xfd", 6);
  t = named("odd/name%\xff", DH_RAW, 1, (const int64_t[]){3});
  t.raw_type = "jpeg";
  put(frame, &t, 0, "abc", 3);
  t = named("conv1/out", DH_F32, 4, (const int64_t[]){1, 2, 24, 48}); /* 9 KiB: parts, and LZ4 */
  t.model = "face/detect";
  t.op = "Conv2D";
  t.layout = DH_LAYOUT_NCHW;
  data = activations(2 * 24 * 48);
  put(frame, &t, 0, data, 2 * 24 * 48 * 4);
  free(data);
  t = named("later", DH_BF16, 1, (const int64_t[]){2});
  put(frame, &t, 0, "\x80\x3f\x00\xc0", 4);
  put(frame, &t, 1, "\x80\x3f\x00\xc0", 4);
  dh_frame_end(session, frame.handle);
}

/* ---------------------------------------------------------------------------------------------------- activations */

typedef enum content { RELU, CONV, QUANTIZED, ROWS, SPECIAL, NOISE, ALL_ZERO, CONTENT_COUNT } content;
static const char* const kContentNames[] = {"relu", "conv", "quantized", "rows", "special", "noise", "zero"};

/* Like the values of a layer: a sum of uniform numbers, in steps of 2^-20. */
static float bell(void) {
  int32_t sum = 0;
  unsigned i;
  for (i = 0; i < 12; ++i) sum += (int32_t)(next_random() & 0xFFFFF) - (1 << 19);
  return (float)sum / (float)(1 << 20);
}

/* The bits of `value`, cut to the type. Integers: 16 steps to the unit. */
static uint64_t element(float value, uint32_t dtype) {
  uint32_t bits, sign;
  int32_t exponent;
  uint64_t wide;
  double as_double = (double)value;
  memcpy(&bits, &value, sizeof bits);
  sign = bits >> 31;
  exponent = (int32_t)(bits >> 23 & 255) - 127;
  switch (dtype) {
    case DH_F64: memcpy(&wide, &as_double, sizeof wide); return wide;
    case DH_F32: return bits;
    case DH_BF16: return bits >> 16;
    case DH_F16:
      return exponent < -14 ? sign << 15 : sign << 15 | (uint32_t)(exponent + 15) << 10 | (bits >> 13 & 1023);
    case DH_F8E5M2: return exponent < -14 ? sign << 7 : sign << 7 | (uint32_t)(exponent + 15) << 2 | (bits >> 21 & 3);
    case DH_F8E4M3: return exponent < -6 ? sign << 7 : sign << 7 | (uint32_t)(exponent + 7) << 3 | (bits >> 20 & 7);
    default: return fabsf(value) < 1e9f ? (uint64_t)(int64_t)(value * 16) : 0;
  }
}

static uint64_t activation(content kind, uint32_t dtype, size_t index, const float* row) {
  const uint64_t ones = ~0ull >> (64 - (element_bits(dtype) < 8 ? 8 : element_bits(dtype)));
  const float value = bell();
  switch (kind) {
    case RELU: return value > 0 ? element(value, dtype) : 0;
    case CONV: return element(value, dtype);
    case QUANTIZED: return (uint64_t)(int64_t)(value > 0 ? value * 40 : 0) - 27; /* zero point -27 */
    case ROWS: return element(index % 500 == 499 ? value : row[index % 24], dtype);
    case SPECIAL: /* zeros, NaNs with payloads, infinities, denormals, and any bits */
      switch (next_random() % 8) {
        case 0: return 0;
        case 1: return ones - (ones >> 1); /* -0 */
        case 2: return 1 + next_random() % 3;
        case 3: return ones - (ones >> 1) + 1 + next_random() % 3;
        case 4: return (ones >> 1) - next_random() % 3;
        case 5: return ones - next_random() % 3;
        case 6: return element(HUGE_VALF, dtype);
        default: return next_random();
      }
    case NOISE: return (uint64_t)next_random() << 40 ^ (uint64_t)next_random() << 20 ^ next_random();
    default: return 0;
  }
}

static void packed(void) {
  static const size_t counts[] = {7, 100, 9003};
  const frame_pair frame = begin_frame(1);
  unsigned dtype, kind, size, i;
  for (dtype = DH_RAW; dtype <= DH_BOOL; ++dtype) {
    const size_t width = element_bits(dtype) / 8;
    for (kind = 0; kind < CONTENT_COUNT; ++kind) {
      for (size = 0; size < 3; ++size) {
        const size_t count = counts[size] * (size == 2 && width < 4 ? 4 : 1);
        const int64_t shape = (int64_t)count;
        unsigned char* data = malloc(count * width);
        float row[24];
        size_t k;
        char name[64];
        dh_tensor t;
        if (data == NULL) die("memory", DH_ERR_MEMORY);
        for (i = 0; i < 24; ++i) row[i] = bell();
        for (k = 0; k < count; ++k) {
          uint64_t bits = activation((content)kind, dtype, k, row);
          if (dtype == DH_BOOL) bits &= 1;
          memcpy(data + k * width, &bits, width);
        }
        snprintf(name, sizeof name, "%s/%u/%u", kContentNames[kind], dtype, (unsigned)count);
        t = named(name, dtype, 1, &shape);
        if (dtype == DH_RAW) t.raw_type = "opaque";
        put(frame, &t, 0, data, count * width);
        free(data);
      }
    }
  }
  dh_frame_end(session, frame.handle);
}

int main(int argc, char** argv) {
  char path[4096];
  unsigned i;
  int status;
  dh_options options = dh_options_default();
  if (argc != 4) {
    fprintf(stderr, "usage: generate SCENARIO SINK TRUTH\n");
    return 2;
  }
  truth_folder = argv[3];
  snprintf(path, sizeof path, "%s/truth.jsonl", truth_folder);
  truth = fopen(path, "w");
  if (truth == NULL) die(path, DH_ERR_SINK);

  options.sink = argv[2];
  options.include = "*";
  options.policy = DH_POLICY_BLOCK;
  options.block_timeout_ms = 60000;
  options.close_ms = 60000;
  options.hello_ms = 50;
  options.board = "test board";
  options.flags = DH_FLAG_DIGEST;
  options.on_log = print_log;
  options.model_hash = "0123456789abcdef";
  if (strcmp(argv[1], "steady") == 0 || strcmp(argv[1], "quota") == 0) {
    options.segment_bytes = 400 << 10;
    options.quota_bytes = strcmp(argv[1], "quota") == 0 ? 1000 << 10 : 0;
    options.chunk_bytes = 64 << 10;
    options.block_bytes = 4096;
    options.part_bytes = 4096;
  } else if (strcmp(argv[1], "losses") == 0) {
    options.policy = DH_POLICY_DROP;
    options.raw_pool_bytes = 2 << 20;
  } else if (strcmp(argv[1], "shapes") == 0) {
    options.block_bytes = 4096;
    options.part_bytes = 4096;
  } else if (strcmp(argv[1], "slow") == 0) {
    options.flags |= DH_FLAG_KEEP_EARLY;
    options.policy = DH_POLICY_DROP; /* the peer goes away, and no other comes */
    options.close_ms = 100;
  } else if (strcmp(argv[1], "tiny") == 0) {
    options.flags = 0;
  }
  status = dh_open(&options, &session);
  if (status != DH_OK) die("open", status);

  if (strcmp(argv[1], "zoo") == 0) zoo();
  if (strcmp(argv[1], "losses") == 0) losses();
  if (strcmp(argv[1], "tiny") == 0) tiny();
  if (strcmp(argv[1], "shapes") == 0) shapes();
  if (strcmp(argv[1], "packed") == 0) packed();
  if (strcmp(argv[1], "steady") == 0 || strcmp(argv[1], "quota") == 0) {
    for (i = 0; i < 200; ++i) steady_frame(i, 1500);
  }
  if (strcmp(argv[1], "crash") == 0) {
    for (i = 0; i < 20; ++i) steady_frame(i, 1500);
    status = dh_flush(session, 10000);
    if (status != DH_OK) die("flush", status);
    fclose(truth);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(argv[1], "slow") == 0) {
    for (i = 0; i < 50; ++i) {
      const struct timespec pause = {0, 2000000};
      steady_frame(i, 1500);
      nanosleep(&pause, NULL);
    }
  }
  status = dh_close(session);
  fclose(truth);
  if (status < 0) die("close", status);
  return 0;
}
