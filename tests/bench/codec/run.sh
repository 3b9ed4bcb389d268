#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The codec of parts on real activations, beside memcpy, LZ4 and byte shuffle + LZ4: ratio, and speed against LZ4 in the
# same repeat.   bash tests/bench/codec/run.sh [FOLDER of .npy files ...]
# Without folders: all layers of the example's face detector on one photo, float and int8 (examples/run.sh, which fetches
# models and photos, must have run).
#   BUILD     a build with examples and tests, DUMPHOOK_EXAMPLES=ON (build/release): its capture program and tool
#   REPEATS   9
#   CXX       compiler of the benchmark (c++)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$here/../../..
runtime=$repo/runtime
build=${BUILD:-$repo/build/release}
assets=${DUMPHOOK_CACHE:-$repo/.cache}/assets
cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

folders=("$@")
if [ ${#folders[@]} = 0 ]; then
  for kind in float int8; do
    "$build/examples/tflite_pipeline/tflite_pipeline" --model "$assets/models/face_detection_full_range_$kind.tflite" \
      --photos "$assets/photos" --frames 1 --sink "file:$work/$kind.mcap" --policy block > "$work/log" 2>&1 ||
      { cat "$work/log" >&2; exit 1; }
    "$build/hostside/cli/dumphook" export "$work/$kind.mcap" --to "$work/$kind" --stored > "$work/log"
    folders+=("$work/$kind")
  done
fi

"$cxx" -O3 -std=c++17 -fno-exceptions -fno-rtti -I "$runtime" -I "$runtime/include" -o "$work/codec_bench" \
  "$here/codec_bench.cpp" "$runtime"/wire/{codec,codec_decode,lz4_encode,lz4_decode}.cpp "$runtime"/wire/pack*.cpp "$runtime/base/dtype.cpp" -llz4
echo "== $("$cxx" --version | head -n 1), -O3, $(awk -F ': ' '/^model name/ {print $2; exit}' /proc/cpuinfo)," \
  "load $(cut -d ' ' -f 1 /proc/loadavg) on $(nproc) processors"
"$work/codec_bench" "${folders[@]}"
