# For toolchain files: the root that holds the target's lz4, mbedTLS and FlatBuffers, where
# to search, and how to run what is built. Needs dumphook_triple.
#
# The root is DUMPHOOK_SYSROOT, from the cache or the environment; else
# <DUMPHOOK_CACHE>/sysroot/<triple>, as sysroot.sh makes it; DUMPHOOK_CACHE likewise,
# else <repo>/.cache.

if(NOT DUMPHOOK_CACHE)
  set(DUMPHOOK_CACHE $ENV{DUMPHOOK_CACHE})
  if(NOT DUMPHOOK_CACHE)
    get_filename_component(DUMPHOOK_CACHE ${CMAKE_CURRENT_LIST_DIR}/../../.cache ABSOLUTE)
  endif()
endif()
if(NOT DUMPHOOK_SYSROOT)
  set(DUMPHOOK_SYSROOT $ENV{DUMPHOOK_SYSROOT})
  if(NOT DUMPHOOK_SYSROOT)
    set(DUMPHOOK_SYSROOT ${DUMPHOOK_CACHE}/sysroot/${dumphook_triple})
  endif()
endif()
if(NOT IS_DIRECTORY ${DUMPHOOK_SYSROOT})
  message(FATAL_ERROR "There is no sysroot for ${dumphook_triple} at ${DUMPHOOK_SYSROOT}: run toolchains/setup.sh --cross, or set DUMPHOOK_SYSROOT.")
endif()

# try_compile reads the toolchain file again, in a project of its own.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DUMPHOOK_SYSROOT DUMPHOOK_CACHE)

# Libraries and headers from the target only, programs (flatc) from the host only.
# A user's own staging folder joins by -DCMAKE_FIND_ROOT_PATH=...
list(APPEND CMAKE_FIND_ROOT_PATH ${DUMPHOOK_SYSROOT})
list(REMOVE_DUPLICATES CMAKE_FIND_ROOT_PATH)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${DUMPHOOK_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} "${DUMPHOOK_SYSROOT}/usr/lib/${dumphook_triple}/pkgconfig:${DUMPHOOK_SYSROOT}/usr/lib/pkgconfig:${DUMPHOOK_SYSROOT}/usr/share/pkgconfig")

# CTest and gtest_discover_tests run the target's programs by this. Not fatal when it is
# missing: the build itself does not need it.
macro(dumphook_emulator program)
  if(NOT DEFINED CMAKE_CROSSCOMPILING_EMULATOR)
    find_program(dumphook_emulator ${program}-static ${program} NO_CACHE)
    if(dumphook_emulator)
      set(CMAKE_CROSSCOMPILING_EMULATOR ${dumphook_emulator} ${ARGN})
    else()
      message(WARNING "${program}-static is not installed, so tests cannot run: run toolchains/setup.sh --cross.")
    endif()
    unset(dumphook_emulator)
  endif()
endmacro()
