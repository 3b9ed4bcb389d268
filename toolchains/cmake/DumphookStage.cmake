# SPDX-License-Identifier: Apache-2.0
# A stage is a folder, a static library and an include prefix: dumphook_stage(pool DEPENDS base) in runtime/pool gives
# target dumphook_pool, whose headers are included as "pool/x.h". Each stage sees its own headers and those of the
# stages it depends on, nothing else: an include against the flow does not compile.

set(dumphook_flags -Wall -Wextra -Wconversion -Wshadow -fvisibility=hidden -ffunction-sections -fdata-sections)
if(DUMPHOOK_DEVELOPER)
  list(APPEND dumphook_flags -Werror)
endif()
# No unwind tables: nothing throws, and a callback of the C ABI must not. Debuggers read -g's own, and backtraces on 64-bit
# Arm go by frame pointers, which compilers keep there.
set(dumphook_runtime_flags -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-unwind-tables
                           -fno-asynchronous-unwind-tables -fvisibility-inlines-hidden)
if(DUMPHOOK_SANITIZE) # vptr would need the runtime's RTTI
  set(dumphook_sanitize -fsanitize=${DUMPHOOK_SANITIZE} -fno-sanitize-recover=all -fno-sanitize=vptr -fno-omit-frame-pointer)
endif()

# dumphook_stage(NAME [RUNTIME] [HEADER_ONLY] SOURCES ... DEPENDS stage ... LINK target ...)
function(dumphook_stage name)
  cmake_parse_arguments(arg "RUNTIME;HEADER_ONLY" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  set(target dumphook_${name})
  set(view "${PROJECT_BINARY_DIR}/stages/${name}")
  file(MAKE_DIRECTORY "${view}")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${view}/${name}" SYMBOLIC)
  list(TRANSFORM arg_DEPENDS PREPEND dumphook_)
  if(arg_HEADER_ONLY)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${view}>")
    target_link_libraries(${target} INTERFACE ${arg_DEPENDS} ${arg_LINK})
    return()
  endif()
  add_library(${target} STATIC ${arg_SOURCES})
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${view}>")
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} ${arg_LINK})
  dumphook_flags(${target})
  if(arg_RUNTIME)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${dumphook_runtime_flags}>)
    target_compile_definitions(${target} PRIVATE DH_BUILDING_LIBRARY)
  endif()
endfunction()

# Our warnings, C++17 and the chosen sanitizers, on an own target.
function(dumphook_flags target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${dumphook_flags} ${dumphook_sanitize})
  target_link_options(${target} PUBLIC ${dumphook_sanitize})
endfunction()
