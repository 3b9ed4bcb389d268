/* SPDX-License-Identifier: Apache-2.0
 * resident file PATH | tcp PATH: what a session keeps in memory beyond dh_required_bytes after captures into a file or
 * to a collector that writes to PATH: written memory by the kernel's count, stacks included. Code and constants come on
 * top (budget.json: at most 160 KiB on a board); which of their pages are resident is the page cache's affair. Both
 * together are to be at most 256 KiB. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dumphook/dumphook.h"

enum { kLimitBytes = (256 - 160) << 10, kFrames = 200, kTensors = 20, kTensorBytes = 300000 };

static float values[kTensorBytes / sizeof(float)];
static char buffer[65536];

static long long resident_bytes(void) {
  const int fd = open("/proc/self/smaps_rollup", O_RDONLY);
  if (fd < 0) return -1;
  const ssize_t got = read(fd, buffer, sizeof buffer - 1);
  close(fd);
  buffer[got > 0 ? got : 0] = '\0';
  const char* line = strstr(buffer, "\nAnonymous:");
  return line == NULL ? -1 : strtoll(line + 11, NULL, 10) * 1024;
}

static void collect(int listener, const char* path) {
  const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int from = accept(listener, NULL, NULL);
  ssize_t got = 0;
  while ((got = read(from, buffer, sizeof buffer)) > 0) {
    if (write(out, buffer, (size_t)got) != got) _exit(1);
  }
  _exit(got == 0 ? 0 : 1);
}

static int listen_on_loopback(unsigned* port) {
  struct sockaddr_in address = {0};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr*)&address, length) != 0 || listen(listener, 1) != 0) return -1;
  getsockname(listener, (struct sockaddr*)&address, &length);
  *port = ntohs(address.sin_port);
  return listener;
}

static void on_log(void* user, dh_log_level level, const char* text) {
  (void)user;
  if (level != DH_LOG_INFO) fprintf(stderr, "%s\n", text);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  char sink[4096];
  if (strcmp(argv[1], "tcp") == 0) {
    unsigned port = 0;
    const int listener = listen_on_loopback(&port);
    if (listener < 0) return 1;
    if (fork() == 0) collect(listener, argv[2]);
    close(listener);
    snprintf(sink, sizeof sink, "tcp://127.0.0.1:%u", port);
  } else {
    snprintf(sink, sizeof sink, "file:%s?overwrite=1", argv[2]);
  }
  for (size_t i = 0; i < kTensorBytes / sizeof(float); ++i) values[i] = (float)(i % 977) * (float)(i % 3);

  dh_options options = dh_options_default();
  options.sink = sink;
  options.include = "*";
  options.policy = DH_POLICY_BLOCK;
  options.on_log = on_log;
  const long long budget = (long long)dh_required_bytes(&options, NULL);
  long long before = resident_bytes();
  before = resident_bytes();

  dh_session* session = NULL;
  if (dh_open(&options, &session) != DH_OK) return 1;
  dh_tensor tensor = dh_tensor_default();
  tensor.dtype = DH_F32;
  tensor.rank = 1;
  tensor.shape[0] = kTensorBytes / sizeof(float);
  tensor.data = values;
  for (unsigned f = 0; f < kFrames; ++f) {
    const dh_frame frame = dh_frame_begin(session, NULL);
    for (int t = 0; t < kTensors; ++t) {
      char name[16];
      snprintf(name, sizeof name, "layer%d", t);
      tensor.name = name;
      if (dh_capture_by_name(session, frame, &tensor) != DH_OK) return 1;
    }
    dh_frame_end(session, frame);
  }
  if (dh_flush(session, 60000) != DH_OK) return 1;
  const long long after = resident_bytes();
  dh_close(session);
  int status = 0;
  if (strcmp(argv[1], "tcp") == 0 && (wait(&status) < 0 || status != 0)) return 1;

  const long long beyond = after - before - budget;
  printf("%s: budget %lld KiB, %lld KiB more written\n", argv[1], budget / 1024, beyond / 1024);
  return before > 0 && after - before > budget / 2 && beyond <= kLimitBytes ? 0 : 1;
}
