# Copy this file for a board whose vendor ships a compiler, and edit the lines marked EDIT.
# A Yocto SDK or Buildroot brings a toolchain file of its own: use that one instead.
#
#   cmake -B build -DCMAKE_TOOLCHAIN_FILE=my-board.cmake \
#         -DVENDOR_SDK=/opt/vendor/sdk -DDUMPHOOK_SYSROOT=/path/with/mbedtls
#
# libdumphook needs a C++17 compiler (GCC 7.5 or newer) and, for the target: mbedTLS
# (unless DUMPHOOK_TLS=OFF), the FlatBuffers headers. Should the SDK lack them, build them
# into one folder, as <folder>/usr/include and <folder>/usr/lib, and name it
# DUMPHOOK_SYSROOT. A sysroot that sysroot.sh made serves too when the SDK's libc is
# glibc 2.34 or newer: its libraries were compiled against Debian's.

set(dumphook_triple aarch64-linux-gnu) # EDIT: prefix of the SDK's tools
set(dumphook_bin bin)                  # EDIT: where the SDK keeps its tools
set(dumphook_libc libc)                # EDIT: the folder of the SDK that has lib/ and usr/include/
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)    # EDIT: what uname -m says on the board

if(NOT VENDOR_SDK)
  set(VENDOR_SDK $ENV{VENDOR_SDK})
endif()
if(NOT VENDOR_SDK OR NOT EXISTS ${VENDOR_SDK}/${dumphook_bin}/${dumphook_triple}-g++)
  message(FATAL_ERROR "There is no ${dumphook_bin}/${dumphook_triple}-g++ in \"${VENDOR_SDK}\": set VENDOR_SDK, in the cache or the environment, to the folder of the vendor's SDK.")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES VENDOR_SDK DUMPHOOK_SYSROOT)

set(CMAKE_C_COMPILER ${VENDOR_SDK}/${dumphook_bin}/${dumphook_triple}-gcc)
set(CMAKE_CXX_COMPILER ${VENDOR_SDK}/${dumphook_bin}/${dumphook_triple}-g++)
# EDIT: leave this out where the compiler knows its own sysroot.
set(CMAKE_SYSROOT ${VENDOR_SDK}/${dumphook_libc})

# EDIT: processor flags belong here, since a toolchain file is where a board is named.
# set(CMAKE_C_FLAGS_INIT -mcpu=cortex-a55)
# set(CMAKE_CXX_FLAGS_INIT -mcpu=cortex-a55)

if(NOT DUMPHOOK_SYSROOT)
  set(DUMPHOOK_SYSROOT $ENV{DUMPHOOK_SYSROOT})
endif()
list(APPEND CMAKE_FIND_ROOT_PATH ${DUMPHOOK_SYSROOT} ${VENDOR_SDK})
list(REMOVE_DUPLICATES CMAKE_FIND_ROOT_PATH)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# EDIT: to run tests on this machine: -L names the folder that holds the SDK's lib/ld-linux*.
# set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${VENDOR_SDK}/${dumphook_libc})
