#!/usr/bin/env bash
# The main job, on a fresh Debian bookworm as root:  bash examples/run.sh [options]
#
# A face detector runs as int8 on an emulated aarch64 board and as float on this PC, on the same photos. Every layer of
# the board's live pipeline streams over TCP to a collector; then the two are compared, layer by layer.
#
#   --frames N              frames on each side (default 12)
#   --plant-scale L=F       plant a fault: the board reports layer L with its scale multiplied by F
#   --out DIR               where results go (default out/ in the repository): an empty folder, or that of an earlier
#                           run, whose results are replaced; other files in it stay
#
# Leaves in out/: target.mcap (collected), target_file.mcap (the same run, by a second session to a file on the board),
# golden.mcap, compare.json, target/*.npy and golden/*.npy (frame 0, real values, same names), detections of both sides.
# The first run installs packages and fetches models; later ones need no network.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
started_in=$PWD
cd "$repo"
export DUMPHOOK_CACHE=${DUMPHOOK_CACHE:-$repo/.cache}

frames=12 out=out plant=()
while [ $# -gt 0 ]; do
  case $1 in
    --frames) frames=${2:?--frames needs a number}; shift ;;
    --out) out=${2:?--out needs a folder}; case $out in /*) ;; *) out=$started_in/$out ;; esac; shift ;;
    --plant-scale) plant=(--plant-scale "${2:?--plant-scale needs LAYER=FACTOR}"); shift ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) echo "examples/run.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done
if [ -n "$(ls -A -I bench.json "$out" 2> /dev/null)" ] && [ ! -e "$out/record.log" ]; then
  echo "examples/run.sh: $out is not empty, and no earlier run made it; choose another folder" >&2
  exit 2
fi

number=0
step() { number=$((number + 1)); printf '\n[%d] %s\n' $number "$*"; }
quietly() { local log=$1; shift; "$@" > "$log" 2>&1 || { tail -n 40 "$log" >&2; echo "failed: $*" >&2; exit 1; }; }

step "set-up: what is missing of compilers, emulator, libraries"
toolchains/setup.sh --board

step "models and photos"
examples/assets/fetch.sh
models=$DUMPHOOK_CACHE/assets/models
photos=$DUMPHOOK_CACHE/assets/photos

build() {
  quietly "$DUMPHOOK_CACHE/$1.log" cmake -S . -B "build/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDUMPHOOK_EXAMPLES=ON "${@:2}"
  quietly "$DUMPHOOK_CACHE/$1.log" cmake --build "build/$1"
}
step "build for this PC (build/release)"
build release
step "build for aarch64 (build/board)"
build board -DCMAKE_TOOLCHAIN_FILE="$repo/toolchains/aarch64-linux-gnu.cmake"

dumphook=build/release/hostside/cli/dumphook
pc=build/release/examples/tflite_pipeline/tflite_pipeline
board=(qemu-aarch64-static -L "$DUMPHOOK_CACHE/sysroot/aarch64-linux-gnu" build/board/examples/tflite_pipeline/tflite_pipeline)

# What an earlier run left; nothing else.
mkdir -p "$out"
rm -f "$out"/{target,target_file,golden}.mcap "$out"/{target,golden}_detections.txt "$out"/{address,compare.json,record.log}
rm -f "$out"/{target,golden}/*.npy "$out"/target-*.mcap.part

step "collector: dumphook record on a free port of this machine"
"$dumphook" record --listen 127.0.0.1:0 --once --out "$out/target.mcap" --ready-file "$out/address" 2> "$out/record.log" &
collector=$!
trap 'kill $collector 2> /dev/null || true' EXIT
for _ in $(seq 100); do [ -s "$out/address" ] && break; sleep 0.05; done
[ -s "$out/address" ] || { cat "$out/record.log" >&2; echo "the collector did not start" >&2; exit 1; }
address=$(cat "$out/address")
echo "listening on $address"

step "board: int8 model on emulated aarch64, $frames frames, streaming to tcp://$address"
"${board[@]}" --model "$models/face_detection_full_range_int8.tflite" --photos "$photos" --frames "$frames" \
  --sink "tcp://$address" --second-sink "file:$out/target_file.mcap" --policy block "${plant[@]}" | tee "$out/target_detections.txt"
wait $collector || { cat "$out/record.log" >&2; exit 1; }
trap - EXIT
rm -f "$out/address"

step "PC: float model, the same photos"
"$pc" --model "$models/face_detection_full_range_float.tflite" --photos "$photos" --frames "$frames" \
  --sink "file:$out/golden.mcap" --policy block | tee "$out/golden_detections.txt"

step "what arrived"
"$dumphook" info "$out/target.mcap"

step "frame 0 as npy: $out/target, $out/golden"
"$dumphook" export "$out/target.mcap" --to "$out/target" --format npy --frame 0
"$dumphook" export "$out/golden.mcap" --to "$out/golden" --format npy --frame 0

step "compare: board (int8, aarch64) with PC (float)"
status=0
"$dumphook" compare "$out/target.mcap" "$out/golden.mcap" --frame 0 --json "$out/compare.json" || status=$?
case $status in
  0) verdict="all layers within limits" ;;
  3) verdict="finished, but data are missing" ;;
  4) verdict="layers outside the limits" ;;
  *) exit $status ;;
esac
printf '\n%s (exit code of compare: %d). Results are in %s/\n' "$verdict" "$status" "$out"
