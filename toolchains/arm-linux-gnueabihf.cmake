# 32-bit Arm boards (ARMv7, hard float) with glibc, by Debian's cross compiler.
set(dumphook_triple arm-linux-gnueabihf)
set(dumphook_qemu qemu-arm)
set(CMAKE_SYSTEM_PROCESSOR armv7l)
include(${CMAKE_CURRENT_LIST_DIR}/cmake/CrossDebian.cmake)
