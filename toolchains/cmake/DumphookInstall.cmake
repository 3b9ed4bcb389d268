# SPDX-License-Identifier: Apache-2.0
# install(): headers, both libraries, dumphookConfig.cmake, dumphook.pc.
include(CMakePackageConfigHelpers)

install(TARGETS dumphook_static dumphook_shared EXPORT dumphookTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/dumphook DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/schemas/FORMAT.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schemas/ DESTINATION ${CMAKE_INSTALL_DATADIR}/dumphook/schemas
  FILES_MATCHING PATTERN "*.fbs")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dumphook)
install(EXPORT dumphookTargets NAMESPACE dumphook:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/toolchains/cmake/dumphookConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dumphookConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dumphookConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dumphookConfig.cmake ${PROJECT_BINARY_DIR}/dumphookConfigVersion.cmake
  DESTINATION ${package_dir})

# The .pc finds its prefix from where it lies.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/toolchains/cmake/dumphook.pc.in ${PROJECT_BINARY_DIR}/dumphook.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dumphook.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
