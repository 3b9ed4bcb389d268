# SPDX-License-Identifier: Apache-2.0
# Finds the TFLite C library that examples/assets/fetch.sh fetches, for the target. Sets TFLite_FOUND and defines
#   TFLite::tensorflowlite_c
#
# DUMPHOOK_ASSETS says where; else <DUMPHOOK_CACHE>/assets, DUMPHOOK_CACHE from the cache or the environment; else
# <repo>/.cache/assets.
if(DUMPHOOK_CACHE)
  set(_assets "${DUMPHOOK_CACHE}/assets")
elseif(DEFINED ENV{DUMPHOOK_CACHE})
  set(_assets "$ENV{DUMPHOOK_CACHE}/assets")
else()
  get_filename_component(_assets "${CMAKE_CURRENT_LIST_DIR}/../../.cache/assets" ABSOLUTE)
endif()
set(DUMPHOOK_ASSETS "${_assets}" CACHE PATH "What examples/assets/fetch.sh made")

set(_platform "no build for ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}")
if(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(_platform linux_amd64)
elseif(CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(_platform linux_arm64)
endif()
if(CMAKE_CXX_COMPILER MATCHES musl)
  set(_platform "no build for musl")
endif()

set(TFLite_LIBRARY "${DUMPHOOK_ASSETS}/tflite/${_platform}/libtensorflowlite_c.so")
set(TFLite_INCLUDE_DIR "${DUMPHOOK_ASSETS}/tflite/include")
if(EXISTS "${TFLite_LIBRARY}" AND EXISTS "${TFLite_INCLUDE_DIR}/tensorflow/lite/c/c_api.h")
  set(TFLite_FOUND TRUE)
  if(NOT TARGET TFLite::tensorflowlite_c)
    add_library(TFLite::tensorflowlite_c SHARED IMPORTED)
    set_target_properties(TFLite::tensorflowlite_c PROPERTIES
      IMPORTED_LOCATION "${TFLite_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${TFLite_INCLUDE_DIR}")
  endif()
else()
  set(TFLite_FOUND FALSE)
  if(NOT TFLite_FIND_QUIETLY)
    message(STATUS "TFLite is not there (${TFLite_LIBRARY}): run examples/assets/fetch.sh, or set DUMPHOOK_ASSETS")
  endif()
endif()
