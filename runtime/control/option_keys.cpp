// SPDX-License-Identifier: Apache-2.0
#include "control/option_keys.h"

#include <errno.h>

#include <cstdlib>
#include <cstring>

#include "base/dtype.h"

namespace dumphook {
namespace {

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

// Stored by its first bytes: little-endian.
struct Default {
  uint16_t offset;
  uint16_t width;
  uint32_t value;
};
#define DEFAULT(name, value) \
  { FIELD(name), sizeof(dh_options::name), value }
constexpr Default kDefaults[] = {
    DEFAULT(policy, DH_POLICY_DROP),
    DEFAULT(level, DH_LEVEL_FULL),
    DEFAULT(raw_pool_bytes, 16u << 20),
    DEFAULT(spool_bytes, 8u << 20),
    DEFAULT(descriptor_bytes, 1u << 20),
    DEFAULT(index_bytes, 1u << 20),
    DEFAULT(block_bytes, 16u << 10),
    DEFAULT(part_bytes, 1u << 20),
    DEFAULT(max_tensors, 1024),
    DEFAULT(max_open_frames, DH_MAX_OPEN_FRAMES),
    DEFAULT(block_timeout_ms, 1000),
    DEFAULT(window_ms, 200),
    DEFAULT(hello_ms, 500),
    DEFAULT(connect_ms, 5000),
    DEFAULT(close_ms, 2000),
    DEFAULT(sync, DH_SYNC_CLOSE),
    DEFAULT(sync_interval_ms, 1000),
    DEFAULT(on_full, DH_ON_FULL_STOP),
    DEFAULT(chunk_bytes, 1u << 20),
};
#undef DEFAULT
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

}  // namespace

Span<const Key> option_keys() { return kKeys; }

const Key* find_key(const char* name) {
  for (const Key& key : kKeys) {
    if (std::strcmp(key.name, name) == 0) return &key;
  }
  return nullptr;
}

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

Status parse_error(const Key& key, const char* value, ErrorText* error) {
  return error->fail(DH_ERR_OPTION, "%s = \"%.80s\": expected %s", key.name, value, expectation(key.kind));
}

void fill_in_defaults(dh_options* options) {
  for (const Default& standard : kDefaults) {
    auto* const field = reinterpret_cast<uint8_t*>(options) + standard.offset;
    uint64_t value = 0;
    std::memcpy(&value, field, standard.width);
    if (value != 0) continue;
    value = standard.value;
    std::memcpy(field, &value, standard.width);
  }
}

}  // namespace dumphook
