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

#include "control/config_lines.h"
#include "control/option_keys.h"

namespace dumphook {
namespace {

// The largest descriptor (names, and 8192 scales and zero points) is a record of up to half the spool.
constexpr uint64_t kLeastSpoolBytes = 256 << 10;
constexpr uint64_t kLeastQuotaBytes = 256 << 10;

// The switches of SigmaStar's DebugConfig.txt, which serves as a config file as it is, and what becomes of them here.
struct DebugSwitch {
  const char* name;
  const char* note;
};
constexpr DebugSwitch kDebugSwitches[] = {
    {"dumpTensor", "as include = *"},
    {"eliminateGarbage", "not needed, captures hold no padding"},
    {"dequantFixed", "not needed, `dumphook` on the PC turns stored integers into real values"},
    {"dumpasstring", "not on the board: `dumphook export --format txt` on the PC"},
    {"disableDomainFuseOps", "for the converter, not for the board"},
    {"dumpdonotrecovery", "unknown here"},
};

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
  for (const Key& key : option_keys()) {
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

void Options::note(const char* key, const char* text) const {
  if (options_.on_log == nullptr) return;
  char line[1100];
  std::snprintf(line, sizeof line, "config: %s: %s", key, text);
  options_.on_log(options_.on_log_user, DH_LOG_INFO, line);
}

Status Options::set_debug_switch(char* line, ErrorText* error) {
  cut_comment(line);
  for (const DebugSwitch& known : kDebugSwitches) {
    if (std::strcmp(known.name, line) != 0) continue;
    note(line, known.note);
    if (&known != kDebugSwitches) return DH_OK;
    options_.include = "*";
    return text_length(options_.sink) != 0 ? DH_OK : set_debug_path("", error);
  }
  return bare_error(line, error);
}

Status Options::set_debug_path(const char* folder, ErrorText* error) {
  const char* const home = std::getenv("HOME");
  char sink[1024];
  const int bytes = std::snprintf(sink, sizeof sink, "file:%s/dumphook.mcap",
                                  *folder != '\0'   ? folder
                                  : home != nullptr ? home
                                                    : ".");
  if (bytes >= static_cast<int>(sizeof sink)) return error->fail(DH_ERR_LIMIT, "path: longer than 1000 bytes");
  note("path", sink);
  return keep(sink, &options_.sink, error);
}

Status Options::set_lines(const char* text, const char* origin, ErrorText* error) {
  struct Setting final : Lines {
    Setting(Options& self, ErrorText* why) : options(self), error(why) {}
    Status take(const char* key, char* value) override {
      if (std::strcmp(key, "path") != 0) return options.set(key, value, error);
      cut_comment(value);
      return options.set_debug_path(value, error);
    }
    Status take_bare(char* line) override { return options.set_debug_switch(line, error); }
    Options& options;
    ErrorText* error;
  } setting(*this, error);
  return each_line(text, origin, error, setting);
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
  fill_in_defaults(&o);
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
  for (const uint64_t bytes :
       {o.raw_pool_bytes, o.spool_bytes, o.pretrigger_bytes, o.descriptor_bytes, o.index_bytes}) {
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
  if (o.pretrigger_bytes != 0 && (o.pretrigger_bytes / 4 < o.part_bytes || o.pretrigger_bytes < kLeastSpoolBytes)) {
    return error->fail(DH_ERR_OPTION,
                       "pretrigger_bytes is %llu: 0, or at least 256 KiB, and four times part_bytes (%u)",
                       static_cast<unsigned long long>(o.pretrigger_bytes), o.part_bytes);
  }
  return DH_OK;
}

}  // namespace dumphook
