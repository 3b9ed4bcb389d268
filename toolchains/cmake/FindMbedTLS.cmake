# Finds mbedTLS 2.28 or 3.x. Sets MbedTLS_FOUND, MbedTLS_VERSION and defines
#   MbedTLS::mbedtls  MbedTLS::mbedx509  MbedTLS::mbedcrypto
#   MbedTLS::mbedtls_static  ...x509_static  ...crypto_static   where there are static libraries
# MbedTLS_DIR, when given, names mbedTLS's own CMake package, which then is used as it is;
# else MbedTLS_ROOT, or its pkg-config files, say where to look.

if(MbedTLS_DIR)
  find_package(MbedTLS CONFIG QUIET)
  if(MbedTLS_FOUND)
    include(FindPackageHandleStandardArgs)
    find_package_handle_standard_args(MbedTLS CONFIG_MODE)
    return()
  endif()
endif()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_search_module(PC_MBEDTLS QUIET mbedtls mbedtls-3 mbedtls-2)
endif()

find_path(MbedTLS_INCLUDE_DIR mbedtls/ssl.h HINTS ${PC_MBEDTLS_INCLUDE_DIRS})
mark_as_advanced(MbedTLS_INCLUDE_DIR)
set(_libraries)
foreach(_name mbedcrypto mbedx509 mbedtls)
  find_library(MbedTLS_${_name}_LIBRARY ${_name} HINTS ${PC_MBEDTLS_LIBRARY_DIRS})
  find_library(MbedTLS_${_name}_STATIC_LIBRARY ${CMAKE_STATIC_LIBRARY_PREFIX}${_name}${CMAKE_STATIC_LIBRARY_SUFFIX} HINTS ${PC_MBEDTLS_LIBRARY_DIRS})
  mark_as_advanced(MbedTLS_${_name}_LIBRARY MbedTLS_${_name}_STATIC_LIBRARY)
  list(APPEND _libraries MbedTLS_${_name}_LIBRARY)
endforeach()

# 3.x keeps the version in build_info.h, 2.x in version.h.
foreach(_header version.h build_info.h)
  if(MbedTLS_INCLUDE_DIR AND EXISTS ${MbedTLS_INCLUDE_DIR}/mbedtls/${_header})
    file(STRINGS ${MbedTLS_INCLUDE_DIR}/mbedtls/${_header} _line REGEX "#define MBEDTLS_VERSION_STRING +\"")
    if(_line MATCHES "\"([0-9.]+)\"")
      set(MbedTLS_VERSION ${CMAKE_MATCH_1})
    endif()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MbedTLS
  REQUIRED_VARS ${_libraries} MbedTLS_INCLUDE_DIR
  VERSION_VAR MbedTLS_VERSION
  REASON_FAILURE_MESSAGE "Install mbedTLS (Debian: libmbedtls-dev), set MbedTLS_ROOT, or build with DUMPHOOK_TLS=OFF.")

if(MbedTLS_FOUND AND NOT TARGET MbedTLS::mbedcrypto)
  find_package(Threads REQUIRED)
  foreach(_kind "" _static)
    set(_below Threads::Threads) # of the static ones; Debian's has MBEDTLS_THREADING_C on
    string(TOUPPER "${_kind}" _infix)
    foreach(_name mbedcrypto mbedx509 mbedtls)
      if(MbedTLS_${_name}${_infix}_LIBRARY)
        add_library(MbedTLS::${_name}${_kind} UNKNOWN IMPORTED)
        set_target_properties(MbedTLS::${_name}${_kind} PROPERTIES
          IMPORTED_LOCATION ${MbedTLS_${_name}${_infix}_LIBRARY}
          INTERFACE_INCLUDE_DIRECTORIES ${MbedTLS_INCLUDE_DIR}
          INTERFACE_LINK_LIBRARIES ${_below})
        set(_below MbedTLS::${_name}${_kind})
      endif()
    endforeach()
  endforeach()
endif()
