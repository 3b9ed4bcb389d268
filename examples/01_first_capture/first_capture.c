/* SPDX-License-Identifier: Apache-2.0
 * The smallest capture: one tensor in one frame, in a file. Then: dumphook show first.mcap logits */
#include <dumphook/dumphook.h>
#include <stdio.h>

static void on_log(void* user, dh_log_level level, const char* text) {
  (void)user, (void)level;
  fprintf(stderr, "dumphook: %s\n", text);
}

int main(void) {
  const float logits[4] = {0.5f, -1.25f, 3.0f, 0.0f};

  dh_options options = dh_options_default();
  options.sink = "file:first.mcap";
  options.include = "*";
  options.on_log = on_log;
  dh_session* session;
  dh_open(&options, &session); /* on error session is NULL, and what follows does nothing */

  static dh_tap tap = DH_TAP_INIT;
  dh_frame frame = dh_frame_begin(session, NULL);
  dh_tensor tensor = dh_tensor_default();
  tensor.name = "logits";
  tensor.dtype = DH_F32;
  tensor.rank = 2;
  tensor.shape[0] = 1;
  tensor.shape[1] = 4;
  tensor.data = logits;
  dh_status status = dh_capture(session, &tap, frame, &tensor);
  dh_frame_end(session, frame);

  printf("capture: %s\n", dh_status_text(status));
  return dh_close(session) == DH_OK && status == DH_OK ? 0 : 1;
}
