# 64-bit Arm boards with glibc, by Debian's cross compiler.
set(dumphook_triple aarch64-linux-gnu)
set(dumphook_qemu qemu-aarch64)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cmake/CrossDebian.cmake)
