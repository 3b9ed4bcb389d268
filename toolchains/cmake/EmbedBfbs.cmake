# cmake -DINPUT=<file.bfbs> -DOUTPUT=<file.h> -P EmbedBfbs.cmake: a file as a C++ array.
get_filename_component(name ${INPUT} NAME_WE)
string(REGEX MATCHALL "[A-Za-z0-9]+" words ${name})
set(constant k)
foreach(word IN LISTS words)
  string(SUBSTRING ${word} 0 1 first)
  string(SUBSTRING ${word} 1 -1 rest)
  string(TOUPPER ${first} first)
  string(APPEND constant ${first}${rest})
endforeach()

file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n  " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "// Generated from ${name}.fbs: its binary schema. Do not edit.
#pragma once
#include <cstddef>

namespace dumphook {
namespace bfbs {
alignas(8) inline constexpr unsigned char ${constant}[] = {
  ${bytes}
};
inline constexpr std::size_t ${constant}Size = sizeof(${constant});
}  // namespace bfbs
}  // namespace dumphook
")
