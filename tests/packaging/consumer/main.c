/* SPDX-License-Identifier: Apache-2.0
 * An application: captures one tensor to the file it is told, and asks again for one that is off. */
#include <dumphook/dumphook.h>
#include <stdio.h>

static void print_log(void* user, dh_log_level level, const char* text) {
  (void)user;
  fprintf(stderr, "log %d: %s\n", (int)level, text);
}

int main(int argc, char** argv) {
  static dh_tap on = DH_TAP_INIT, off = DH_TAP_INIT;
  static const float values[] = {1.0f, -2.0f, 0.5f, 65504.0f};
  dh_session* session = NULL;
  dh_options options = dh_options_default();
  dh_tensor tensor = dh_tensor_default();
  dh_frame frame;
  if (argc < 2) return 2;
  printf("dumphook %s\n", dh_version());

  options.sink = argv[1];
  options.include = "logits";
  options.on_log = print_log;
  if (dh_open(&options, &session) != DH_OK) return 1;

  tensor.name = "logits";
  tensor.dtype = DH_F32;
  tensor.rank = 2;
  tensor.shape[0] = tensor.shape[1] = 2;
  tensor.data = values;
  frame = dh_frame_begin(session, NULL);
  if (!dh_tap_on(&on) || dh_capture(session, &on, frame, &tensor) != DH_OK) return 3;
  tensor.name = "not selected";
  if (!dh_tap_on(&off) || dh_capture(session, &off, frame, &tensor) != DH_SKIPPED) return 4;
  if (dh_tap_on(&off)) return 5; /* the header and the library look at the same dh_epoch */
  dh_frame_end(session, frame);
  return dh_close(session) == DH_OK ? 0 : 6;
}
