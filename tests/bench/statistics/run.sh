#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Speed of the statistics of each type, and of an affordable sample, beside memcpy in the same run; and their code size on
# aarch64 (-Os).   bash tests/bench/statistics/run.sh
#   CROSS   compiler prefix of the board (aarch64-linux-gnu-)
#   CXX     compiler of this machine (c++)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
runtime=$here/../../../runtime
cross=${CROSS:-aarch64-linux-gnu-}
cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-std=c++17 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
       -I "$runtime" -I "$runtime/include")
sources=("$runtime"/measure/{statistics,float_block}.cpp)

echo "== ${cross}g++ -Os"
for source in "${sources[@]}"; do
  "${cross}g++" -Os "${flags[@]}" -c "$source" -o "$work/object.o"
  printf '%-16s %5d bytes of code and constants\n' "$(basename "$source")" \
    "$("${cross}size" -A "$work/object.o" | awk '/^\.(text|rodata)/ {sum += $2} END {print sum}')"
done

echo "== $("$cxx" --version | head -n 1), -O2, $(awk -F ': ' '/^model name/ {print $2; exit}' /proc/cpuinfo): GB/s"
"$cxx" -O2 "${flags[@]}" "$here/statistics_speed.cpp" "${sources[@]}" "$runtime/base/dtype.cpp" -o "$work/speed"
"$work/speed"
