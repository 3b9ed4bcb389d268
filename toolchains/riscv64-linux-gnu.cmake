# RISC-V boards (RV64GC) with glibc, by Debian's cross compiler.
set(dumphook_triple riscv64-linux-gnu)
set(dumphook_qemu qemu-riscv64)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/cmake/CrossDebian.cmake)
