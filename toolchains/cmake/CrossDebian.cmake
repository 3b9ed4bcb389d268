# What the *-linux-gnu toolchain files share. Each sets, before it includes this file:
#   dumphook_triple  the GNU triple, also the prefix of Debian's cross compiler
#   dumphook_qemu    the qemu-user program that runs its binaries
# and CMAKE_SYSTEM_PROCESSOR.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_LIBRARY_ARCHITECTURE ${dumphook_triple})

include(${CMAKE_CURRENT_LIST_DIR}/TargetSysroot.cmake)

# libc and libstdc++ come with the compiler, so there is no CMAKE_SYSROOT.
foreach(language C CXX)
  set(tool_C gcc)
  set(tool_CXX g++)
  if(NOT CMAKE_${language}_COMPILER)
    find_program(compiler ${dumphook_triple}-${tool_${language}} NO_CACHE)
    if(NOT compiler)
      message(FATAL_ERROR "${dumphook_triple}-${tool_${language}} is not installed: run toolchains/setup.sh --cross, or set CMAKE_${language}_COMPILER.")
    endif()
    set(CMAKE_${language}_COMPILER ${compiler})
    unset(compiler)
  endif()
endforeach()

list(APPEND CMAKE_FIND_ROOT_PATH /usr/${dumphook_triple})
list(REMOVE_DUPLICATES CMAKE_FIND_ROOT_PATH)

# The sysroot's lib/ leads to the cross compiler's libc, its proc/ to a fitting cpuinfo.
dumphook_emulator(${dumphook_qemu} -L ${DUMPHOOK_SYSROOT})
