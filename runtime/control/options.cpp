// SPDX-License-Identifier: Apache-2.0
#include "control/options.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/dtype.h"

namespace dumphook {
namespace {

enum class Kind : uint8_t { text, u32, i32, u64, bytes32, bytes64, level, policy, sync, on_full, roles, flag };

struct Key {
  const char* name;
  Kind kind;
  size_t offset;  // in dh_options
  uint32_t flag;  // of Kind::flag
  bool live;      // dh_configure may change it
};

// The largest descriptor (names, and 8192 scales and zero points) is a record of up to half the spool.
constexpr uint64_t kLeastSpoolBytes = 256 << 10;
constexpr uint64_t kLeastQuotaBytes = 256 << 10;

#define FIELD(name) offsetof(dh_options, name)
constexpr Key kKeys[] = {
    {"sink", Kind::text, FIELD(sink), 0, false},
    {"policy", Kind::policy, FIELD(policy), 0, false},
    {"level", Kind::level, FIELD(level), 0, true},
    {"include", Kind::text, FIELD(include), 0, true},
    {"exclude", Kind::text, FIELD(exclude), 0, true},
    {"levels", Kind::text, FIELD(levels), 0, true},
    {"triggers", Kind::text, FIELD(triggers), 0, true},
    {"roles", Kind::roles, FIELD(role_mask), 0, true},
    {"every_nth", Kind::u32, FIELD(every_nth), 0, true},
    {"first_n", Kind::u64, FIELD(first_n), 0, true},
    {"frame_first", Kind::u64, FIELD(frame_first), 0, true},
    {"frame_last", Kind::u64, FIELD(frame_last), 0, true},
    {"bytes_per_frame", Kind::bytes64, FIELD(bytes_per_frame), 0, true},
    {"raw_pool_bytes", Kind::bytes64, FIELD(raw_pool_bytes), 0, false},
    {"spool_bytes", Kind::bytes64, FIELD(spool_bytes), 0, false},
    {"pretrigger_bytes", Kind::bytes64, FIELD(pretrigger_bytes), 0, false},
    {"descriptor_bytes", Kind::bytes64, FIELD(descriptor_bytes), 0, false},
    {"index_bytes", Kind::bytes64, FIELD(index_bytes), 0, false},
    {"block_bytes", Kind::bytes32, FIELD(block_bytes), 0, false},
    {"part_bytes", Kind::bytes32, FIELD(part_bytes), 0, false},
    {"max_tensors", Kind::u32, FIELD(max_tensors), 0, false},
    {"max_open_frames", Kind::u32, FIELD(max_open_frames), 0, false},
    {"block_timeout_ms", Kind::u32, FIELD(block_timeout_ms), 0, false},
    {"window_ms", Kind::u32, FIELD(window_ms), 0, false},
    {"hello_ms", Kind::u32, FIELD(hello_ms), 0, false},
    {"connect_ms", Kind::u32, FIELD(connect_ms), 0, false},
    {"close_ms", Kind::u32, FIELD(close_ms), 0, false},
    {"sync", Kind::sync, FIELD(sync), 0, false},
    {"sync_interval_ms", Kind::u32, FIELD(sync_interval_ms), 0, false},
    {"on_full", Kind::on_full, FIELD(on_full), 0, false},
    {"chunk_bytes", Kind::bytes32, FIELD(chunk_bytes), 0, false},
    {"segment_bytes", Kind::bytes64, FIELD(segment_bytes), 0, false},
    {"segment_ms", Kind::u32, FIELD(segment_ms), 0, false},
    {"quota_bytes", Kind::bytes64, FIELD(quota_bytes), 0, false},
    {"board", Kind::text, FIELD(board), 0, false},
    {"soc", Kind::text, FIELD(soc), 0, false},
    {"sdk", Kind::text, FIELD(sdk), 0, false},
    {"build", Kind::text, FIELD(build), 0, false},
    {"model_hash", Kind::text, FIELD(model_hash), 0, false},
    {"psk_identity", Kind::text, FIELD(psk_identity), 0, false},
    {"psk_file", Kind::text, FIELD(psk_file), 0, false},
    {"ca_file", Kind::text, FIELD(ca_file), 0, false},
    {"cert_file", Kind::text, FIELD(cert_file), 0, false},
    {"key_file", Kind::text, FIELD(key_file), 0, false},
    {"server_name", Kind::text, FIELD(server_name), 0, false},
    {"thread_name", Kind::text, FIELD(thread_name), 0, false},
    {"thread_priority", Kind::i32, FIELD(thread_priority), 0, false},
    {"thread_affinity", Kind::u64, FIELD(thread_affinity), 0, false},
    {"no_worker", Kind::flag, FIELD(flags), DH_FLAG_NO_WORKER, false},
    {"insecure", Kind::flag, FIELD(flags), DH_FLAG_INSECURE, false},
    {"keep_early", Kind::flag, FIELD(flags), DH_FLAG_KEEP_EARLY, false},
    {"digest", Kind::flag, FIELD(flags), DH_FLAG_DIGEST, false},
    {"allow_control", Kind::flag, FIELD(flags), DH_FLAG_ALLOW_CONTROL, false},
    {"allow_run", Kind::flag, FIELD(flags), DH_FLAG_ALLOW_RUN, false},
    {"allow_block", Kind::flag, FIELD(flags), DH_FLAG_ALLOW_BLOCK, false},
    {"allow_model", Kind::flag, FIELD(flags), DH_FLAG_ALLOW_MODEL, false},
    {"no_compression", Kind::flag, FIELD(flags), DH_FLAG_NO_COMPRESSION, false},
};
#undef FIELD

struct Word {
  const char* text;
  uint32_t value;
};
constexpr Word kPolicies[] = {{"drop", DH_POLICY_DROP},
                              {"drop_frame", DH_POLICY_DROP_FRAME},
                              {"degrade", DH_POLICY_DEGRADE},
                              {"block", DH_POLICY_BLOCK}};
constexpr Word kSyncs[] = {
    {"never", DH_SYNC_NEVER}, {"close", DH_SYNC_CLOSE}, {"interval", DH_SYNC_INTERVAL}, {"chunk", DH_SYNC_CHUNK}};
constexpr Word kOnFull[] = {{"stop", DH_ON_FULL_STOP}, {"retry", DH_ON_FULL_RETRY}, {"rotate", DH_ON_FULL_ROTATE}};
constexpr Word kFlags[] = {{"1", 1}, {"true", 1}, {"yes", 1}, {"on", 1}, {"0", 0}, {"false", 0}, {"no", 0}, {"off", 0}};

bool find_word(Span<const Word> words, const char* text, uint32_t* value) {
  for (const Word& word : words) {
    if (std::strcmp(word.text, text) == 0) {
      *value = word.value;
      return true;
    }
  }
  return false;
}

bool parse_number(const char* text, bool suffixes, uint64_t* value) {
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  char* end = nullptr;
  const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  *value = std::strtoull(text, &end, hexadecimal ? 16 : 10);
  if (errno != 0 || end == text) return false;
  if (suffixes && *end != '\0') {
    const char* const kSuffixes = "KMG";
    const char upper = *end >= 'a' ? static_cast<char>(*end - 'a' + 'A') : *end;
    const char* suffix = std::strchr(kSuffixes, upper);
    if (suffix == nullptr) return false;
    if (!checked_mul(*value, uint64_t{1} << (10 * (suffix - kSuffixes + 1)), value)) return false;
    ++end;
    if (std::strcmp(end, "iB") == 0) end += 2;
  }
  return *end == '\0';
}

bool parse_roles(const char* text, uint32_t* mask) {
  char item[32];
  *mask = 0;
  while (next_list_item(&text, item, sizeof item)) {
    uint32_t role = 0;
    if (!parse_role(item, &role)) return false;
    *mask |= 1u << role;
  }
  return true;
}

const Key* find_key(const char* name) {
  for (const Key& key : kKeys) {
    if (std::strcmp(key.name, name) == 0) return &key;
  }
  return nullptr;
}

// Everything but texts.
bool parse_value(const Key& key, const char* text, dh_options* options) {
  auto* field = reinterpret_cast<uint8_t*>(options) + key.offset;
  uint64_t number = 0;
  uint32_t word = 0;
  const auto store = [&field, &word](bool valid) {
    if (valid) store_le<uint32_t>(field, word);
    return valid;
  };
  switch (key.kind) {
    case Kind::u32:
    case Kind::bytes32:
      if (!parse_number(text, key.kind == Kind::bytes32, &number) || number > UINT32_MAX) return false;
      store_le<uint32_t>(field, static_cast<uint32_t>(number));
      return true;
    case Kind::u64:
    case Kind::bytes64:
      if (!parse_number(text, key.kind == Kind::bytes64, &number)) return false;
      store_le<uint64_t>(field, number);
      return true;
    case Kind::i32: {
      const bool negative = *text == '-';
      if (!parse_number(text + (negative ? 1 : 0), false, &number) || number > 1000) return false;
      store_le<int32_t>(field, negative ? -static_cast<int32_t>(number) : static_cast<int32_t>(number));
      return true;
    }
    case Kind::policy: return store(find_word(kPolicies, text, &word));
    case Kind::sync: return store(find_word(kSyncs, text, &word));
    case Kind::on_full: return store(find_word(kOnFull, text, &word));
    case Kind::roles: return store(parse_roles(text, &word));
    case Kind::level: {
      dh_level level = DH_LEVEL_DEFAULT;
      const bool known = parse_level(text, &level);
      word = level;
      return store(known);
    }
    case Kind::flag: {
      if (!find_word(kFlags, text, &word)) return false;
      options->flags = word != 0 ? options->flags | key.flag : options->flags & ~key.flag;
      return true;
    }
    case Kind::text: break;
  }
  return false;
}

const char* expectation(Kind kind) {
  switch (kind) {
    case Kind::policy: return "drop, drop_frame, degrade or block";
    case Kind::level: return "off, hash, stats or full";
    case Kind::sync: return "never, close, interval or chunk";
    case Kind::on_full: return "stop, retry or rotate";
    case Kind::roles: return "a list of input, preprocessed, intermediate, output, postprocessed";
    case Kind::flag: return "on or off";
    case Kind::bytes32:
    case Kind::bytes64: return "a number of bytes, with K, M or G if you like";
    default: return "a whole number";
  }
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Calls use(key, value, line number) for each `key = value` line.
template <class Use>
Status each_line(const char* text, const char* origin, ErrorText* error, const Use& use) {
  char line[4096];
  for (int number = 1; *text != '\0'; ++number) {
    const char* end = std::strchr(text, '\n');
    if (end == nullptr) end = text + std::strlen(text);
    const size_t length = static_cast<size_t>(end - text);
    if (length >= sizeof line) {
      return error->fail(DH_ERR_LIMIT, "%s, line %d: longer than %zu bytes", origin, number, sizeof line - 1);
    }
    std::memcpy(line, text, length);
    line[length] = '\0';
    text = *end == '\0' ? end : end + 1;
    char* key = line;
    while (is_blank(*key)) ++key;
    if (*key == '\0' || *key == '#') continue;
    char* value = std::strchr(key, '=');
    if (value == nullptr) {
      return error->fail(DH_ERR_OPTION, "%s, line %d: \"%.60s\" is not of the form key = value", origin, number, key);
    }
    char* key_end = value;
    *value++ = '\0';
    while (key_end > key && is_blank(key_end[-1])) *--key_end = '\0';
    while (is_blank(*value)) ++value;
    char* value_end = value + std::strlen(value);
    while (value_end > value && is_blank(value_end[-1])) *--value_end = '\0';
    const Status status = use(key, value);
    if (status != DH_OK) {
      char why[sizeof error->text];
      std::memcpy(why, error->text, sizeof why);
      return error->fail(status, "%s, line %d: %.400s", origin, number, why);
    }
  }
  return DH_OK;
}

Status parse_error(const Key& key, const char* value, ErrorText* error) {
  return error->fail(DH_ERR_OPTION, "%s = \"%.80s\": expected %s", key.name, value, expectation(key.kind));
}

// Patterns are matched in a buffer of this size.
Status check_items(const char* list, const char* key, ErrorText* error) {
  char item[DH_MAX_NAME_BYTES + 8];
  while (next_list_item(&list, item, sizeof item)) {
    if (std::strlen(item) + 1 == sizeof item) {
      return error->fail(DH_ERR_LIMIT, "%s: \"%.60s...\" is longer than %zu bytes", key, item, sizeof item - 2);
    }
  }
  return DH_OK;
}

template <size_t N>
Status copy_list(const char* from, char (&to)[N], const char* key, ErrorText* error) {
  const size_t length = text_length(from);
  if (length >= N) return error->fail(DH_ERR_LIMIT, "%s is longer than %zu bytes", key, N - 1);
  std::memcpy(to, from == nullptr ? "" : from, length);
  to[length] = '\0';
  return DH_OK;
}

Status check_levels(const char* list, ErrorText* error) {
  char rule[DH_MAX_NAME_BYTES + 16];
  while (next_list_item(&list, rule, sizeof rule)) {
    const char* equals = std::strrchr(rule, '=');
    dh_level level = DH_LEVEL_DEFAULT;
    if (equals == nullptr || !parse_level(equals + 1, &level)) {
      return error->fail(DH_ERR_OPTION, "levels: \"%.80s\" is not of the form GLOB=off|hash|stats|full", rule);
    }
  }
  return DH_OK;
}

}  // namespace

Status ErrorText::fail(Status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return status;
}

Status Options::keep(const char* from, const char** kept, ErrorText* error) {
  const size_t bytes = std::strlen(from) + 1;
  if (bytes > sizeof texts_ - used_) {
    return error->fail(DH_ERR_LIMIT, "the options' texts are longer than %zu bytes altogether", sizeof texts_);
  }
  std::memcpy(texts_ + used_, from, bytes);
  *kept = texts_ + used_;
  used_ += bytes;
  return DH_OK;
}

Status Options::assign(const dh_options& from, ErrorText* error) {
  if (from.struct_size < offsetof(dh_options, sink) || from.struct_size > 65536) {
    return error->fail(DH_ERR_ARGUMENT, "dh_options.struct_size is %u: begin with dh_options_default()",
                       from.struct_size);
  }
  const size_t known = from.struct_size < sizeof options_ ? from.struct_size : sizeof options_;
  std::memcpy(static_cast<void*>(&options_), &from, known);
  options_.struct_size = sizeof options_;
  for (const Key& key : kKeys) {
    if (key.kind != Kind::text) continue;
    const char** field = reinterpret_cast<const char**>(reinterpret_cast<uint8_t*>(&options_) + key.offset);
    if (*field == nullptr) continue;
    const Status status = keep(*field, field, error);
    if (status != DH_OK) return status;
  }
  return DH_OK;
}

Status Options::set(const char* name, const char* value, ErrorText* error) {
  const Key* key = find_key(name);
  if (key == nullptr) return error->fail(DH_ERR_OPTION, "unknown key \"%.60s\"", name);
  if (key->kind == Kind::text) {
    const char** field = reinterpret_cast<const char**>(reinterpret_cast<uint8_t*>(&options_) + key->offset);
    return keep(value, field, error);
  }
  return parse_value(*key, value, &options_) ? DH_OK : parse_error(*key, value, error);
}

Status Options::set_lines(const char* text, const char* origin, ErrorText* error) {
  return each_line(text, origin, error,
                   [this, error](const char* key, const char* value) { return set(key, value, error); });
}

Status Options::read_file(const char* path, ErrorText* error) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return error->fail(DH_ERR_OPTION, "config file %.200s: %s", path, std::strerror(errno));
  char text[16384];
  size_t used = 0;
  ssize_t got = 0;
  while (used < sizeof text && (got = read(fd, text + used, sizeof text - used)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    used += static_cast<size_t>(got);
  }
  const int read_error = errno;
  close(fd);
  if (got < 0) return error->fail(DH_ERR_OPTION, "config file %.200s: %s", path, std::strerror(read_error));
  if (used == sizeof text) {
    return error->fail(DH_ERR_LIMIT, "config file %.200s: longer than %zu bytes", path, sizeof text - 1);
  }
  text[used] = '\0';
  if (std::strlen(text) != used) return error->fail(DH_ERR_OPTION, "config file %.200s: has a NUL byte", path);
  return set_lines(text, path, error);
}

Status Options::read_environment(const char* const* environment, ErrorText* error) {
  static constexpr char kPrefix[] = "DUMPHOOK_";
  constexpr size_t kPrefixBytes = sizeof kPrefix - 1;
  const char* config = nullptr;
  for (const char* const* variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "DUMPHOOK_CONFIG=", 16) == 0) config = *variable + 16;
  }
  if (config != nullptr && *config != '\0') {
    const Status status = read_file(config, error);
    if (status != DH_OK) return status;
  }
  for (const char* const* variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, kPrefix, kPrefixBytes) != 0) continue;
    const char* name = *variable + kPrefixBytes;
    const char* equals = std::strchr(name, '=');
    if (equals == nullptr || std::strncmp(name, "CONFIG=", 7) == 0 || std::strncmp(name, "META_", 5) == 0) continue;
    char key[64];
    const size_t length = static_cast<size_t>(equals - name);
    if (length >= sizeof key) continue;
    for (size_t i = 0; i < length; ++i) {
      key[i] = name[i] >= 'A' && name[i] <= 'Z' ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
    }
    key[length] = '\0';
    // Other programs of the project have variables of their own; only a known key can be set wrongly.
    if (find_key(key) == nullptr) continue;
    const Status status = set(key, equals + 1, error);
    if (status != DH_OK) {
      char why[sizeof error->text];
      std::memcpy(why, error->text, sizeof why);
      return error->fail(status, "environment variable %.*s: %.400s", static_cast<int>(equals - *variable), *variable,
                         why);
    }
  }
  return DH_OK;
}

Status Options::finish(ErrorText* error) {
  dh_options& o = options_;
  const auto fill32 = [](uint32_t* field, uint32_t value) { *field = *field == 0 ? value : *field; };
  const auto fill64 = [](uint64_t* field, uint64_t value) { *field = *field == 0 ? value : *field; };
  fill32(&o.policy, DH_POLICY_DROP);
  fill32(&o.level, DH_LEVEL_FULL);
  fill64(&o.raw_pool_bytes, 16u << 20);
  fill64(&o.spool_bytes, 8u << 20);
  fill64(&o.descriptor_bytes, 1u << 20);
  fill64(&o.index_bytes, 1u << 20);
  fill32(&o.block_bytes, 16u << 10);
  fill32(&o.part_bytes, 1u << 20);
  fill32(&o.max_tensors, 1024);
  fill32(&o.max_open_frames, DH_MAX_OPEN_FRAMES);
  fill32(&o.block_timeout_ms, 1000);
  fill32(&o.window_ms, 200);
  fill32(&o.hello_ms, 500);
  fill32(&o.connect_ms, 5000);
  fill32(&o.close_ms, 2000);
  fill32(&o.sync, DH_SYNC_CLOSE);
  fill32(&o.sync_interval_ms, 1000);
  fill32(&o.on_full, DH_ON_FULL_STOP);
  fill32(&o.chunk_bytes, 1u << 20);
  if (o.thread_name == nullptr) o.thread_name = "dumphook";

  if (o.policy > DH_POLICY_BLOCK) return error->fail(DH_ERR_OPTION, "policy %u is not a dh_policy", o.policy);
  if (o.level > DH_LEVEL_FULL) return error->fail(DH_ERR_OPTION, "level %u is not a dh_level", o.level);
  if (o.sync > DH_SYNC_CHUNK) return error->fail(DH_ERR_OPTION, "sync %u is not a dh_sync", o.sync);
  if (o.on_full > DH_ON_FULL_ROTATE) return error->fail(DH_ERR_OPTION, "on_full %u is not a dh_on_full", o.on_full);
  if ((o.block_bytes & (o.block_bytes - 1)) != 0 || o.block_bytes < 4096 || o.block_bytes > (1u << 20)) {
    return error->fail(DH_ERR_OPTION, "block_bytes is %u: a power of two from 4 KiB to 1 MiB", o.block_bytes);
  }
  if (o.part_bytes < 4096 || o.part_bytes > (16u << 20) || o.part_bytes % o.block_bytes != 0) {
    return error->fail(DH_ERR_OPTION, "part_bytes is %u: 4 KiB to 16 MiB, and a multiple of block_bytes (%u)",
                       o.part_bytes, o.block_bytes);
  }
  if (o.raw_pool_bytes / 2 < o.part_bytes || o.raw_pool_bytes / o.block_bytes > (1u << 24)) {
    return error->fail(DH_ERR_OPTION,
                       "raw_pool_bytes is %llu: at least twice part_bytes (%u), at most 16 million blocks",
                       static_cast<unsigned long long>(o.raw_pool_bytes), o.part_bytes);
  }
  if (o.spool_bytes / 4 < o.part_bytes || o.spool_bytes < kLeastSpoolBytes) {
    return error->fail(DH_ERR_OPTION, "spool_bytes is %llu: at least 256 KiB, and four times part_bytes (%u)",
                       static_cast<unsigned long long>(o.spool_bytes), o.part_bytes);
  }
  for (const uint64_t bytes : {o.raw_pool_bytes, o.spool_bytes, o.descriptor_bytes, o.index_bytes}) {
    if (bytes > SIZE_MAX / 16) return error->fail(DH_ERR_MEMORY, "the budget does not fit the address space");
  }
  if (o.descriptor_bytes < 65536 || o.index_bytes < 65536) {
    return error->fail(DH_ERR_OPTION, "descriptor_bytes and index_bytes must be at least 64 KiB");
  }
  if (o.max_tensors > 65000) return error->fail(DH_ERR_OPTION, "max_tensors is %u: at most 65000", o.max_tensors);
  if (o.max_open_frames > DH_MAX_OPEN_FRAMES) {
    return error->fail(DH_ERR_OPTION, "max_open_frames is %u: at most %d", o.max_open_frames, DH_MAX_OPEN_FRAMES);
  }
  if (o.quota_bytes != 0 && (o.quota_bytes / 4 < o.part_bytes || o.quota_bytes < kLeastQuotaBytes)) {
    return error->fail(DH_ERR_OPTION, "quota_bytes is %llu: at least 256 KiB, and four times part_bytes (%u)",
                       static_cast<unsigned long long>(o.quota_bytes), o.part_bytes);
  }
  if (text_length(o.triggers) != 0) {
    return error->fail(DH_ERR_UNSUPPORTED, "triggers are not in this version: remove \"triggers\"");
  }
  if (o.pretrigger_bytes != 0) {
    return error->fail(DH_ERR_UNSUPPORTED, "pretrigger_bytes: triggers are not in this version");
  }
  return DH_OK;
}

Status make_selection(const dh_options& o, Selection* selection, ErrorText* error) {
  Status status = copy_list(o.include, selection->include, "include", error);
  if (status == DH_OK) status = copy_list(o.exclude, selection->exclude, "exclude", error);
  if (status == DH_OK) status = copy_list(o.levels, selection->levels, "levels", error);
  if (status == DH_OK) status = check_items(selection->include, "include", error);
  if (status == DH_OK) status = check_items(selection->exclude, "exclude", error);
  if (status == DH_OK) status = check_levels(selection->levels, error);
  if (status != DH_OK) return status;
  selection->role_mask = o.role_mask;
  selection->level = o.level;
  selection->every_nth = o.every_nth;
  selection->first_n = o.first_n;
  selection->frame_first = o.frame_first;
  selection->frame_last = o.frame_last;
  selection->bytes_per_frame = o.bytes_per_frame;
  return DH_OK;
}

Status set_selection_lines(const char* text, Selection* selection, ErrorText* error) {
  dh_options o = dh_options_default();
  o.include = selection->include;
  o.exclude = selection->exclude;
  o.levels = selection->levels;
  o.role_mask = selection->role_mask;
  o.level = selection->level;
  o.every_nth = selection->every_nth;
  o.first_n = selection->first_n;
  o.frame_first = selection->frame_first;
  o.frame_last = selection->frame_last;
  o.bytes_per_frame = selection->bytes_per_frame;
  Selection changed = *selection;
  const Status status = each_line(text, "dh_configure", error, [&](const char* name, const char* value) {
    const Key* key = find_key(name);
    if (key == nullptr || !key->live) {
      return error->fail(DH_ERR_OPTION, "\"%.60s\" cannot be changed while running", name);
    }
    if (key->kind != Kind::text) return parse_value(*key, value, &o) ? DH_OK : parse_error(*key, value, error);
    if (std::strcmp(name, "include") == 0) return copy_list(value, changed.include, name, error);
    if (std::strcmp(name, "exclude") == 0) return copy_list(value, changed.exclude, name, error);
    if (std::strcmp(name, "levels") == 0) return copy_list(value, changed.levels, name, error);
    return *value == '\0' ? DH_OK : error->fail(DH_ERR_UNSUPPORTED, "triggers are not in this version");
  });
  if (status != DH_OK) return status;
  o.include = changed.include;
  o.exclude = changed.exclude;
  o.levels = changed.levels;
  Selection made;
  const Status valid = make_selection(o, &made, error);
  if (valid == DH_OK) *selection = made;
  return valid;
}

}  // namespace dumphook
