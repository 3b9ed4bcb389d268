/* SPDX-License-Identifier: Apache-2.0
 *
 * dumphook.h - see inside a neural network that runs on a board.
 *
 * The library copies layer outputs of a live pipeline into memory it reserved at open, packs them on a thread of its
 * own into an MCAP stream of FlatBuffers, and writes that stream to a file or a socket. The PC side (`dumphook`)
 * rebuilds the tensors and compares them with a reference. schemas/FORMAT.md describes every byte of the stream.
 *
 * Order of calls
 *     dh_open or dh_open_from_env      once, at start
 *     dh_declare_model                 optional: the layers that exist, so that coverage can be judged
 *     per frame:  dh_frame_begin, dh_capture ..., dh_frame_end
 *     dh_flush, dh_close               at the end
 *
 * Harmless by construction
 *     No function aborts, throws, prints, installs a signal handler or changes your tensors. Every function accepts a
 *     NULL session and then does nothing, so capture can be left out by simply not opening a session. Nothing is
 *     captured until `include` names something.
 *
 * Memory
 *     One block, of the size dh_required_bytes() states, is taken and touched in dh_open. Nothing is allocated
 *     afterwards (with TLS, only the worker thread does; bounded, and counted apart). dh_capture makes no allocation
 *     and no system call, unless the policy is `block` and the pool is full.
 *
 * Threads
 *     Every function may be called from any thread, also while another one closes the session: later calls find it
 *     closed and do nothing. Many threads and models may share one session; a process may have 32 sessions at a time.
 * In a forked child all sessions are off. A process that exits without dh_close loses what one that crashes does. The
 *     shared library stays loaded after dlclose.
 *
 * What is lost, and when
 *     A tensor that cannot be kept is counted under a dh_loss_reason, and the number travels in the stream:
 *     seen = shipped + in flight + sum of lost, at every moment. A crash of the process loses what the library had not
 *     handed to the kernel yet: at most `window_ms` of data; all that was handed over decodes.
 *
 * Compatibility
 *     Structs start with `struct_size`; new fields are only appended, and zero always means "the default". Make them
 *     with the dh_*_default() functions below. Enumerators keep their values for ever.
 */
#ifndef DUMPHOOK_DUMPHOOK_H
#define DUMPHOOK_DUMPHOOK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DH_VERSION_MAJOR 0
#define DH_VERSION_MINOR 1
#define DH_VERSION_PATCH 0

#if defined(DH_BUILDING_LIBRARY) || defined(DH_SHARED)
#define DH_API __attribute__((visibility("default")))
#else
#define DH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------------- basic types */

typedef struct dh_session dh_session;

/* Outcome of a call. Zero is success, positive values are ordinary outcomes, negative values are errors. */
typedef enum dh_status {
  DH_OK = 0,
  DH_SKIPPED = 1,           /* nothing to do: not selected, no session, idle */
  DH_DROPPED = 2,           /* not captured; counted under a dh_loss_reason */
  DH_TIMEOUT = 3,           /* the deadline passed first */
  DH_ERR_ARGUMENT = -1,     /* a NULL or out-of-range argument */
  DH_ERR_OPTION = -2,       /* an option, environment variable or config line is wrong; on_log says which */
  DH_ERR_TENSOR = -3,       /* the dh_tensor contradicts itself: shape, strides, planes, bytes, dtype */
  DH_ERR_MEMORY = -4,       /* the budget is too small, or the system refused it */
  DH_ERR_THREAD = -5,       /* the worker thread could not be started */
  DH_ERR_SINK = -6,         /* the file or socket cannot be opened */
  DH_ERR_ADDRESS = -7,      /* the sink's address cannot be understood or resolved */
  DH_ERR_SECURITY = -8,     /* plain TCP off the machine without `insecure`; key or certificate refused */
  DH_ERR_LIMIT = -9,        /* a name, list or table is longer than the format or the budget allows */
  DH_ERR_UNSUPPORTED = -10, /* this build does not have that part */
  DH_ERR_CLOSED = -11       /* the session is closing, or belongs to the parent process */
} dh_status;

/* Why a tensor was not shipped. Values are part of the capture format (schemas/types.fbs, LossReason). */
typedef enum dh_loss_reason {
  DH_LOSS_POOL_FULL = 0,          /* did not fit now */
  DH_LOSS_TOO_BIG = 1,            /* larger than the whole raw pool */
  DH_LOSS_TOO_MANY_TENSORS = 2,   /* more names than max_tensors */
  DH_LOSS_NO_DESCRIPTOR_ROOM = 3, /* its description does not fit the descriptor arena */
  DH_LOSS_FRAME_REFUSED = 4,      /* its frame was not admitted */
  DH_LOSS_DEGRADED = 5,           /* only statistics were kept */
  DH_LOSS_SINK_ERROR = 6,         /* disk full, I/O error, peer error */
  DH_LOSS_NOT_CONNECTED = 7,      /* nobody was listening */
  DH_LOSS_QUOTA_REMOVED = 8,      /* shipped, but its segment was removed: quota_bytes, on_full */
  DH_LOSS_NOT_TRIGGERED = 9,      /* the trigger did not fire */
  DH_LOSS_ABANDONED = 10,         /* its frame had ended, or was given up */
  DH_LOSS_CLOSED = 11,            /* the session closed first */
  DH_LOSS_REASON_COUNT = 12
} dh_loss_reason;

/* Element types. Values are part of the capture format. */
typedef enum dh_dtype {
  DH_RAW = 0, /* bytes without a known type: shape counts bytes, raw_type says what they are */
  DH_F64 = 1,
  DH_F32 = 2,
  DH_F16 = 3,
  DH_BF16 = 4,
  DH_F8E4M3 = 5,
  DH_F8E5M2 = 6,
  DH_I64 = 7,
  DH_U64 = 8,
  DH_I32 = 9,
  DH_U32 = 10,
  DH_I16 = 11,
  DH_U16 = 12,
  DH_I8 = 13,
  DH_U8 = 14,
  DH_BOOL = 15, /* one byte each */
  DH_I4 = 16,   /* two in a byte, low nibble first, dense only */
  DH_U4 = 17
} dh_dtype;

typedef enum dh_layout {
  DH_LAYOUT_ANY = 0, /* no image meaning */
  DH_LAYOUT_NCHW = 1,
  DH_LAYOUT_NHWC = 2,
  DH_LAYOUT_NC4HW4 = 3,
  DH_LAYOUT_NC1HWC2 = 4,
  DH_LAYOUT_NC1HWC0 = 5,
  DH_LAYOUT_NV12 = 6, /* two planes: Y, then interleaved UV */
  DH_LAYOUT_NV21 = 7, /* two planes: Y, then interleaved VU */
  DH_LAYOUT_RGB = 8,  /* H x W x 3 */
  DH_LAYOUT_BGR = 9,  /* H x W x 3 */
  DH_LAYOUT_TEXT = 10 /* UTF-8 text, e.g. a list of detections */
} dh_layout;

/* The stage of the pipeline that made the tensor. */
typedef enum dh_role {
  DH_ROLE_INTERMEDIATE = 0,
  DH_ROLE_INPUT = 1,        /* as it came from the camera or file */
  DH_ROLE_PREPROCESSED = 2, /* what the model is fed */
  DH_ROLE_OUTPUT = 3,       /* what the model gives */
  DH_ROLE_POSTPROCESSED = 4
} dh_role;

typedef enum dh_quant_kind { DH_QUANT_NONE = 0, DH_QUANT_PER_TENSOR = 1, DH_QUANT_PER_AXIS = 2 } dh_quant_kind;

typedef enum dh_level {
  DH_LEVEL_DEFAULT = 0, /* full */
  DH_LEVEL_OFF = 1,
  DH_LEVEL_HASH = 2,  /* a 64-bit digest, made on the calling thread; no pool */
  DH_LEVEL_STATS = 3, /* statistics, made by the worker */
  DH_LEVEL_FULL = 4   /* every byte */
} dh_level;

/* What happens when a tensor does not fit the raw pool at this moment. */
typedef enum dh_policy {
  DH_POLICY_DEFAULT = 0,    /* drop */
  DH_POLICY_DROP = 1,       /* drop this tensor */
  DH_POLICY_DROP_FRAME = 2, /* admit whole frames only */
  DH_POLICY_DEGRADE = 3,    /* keep statistics instead */
  DH_POLICY_BLOCK = 4       /* wait, at most block_timeout_ms */
} dh_policy;

/* When a file is forced to the medium. What was handed to write() survives a crash of the process in any case. */
typedef enum dh_sync {
  DH_SYNC_DEFAULT = 0, /* at close */
  DH_SYNC_NEVER = 1,
  DH_SYNC_CLOSE = 2,
  DH_SYNC_INTERVAL = 3, /* every sync_interval_ms */
  DH_SYNC_CHUNK = 4     /* after each chunk */
} dh_sync;

/* What a file sink does when the disk is full. Some room is held back from open on, so that the present segment can
 * still be given its summary. */
typedef enum dh_on_full {
  DH_ON_FULL_DEFAULT = 0, /* stop */
  DH_ON_FULL_STOP = 1,    /* seal what is there; what follows is lost as sink_error */
  DH_ON_FULL_RETRY = 2,   /* keep it in the spool and try again, every 0.1 to 3.2 s; a full spool fills the pool */
  DH_ON_FULL_ROTATE = 3   /* remove this session's oldest segment, as for a quota; as retry while there is none */
} dh_on_full;

typedef enum dh_log_level { DH_LOG_ERROR = 0, DH_LOG_WARNING = 1, DH_LOG_INFO = 2 } dh_log_level;

#define DH_MAX_RANK 8
#define DH_MAX_PLANES 3
#define DH_MAX_NAME_BYTES 512
#define DH_MAX_OPEN_FRAMES 64

/* Bits of dh_options.flags. */
#define DH_FLAG_NO_WORKER 0x1u  /* no thread: the app calls dh_pump */
#define DH_FLAG_INSECURE 0x2u   /* allow plain TCP to other machines */
#define DH_FLAG_KEEP_EARLY 0x4u /* before the first peer: keep in the spool instead of discarding */
#define DH_FLAG_DIGEST 0x8u     /* add a 64-bit digest to each tensor's last part, unless it is larger than the pool */
#define DH_FLAG_ALLOW_CONTROL 0x10u /* the peer may change selection, levels, triggers */
#define DH_FLAG_ALLOW_RUN 0x20u     /* the peer may push inputs (dh_serve) */
#define DH_FLAG_ALLOW_BLOCK 0x40u   /* the peer may ask for policy block */
#define DH_FLAG_ALLOW_MODEL 0x80u   /* the peer may upload a model (dh_serve) */
#define DH_FLAG_NO_COMPRESSION 0x100u

/* ---------------------------------------------------------------------------------------------------- open, close */

/* Configuration of a session. Start from dh_options_default(); zero means the default everywhere.
 * Strings are copied in dh_open. Names in brackets are the keys of the config file and, in capitals after DUMPHOOK_,
 * of the environment. Lists are separated by commas. A glob knows `*`, `?` and `[a-z]`; `*` also matches `/`.
 * A glob that starts with `op:` is matched against the op's name, one that starts with `model:` against the model's. */
typedef struct dh_options {
  uint32_t struct_size;
  uint32_t flags;  /* DH_FLAG_* */
  uint32_t policy; /* dh_policy [policy] */
  uint32_t level;  /* dh_level of selected tensors that `levels` does not name [level] */

  /* Where to: "file:PATH" or a bare path, "tcp://HOST:PORT", "tls://HOST:PORT", "tcp-listen://HOST:PORT",
   * "tls-listen://HOST:PORT", "callback:" (see on_bytes). HOST may be a name or an address, [::1] in brackets. [sink]
   */
  const char* sink;

  /* Selection. A tensor is captured when a glob of `include` matches and none of `exclude` does. */
  const char* include; /* [include]; NULL = nothing */
  const char* exclude; /* [exclude] */
  const char* levels;  /* "GLOB=off|hash|stats|full,..." the first match holds [levels] */
  /* Frames wait, encoded, in pretrigger_bytes, the oldest giving way to the newest, until one of these holds: "nan",
   * "inf", "saturated>0.01", "range:-6..6", "constant" (each may end in "@GLOB": only such tensors count), "event:NAME"
   * (dh_event). Then all that is held is shipped, with the frames that are open and the N next ones of "after:N". The
   * log says what fired and how many frames were held. Ranges are of real values where a tensor is quantised per
   * tensor, else of stored ones; of tensors kept as a hash nothing is known. [triggers] */
  const char* triggers;
  uint32_t role_mask;       /* bit (1 << dh_role); 0 = all [roles] */
  uint32_t every_nth;       /* frames with number % N == 0 [every_nth] */
  uint64_t first_n;         /* only the first N selected frames; 0 = no limit [first_n] */
  uint64_t frame_first;     /* range of frame numbers [frame_first] */
  uint64_t frame_last;      /* 0 = no end [frame_last] */
  uint64_t bytes_per_frame; /* 0 = no limit [bytes_per_frame] */

  /* Budget. All memory is one block, carved at open. */
  uint64_t raw_pool_bytes;   /* raw bytes waiting for the worker; 0 = 16 MiB [raw_pool_bytes] */
  uint64_t spool_bytes;      /* encoded bytes not yet shipped; at least 256 KiB, 4 parts; 0 = 8 MiB [spool_bytes] */
  uint64_t pretrigger_bytes; /* frames kept for triggers; 0 = only what follows one; else as spool_bytes
                              [pretrigger_bytes] */
  uint64_t descriptor_bytes; /* descriptions, attributes, model graph; 0 = 1 MiB [descriptor_bytes] */
  uint64_t index_bytes;      /* chunk indexes of one file segment; 0 = 1 MiB [index_bytes] */
  uint32_t block_bytes;      /* pool block; power of two, 4 KiB ... 1 MiB; 0 = 16 KiB [block_bytes] */
  uint32_t part_bytes;       /* largest raw part, whole blocks, 4 KiB ... 16 MiB; 0 = 1 MiB [part_bytes] */
  uint32_t max_tensors;      /* distinct tensor names; 0 = 1024, at most 65000 [max_tensors] */
  uint32_t max_open_frames;  /* 0 = 64, which is also the most [max_open_frames] */
  void* memory;              /* optional: use this block instead of asking the system, 64-byte aligned */
  uint64_t memory_bytes;     /* its size; at least dh_required_bytes() */

  /* Deadlines. */
  uint32_t block_timeout_ms; /* policy block: longest wait of one dh_capture; 0 = 1000 [block_timeout_ms] */
  uint32_t window_ms;        /* longest time data sits outside the kernel; 0 = 200 [window_ms] */
  uint32_t hello_ms;         /* how long to listen for a peer's hello; 0 = 500 [hello_ms] */
  uint32_t connect_ms;       /* connect and TLS handshake; 0 = 5000 [connect_ms] */
  uint32_t close_ms;         /* how long dh_close may ship what is left; 0 = 2000 [close_ms] */

  /* File sink. */
  uint32_t sync;             /* dh_sync [sync] */
  uint32_t sync_interval_ms; /* 0 = 1000 [sync_interval_ms] */
  uint32_t on_full;          /* dh_on_full [on_full] */
  uint32_t chunk_bytes;      /* 0 = 1 MiB [chunk_bytes] */
  uint64_t segment_bytes;    /* largest file, with its summary; 0 = no limit [segment_bytes] */
  uint32_t segment_ms;       /* or after this time; 0 = no limit [segment_ms] */
  uint32_t reserved0;
  /* Most that this session's segments may take together: its oldest are removed first, and their tensors are lost as
   * quota_removed. At least 256 KiB and 4 parts; 0 = no limit. With a quota a segment is at most half of it, and
   * without segment_bytes an eighth, or three times its own preamble and summary if that is more. [quota_bytes] */
  uint64_t quota_bytes;

  /* Who this is; shown by the host. */
  const char* board;      /* [board] */
  const char* soc;        /* [soc] */
  const char* sdk;        /* [sdk] */
  const char* build;      /* [build] */
  const char* model_hash; /* [model_hash] */

  /* TLS. Either a pre-shared key with its identity, or certificates. Files must not be readable by others. */
  const char* psk_identity; /* [psk_identity] */
  const char* psk_file;     /* 64 hexadecimal digits [psk_file] */
  const uint8_t* psk;       /* or the key itself */
  uint32_t psk_bytes;
  uint32_t reserved1;
  const char* ca_file;     /* [ca_file] */
  const char* cert_file;   /* [cert_file] */
  const char* key_file;    /* [key_file] */
  const char* server_name; /* expected name in the peer's certificate; NULL = HOST [server_name] */

  /* Worker thread. */
  const char* thread_name; /* NULL = "dumphook" [thread_name] */
  int32_t thread_priority; /* nice value added; 0 = as the caller [thread_priority] */
  uint32_t reserved2;
  uint64_t thread_affinity; /* bit mask of CPUs; 0 = all [thread_affinity] */

  const char* config_file; /* read by dh_open after this struct; NULL = none */

  /* Diagnostics: called from any thread that uses the session; from inside dh_capture only where that does the
   * worker's work (DH_FLAG_NO_WORKER with policy block). Must not call dh_*. */
  void (*on_log)(void* user, dh_log_level level, const char* text);
  void* on_log_user;

  /* Sink "callback:": gets the stream's bytes in order, on the worker. Returns how many it took (0 = try later),
   * or a negative number to give up. */
  int64_t (*on_bytes)(void* user, const void* data, size_t bytes);
  void* on_bytes_user;
} dh_options;

static inline dh_options dh_options_default(void) {
  dh_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = (uint32_t)sizeof options;
  return options;
}

/* How dh_required_bytes() is made up. */
typedef struct dh_memory_plan {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t total_bytes;
  uint64_t raw_pool_bytes; /* blocks, their headers and the queue */
  uint64_t spool_bytes;
  uint64_t pretrigger_bytes;
  uint64_t descriptor_bytes; /* descriptors, strings, graph */
  uint64_t table_bytes;      /* tensors, frames, counters, losses */
  uint64_t index_bytes;      /* file sink only: chunk indexes, and what each segment holds */
  uint64_t scratch_bytes;    /* one part, codec state, stream preamble */
} dh_memory_plan;

/* Bytes that dh_open will take for these options (0 if they are not valid). `plan` may be NULL; on_log is told the same
 * as a table. The worker's stack of 512 KiB, of which it touches a few pages, is the system's and not among them. */
DH_API uint64_t dh_required_bytes(const dh_options* options, dh_memory_plan* plan);

/* Opens a session. On error *session is NULL, so that all later calls do nothing, and on_log has said why.
 * May block while a host name is resolved; does not wait for a connection. */
DH_API dh_status dh_open(const dh_options* options, dh_session** session);

/* As dh_open, then DUMPHOOK_CONFIG (a file of `key = value` lines) and DUMPHOOK_* (keys in capitals) are laid over
 * `options` (may be NULL). With no sink in any of them: DH_SKIPPED and a NULL session. SigmaStar's DebugConfig.txt
 * serves as such a file: dumpTensor is include = *, path names the folder of dumphook.mcap, on_log says what of the
 * rest. */
DH_API dh_status dh_open_from_env(const dh_options* options, dh_session** session);

/* Waits until all tensors captured so far are shipped, or counted as lost, or wait for a trigger. DH_TIMEOUT when
 * timeout_ms passes first. */
DH_API dh_status dh_flush(dh_session* session, uint32_t timeout_ms);

/* Ships what is left within close_ms, counts the rest as lost, seals the capture, frees everything. DH_DROPPED when
 * anything that had been captured since dh_open never left (sink_error, not_connected, closed); what policies refused
 * is in dh_counters and in the capture. DH_TIMEOUT when a call of another thread was still inside after close_ms and 2
 * seconds, as that of a thread which died there: all is shipped and sealed, but the session's memory stays in use, also
 * a block of yours. Taps may be used again with another session. */
DH_API dh_status dh_close(dh_session* session);

/* Changes selection and levels while running: `key = value` lines as in the config file, keys include, exclude, level,
 * levels, triggers, roles, every_nth, first_n, frame_first, frame_last, bytes_per_frame. Holds from the next
 * dh_frame_begin on, and is recorded in the stream. */
DH_API dh_status dh_configure(dh_session* session, const char* text);

/* Does a share of the worker's work on the calling thread, for apps with DH_FLAG_NO_WORKER: at least one step, then on
 * until budget_us has passed or nothing is left. DH_SKIPPED when idle or when another thread is at it. */
DH_API dh_status dh_pump(dh_session* session, uint32_t budget_us);

/* ---------------------------------------------------------------------------------------------------- describe */

typedef enum dh_visibility {
  DH_VISIBLE = 0,
  DH_INSIDE_DELEGATE = 1, /* inside an NPU partition or delegate: cannot be read */
  DH_FUSED_AWAY = 2,      /* the converter merged it into another node */
  DH_CONSTANT = 3         /* does not depend on the input; left out by default */
} dh_visibility;

typedef struct dh_node {
  const char* name; /* may be NULL */
  const char* op;
  const char* const* inputs;
  const char* const* outputs;
  uint32_t input_count;
  uint32_t output_count;
  const char* backend; /* "cpu", "npu", a delegate's name; may be NULL */
  uint32_t visibility; /* dh_visibility */
  int32_t index;       /* position in execution order */
} dh_node;

typedef struct dh_model {
  uint32_t struct_size;
  uint32_t node_count;
  const char* name;
  const char* hash; /* of the model file; may be NULL */
  const dh_node* nodes;
  uint32_t node_bytes; /* sizeof(dh_node) of the caller */
  uint32_t reserved;
} dh_model;

static inline dh_model dh_model_default(void) {
  dh_model model;
  memset(&model, 0, sizeof model);
  model.struct_size = (uint32_t)sizeof model;
  model.node_bytes = (uint32_t)sizeof(dh_node);
  return model;
}

/* Declares the layers that exist, in execution order. Coverage is judged against it. Copies everything. */
DH_API dh_status dh_declare_model(dh_session* session, const dh_model* model);

typedef enum dh_attr_scope {
  DH_ATTR_SESSION = 0,
  DH_ATTR_MODEL = 1,
  DH_ATTR_FRAME = 2,
  DH_ATTR_TENSOR = 3
} dh_attr_scope;

typedef uint64_t dh_frame; /* 0 = none */

typedef struct dh_attr_target {
  uint32_t struct_size;
  uint32_t scope; /* dh_attr_scope */
  const char* model;
  const char* tensor;
  dh_frame frame;
} dh_attr_target;

static inline dh_attr_target dh_attr_target_default(void) {
  dh_attr_target target;
  memset(&target, 0, sizeof target);
  target.struct_size = (uint32_t)sizeof target;
  return target;
}

/* Sets a free key=value attribute; `target` NULL means the session. Those of a model are part of its declaration, which
 * may come before or after. A key has at most 63 bytes, a value 4096; a frame takes four, of at most 31 and 95 bytes.
 * DH_ERR_LIMIT beyond that. Keys that the host understands: precision_mode, fusion, buffer_optimize, calibration,
 * converter, mean, std, colour, crop, valid_w, valid_h, stride_w, stride_h. */
DH_API dh_status dh_attr(dh_session* session, const dh_attr_target* target, const char* key, const char* value);

/* ---------------------------------------------------------------------------------------------------- capture */

/* One hook. Owned by the caller, usually static; serves one session. Many threads may share it. */
typedef struct dh_tap {
  uint32_t off_epoch; /* equal to dh_epoch while this hook is off */
  uint32_t binding;   /* session and tensor it was resolved to */
  uint32_t reserved[2];
} dh_tap;

#define DH_TAP_INIT    \
  {                    \
    0u, 0u, { 0u, 0u } \
  }

/* Changes whenever a session opens, closes or is configured anew. Read it only through dh_tap_on(). */
extern DH_API uint32_t dh_epoch;

/* Nonzero unless this hook is known to be off: skip preparing the dh_tensor then. Costs two loads and a branch. */
static inline int dh_tap_on(const dh_tap* tap) {
  return __atomic_load_n(&tap->off_epoch, __ATOMIC_RELAXED) != __atomic_load_n(&dh_epoch, __ATOMIC_RELAXED);
}

typedef struct dh_quant {
  uint32_t kind;  /* dh_quant_kind; real = scale * (q - zero_point) */
  int32_t axis;   /* per axis: which dimension of `shape` */
  uint32_t count; /* number of scales: 1, or shape[axis] */
  uint32_t reserved;
  const float* scale;
  const int32_t* zero_point; /* NULL = all zero */
} dh_quant;

typedef struct dh_plane {
  const void* data;
  uint64_t row_stride; /* bytes from one row to the next; 0 = row_bytes */
  uint64_t row_bytes;  /* valid bytes of a row */
  uint64_t rows;
} dh_plane;

/* A tensor to be captured. The bytes are copied before dh_capture returns. Of a tap's first capture, `model`, `name`,
 * `op`, `origin_names`, `raw_type`, `node_index` and `output_slot` are remembered; all else is read every time. */
typedef struct dh_tensor {
  uint32_t struct_size;
  uint32_t dtype; /* dh_dtype */
  const char* name;
  const char* model;               /* NULL = "model" */
  const char* op;                  /* NULL = unknown */
  const char* const* origin_names; /* the layers of the original model this one stands for */
  uint32_t origin_count;
  uint32_t role;                      /* dh_role */
  uint32_t layout;                    /* dh_layout */
  uint32_t rank;                      /* 0 = scalar, at most DH_MAX_RANK */
  int64_t shape[DH_MAX_RANK];         /* in elements, as stored, padding included */
  int64_t logical_shape[DH_MAX_RANK]; /* without padding; logical_rank 0 = as shape */
  int64_t strides[DH_MAX_RANK];       /* in bytes; all zero = dense */
  uint32_t logical_rank;
  uint32_t plane_count; /* 0 = `data`; else planes[], captured one after the other without row padding */
  dh_plane planes[DH_MAX_PLANES];
  const void* data;
  uint64_t data_bytes; /* readable bytes at data; 0 = as shape and strides say */
  dh_quant quant;
  const char* raw_type; /* dtype DH_RAW: what it is */
  int32_t node_index;   /* position in execution order; -1 = unknown */
  int32_t output_slot;
  uint32_t instance; /* which pipeline or stream, when several run the same model */
  uint32_t reserved;
} dh_tensor;

static inline dh_tensor dh_tensor_default(void) {
  dh_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.struct_size = (uint32_t)sizeof tensor;
  tensor.node_index = -1;
  return tensor;
}

typedef struct dh_frame_info {
  uint32_t struct_size;
  uint32_t instance;
  const char* model;
  uint64_t number; /* your own number, unique in the session; used when number_given is not 0 */
  uint32_t number_given;
  uint32_t reserved;
  uint64_t capture_time_ns; /* when the sensor took it, any clock; 0 = unknown */
} dh_frame_info;

static inline dh_frame_info dh_frame_info_default(void) {
  dh_frame_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = (uint32_t)sizeof info;
  return info;
}

/* Begins one pass of the pipeline. `info` may be NULL. Frames may overlap; beyond max_open_frames the oldest is closed
 * as abandoned. Never fails: a frame that is not admitted is still a valid handle, and its tensors are counted. */
DH_API dh_frame dh_frame_begin(dh_session* session, const dh_frame_info* info);

/* Copies one tensor. DH_OK, DH_SKIPPED (not selected), DH_DROPPED (counted), DH_ERR_TENSOR, DH_ERR_ARGUMENT. */
DH_API dh_status dh_capture(dh_session* session, dh_tap* tap, dh_frame frame, const dh_tensor* tensor);

/* As dh_capture without a tap: the name is looked up in a hash table each time. */
DH_API dh_status dh_capture_by_name(dh_session* session, dh_frame frame, const dh_tensor* tensor);

DH_API dh_status dh_frame_end(dh_session* session, dh_frame frame);

/* Raises the app event NAME, for triggers of the form event:NAME. DH_SKIPPED when no trigger waits for it. */
DH_API dh_status dh_event(dh_session* session, const char* name);

/* ---------------------------------------------------------------------------------------------------- observe */

typedef struct dh_counter_values {
  uint32_t struct_size;
  uint32_t acknowledged; /* 1: shipped means durable at a collector; 0: handed to the kernel */
  uint64_t seen;         /* tensors that were selected */
  uint64_t shipped;
  uint64_t in_flight;
  uint64_t lost[16]; /* by dh_loss_reason */
  uint64_t frames_begun;
  uint64_t frames_ended;
  uint64_t raw_bytes;     /* of accepted tensors */
  uint64_t encoded_bytes; /* of messages made of them */
  uint64_t pool_peak_bytes;
  uint64_t spool_peak_bytes;
} dh_counter_values;

/* seen = shipped + in_flight + sum of lost[], whenever it is read. */
DH_API dh_status dh_counters(dh_session* session, dh_counter_values* values);

DH_API const char* dh_status_text(dh_status status);
DH_API const char* dh_loss_reason_text(dh_loss_reason reason);
DH_API const char* dh_version(void);

/* ---------------------------------------------------------------------------------------------------- later parts */

typedef struct dh_serve_options {
  uint32_t struct_size;
  uint32_t timeout_ms; /* of one run; 0 = 60000 */
  /* Runs the app's model once. `inputs` are in the order the peer sent them. A negative return or a text in `error`
   * (at most error_bytes) goes back to the peer. */
  int (*run)(void* user, dh_session* session, dh_frame frame, const dh_tensor* inputs, uint32_t input_count,
             char* error, size_t error_bytes);
  void* run_user;
  /* Loads the model at `path` (uploaded, or named by the peer); NULL = refuse. */
  int (*load)(void* user, const char* path, char* error, size_t error_bytes);
  void* load_user;
  const char* upload_dir;
  uint64_t upload_limit_bytes;
} dh_serve_options;

/* Blocks the calling thread and runs the app's model on inputs that the peer pushes, until the session closes. */
DH_API dh_status dh_serve(dh_session* session, const dh_serve_options* options);

typedef struct dh_adopt_options {
  uint32_t struct_size;
  uint32_t remove_after; /* 1 = delete a file once shipped */
  const char* path;
  const char* format; /* "ascend", "horizon", "rockchip", "raw" */
  const char* model;
} dh_adopt_options;

/* Ships files that a vendor's runtime dumps into a directory, as tensors, as they appear. */
DH_API dh_status dh_adopt_dir(dh_session* session, const dh_adopt_options* options);

#ifdef __cplusplus
}
#endif

#endif /* DUMPHOOK_DUMPHOOK_H */
