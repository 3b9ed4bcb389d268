# 64-bit Arm boards with musl, by zig cc, which sysroot.sh wraps.
# A program that links no shared library is static, without being asked.
set(dumphook_triple aarch64-linux-musl)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

include(${CMAKE_CURRENT_LIST_DIR}/cmake/TargetSysroot.cmake)

set(dumphook_zig ${DUMPHOOK_CACHE}/zig/bin/${dumphook_triple})
if(NOT EXISTS ${dumphook_zig}-gcc)
  message(FATAL_ERROR "${dumphook_zig}-gcc does not exist: run toolchains/sysroot.sh musl-aarch64, or set DUMPHOOK_CACHE.")
endif()
set(CMAKE_C_COMPILER ${dumphook_zig}-gcc)
set(CMAKE_CXX_COMPILER ${dumphook_zig}-g++)
set(CMAKE_AR ${dumphook_zig}-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${dumphook_zig}-ranlib CACHE FILEPATH "")

# zig has no equal of these; Debian's for the same processor serve.
foreach(tool ld nm objcopy objdump readelf strip)
  find_program(dumphook_tool aarch64-linux-gnu-${tool} NO_CACHE)
  if(dumphook_tool)
    string(TOUPPER ${tool} variable)
    string(REGEX REPLACE "^LD$" LINKER variable ${variable})
    set(CMAKE_${variable} ${dumphook_tool} CACHE FILEPATH "")
  endif()
  unset(dumphook_tool)
endforeach()

# zig cc traps on undefined behaviour unless told otherwise; other compilers do not.
set(CMAKE_C_FLAGS_INIT -fno-sanitize=undefined)
set(CMAKE_CXX_FLAGS_INIT -fno-sanitize=undefined)

dumphook_emulator(qemu-aarch64 -L ${DUMPHOOK_SYSROOT})
