// SPDX-License-Identifier: Apache-2.0
// Every inner symbol of libdumphook is a trap of this program, and none is stepped on.
extern "C" int trapped;

#define main consumer_main
extern "C" {
#include "main.c"
}
#undef main

int main(int argc, char** argv) {
  const int status = consumer_main(argc, argv);
  return trapped != 0 ? 100 : status;
}
