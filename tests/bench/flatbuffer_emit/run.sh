#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares FlatBufferBuilder over a fixed buffer with runtime/wire/flat_writer: symbols needed and code size on aarch64
# (-Os, what is not reached left out), and speed here.   bash tests/bench/flatbuffer_emit/run.sh
#   CROSS   compiler prefix of the board (aarch64-linux-gnu-)
#   CXX     compiler of this machine (c++)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runtime=$here/../../../runtime
schemas=$here/../../../schemas
cross=${CROSS:-aarch64-linux-gnu-}
cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flatc --cpp --scoped-enums -o "$work" "$schemas"/*.fbs
# Only FlatBuffers' headers, not all of this machine's, may be seen by the cross compiler.
mkdir "$work/include"
headers=$(echo '#include <flatbuffers/flatbuffers.h>' | "$cxx" -x c++ -M - |
  tr ' ' '\n' | sed -n '/\/flatbuffers\/flatbuffers\.h$/p')
ln -s "$(dirname "$headers")" "$work/include/flatbuffers"
includes=(-I "$runtime" -I "$runtime/include" -isystem "$work" -isystem "$work/include")
runtime_flags=(-std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
               -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections -fdata-sections)
shared_part=("$runtime"/wire/{crc32,flat_fields,message_crc}.cpp)
own_part=("$runtime"/wire/{flat_writer,tensor_messages,session_messages}.cpp "$runtime/measure/xxh64.cpp")

# library NAME: a shared object whose only entries are those of emit_with_NAME.cpp.
library() {
  "${cross}g++" -Os "${runtime_flags[@]}" "${includes[@]}" -fPIC -shared -nostdlib -Wl,--gc-sections \
    -o "$work/$1.so" "$2" "${shared_part[@]}" "${own_part[@]}"
  text=$("${cross}size" "$work/$1.so" | awk 'NR == 2 {print $1}')
}
cat > "$work/crc.cpp" <<'END'
#include "wire/messages.h"
__attribute__((visibility("default"))) bool check(dumphook::ConstBytes bytes) { return check_message_crc(bytes); }
END
library crc "$work/crc.cpp"
crc_text=$text
echo "== ${cross}g++ -Os: part and descriptor, the CRC's $crc_text bytes not counted"
for name in builder writer; do
  library $name "$here/emit_with_$name.cpp"
  printf '%-8s text %5d bytes; needs: %s\n' $name $((text - crc_text)) \
    "$("${cross}nm" -D -u "$work/$name.so" | awk '{print $2}' | c++filt | paste -sd'|' | sed 's/|/, /g')"
done

echo "== $("$cxx" --version | head -n 1), -O2, $(awk -F ': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)"
"$cxx" -O2 "${runtime_flags[@]}" "${includes[@]}" -o "$work/speed" "$here"/*.cpp "${shared_part[@]}" "${own_part[@]}"
"$work/speed"
