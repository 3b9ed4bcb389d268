# dumphook_flatbuffers_generate(TARGET <name> SCHEMAS <file.fbs>... [BFBS])
#
# Defines the interface library <name>: link it to include, built when a schema changes,
#   <schema>_generated.h  the C++ classes of each schema
#   <schema>_bfbs.h       with BFBS: the binary schema as
#                         dumphook::bfbs::k<Schema>[] and k<Schema>Size
#                         (also written as <schema>.bfbs; the folder is the target's
#                         property DUMPHOOK_GENERATED_DIR)
# Schemas may include one another. Parsing needs nothing beyond headers at run time.
#
# FLATBUFFERS_FLATC_EXECUTABLE names flatc, a program of the build machine; the headers
# (DUMPHOOK_FLATBUFFERS_INCLUDE_DIR) must be of the same release.

include_guard(GLOBAL)
set(_DUMPHOOK_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/EmbedBfbs.cmake)

function(dumphook_flatbuffers_generate)
  cmake_parse_arguments(PARSE_ARGV 0 arg BFBS TARGET SCHEMAS)
  if(NOT arg_TARGET OR NOT arg_SCHEMAS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "usage: dumphook_flatbuffers_generate(TARGET <name> SCHEMAS <file.fbs>... [BFBS])")
  endif()

  find_program(FLATBUFFERS_FLATC_EXECUTABLE flatc NO_CMAKE_FIND_ROOT_PATH DOC "The FlatBuffers compiler, of the build machine")
  if(NOT FLATBUFFERS_FLATC_EXECUTABLE)
    message(FATAL_ERROR "The FlatBuffers compiler is missing: install flatc (Debian: flatbuffers-compiler), or set FLATBUFFERS_FLATC_EXECUTABLE.")
  endif()
  find_path(DUMPHOOK_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h DOC "Where flatbuffers/flatbuffers.h of the target is")
  if(NOT DUMPHOOK_FLATBUFFERS_INCLUDE_DIR)
    message(FATAL_ERROR "The FlatBuffers headers are missing: install them (Debian: libflatbuffers-dev), or set DUMPHOOK_FLATBUFFERS_INCLUDE_DIR.")
  endif()
  _dumphook_check_flatbuffers_versions()

  set(out ${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET})
  set(schemas)
  foreach(schema IN LISTS arg_SCHEMAS)
    get_filename_component(schema ${schema} ABSOLUTE)
    list(APPEND schemas ${schema})
  endforeach()

  set(generated)
  foreach(schema IN LISTS schemas)
    get_filename_component(name ${schema} NAME_WE)
    add_custom_command(
      OUTPUT ${out}/${name}_generated.h
      COMMAND ${FLATBUFFERS_FLATC_EXECUTABLE} --cpp --scoped-enums -o ${out} ${schema}
      DEPENDS ${schemas} ${FLATBUFFERS_FLATC_EXECUTABLE}
      COMMENT "flatc ${name}.fbs"
      VERBATIM)
    list(APPEND generated ${out}/${name}_generated.h)
    if(arg_BFBS)
      add_custom_command(
        OUTPUT ${out}/${name}.bfbs ${out}/${name}_bfbs.h
        COMMAND ${FLATBUFFERS_FLATC_EXECUTABLE} --binary --schema -o ${out} ${schema}
        COMMAND ${CMAKE_COMMAND} -DINPUT=${out}/${name}.bfbs -DOUTPUT=${out}/${name}_bfbs.h -P ${_DUMPHOOK_EMBED_SCRIPT}
        DEPENDS ${schemas} ${FLATBUFFERS_FLATC_EXECUTABLE} ${_DUMPHOOK_EMBED_SCRIPT}
        COMMENT "flatc ${name}.fbs to ${name}.bfbs"
        VERBATIM)
      list(APPEND generated ${out}/${name}.bfbs ${out}/${name}_bfbs.h)
    endif()
  endforeach()

  add_custom_target(${arg_TARGET}_generate DEPENDS ${generated})
  add_library(${arg_TARGET} INTERFACE)
  add_dependencies(${arg_TARGET} ${arg_TARGET}_generate)
  # SYSTEM, because strict warnings are for our own code.
  target_include_directories(${arg_TARGET} SYSTEM INTERFACE ${out} ${DUMPHOOK_FLATBUFFERS_INCLUDE_DIR})
  set_target_properties(${arg_TARGET} PROPERTIES DUMPHOOK_GENERATED_DIR ${out})
endfunction()

# Generated code and headers of different releases fail in ways that do not name the cause.
function(_dumphook_check_flatbuffers_versions)
  execute_process(COMMAND ${FLATBUFFERS_FLATC_EXECUTABLE} --version OUTPUT_VARIABLE flatc OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(STRINGS ${DUMPHOOK_FLATBUFFERS_INCLUDE_DIR}/flatbuffers/base.h lines REGEX "#define FLATBUFFERS_VERSION_(MAJOR|MINOR|REVISION) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*REVISION +([0-9]+).*" "\\1.\\2.\\3" headers "${lines}")
  if(NOT flatc MATCHES "version ${headers}$")
    message(FATAL_ERROR "${FLATBUFFERS_FLATC_EXECUTABLE} (${flatc}) and the headers in ${DUMPHOOK_FLATBUFFERS_INCLUDE_DIR} (${headers}) are of different releases.")
  endif()
endfunction()
