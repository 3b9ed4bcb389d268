# Finds LZ4 1.9 or newer. Sets LZ4_FOUND, LZ4_VERSION and defines
#   LZ4::lz4  whichever kind the linker prefers
# LZ4_ROOT, or lz4's own pkg-config file, says where to look.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_LZ4 QUIET liblz4)
endif()

find_path(LZ4_INCLUDE_DIR lz4.h HINTS ${PC_LZ4_INCLUDE_DIRS})
find_library(LZ4_LIBRARY lz4 HINTS ${PC_LZ4_LIBRARY_DIRS})
mark_as_advanced(LZ4_INCLUDE_DIR LZ4_LIBRARY)

if(LZ4_INCLUDE_DIR AND EXISTS ${LZ4_INCLUDE_DIR}/lz4.h)
  file(STRINGS ${LZ4_INCLUDE_DIR}/lz4.h lines REGEX "#define LZ4_VERSION_(MAJOR|MINOR|RELEASE) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*RELEASE +([0-9]+).*" "\\1.\\2.\\3" LZ4_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LZ4
  REQUIRED_VARS LZ4_LIBRARY LZ4_INCLUDE_DIR
  VERSION_VAR LZ4_VERSION
  REASON_FAILURE_MESSAGE "Install lz4 (Debian: liblz4-dev), or set LZ4_ROOT.")

if(LZ4_FOUND AND NOT TARGET LZ4::lz4)
  add_library(LZ4::lz4 UNKNOWN IMPORTED)
  set_target_properties(LZ4::lz4 PROPERTIES
    IMPORTED_LOCATION ${LZ4_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${LZ4_INCLUDE_DIR})
endif()
