#!/usr/bin/env bash
# Set-up and all tests, on a fresh Debian bookworm as root:  bash tests/run.sh [--quick]
#   --quick   the native tests only
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
export DUMPHOOK_CACHE=${DUMPHOOK_CACHE:-$repo/.cache}
quick=no
case ${1:-} in
  --quick) quick=yes ;;
  "") ;;
  -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  *) echo "tests/run.sh: unknown option $1" >&2; exit 2 ;;
esac

step() { printf '\n== %s\n' "$*" >&2; }

step "set-up"
toolchains/setup.sh --dev "$([ $quick = yes ] && echo --board || echo --cross)"
if ! cmp -s tests/requirements.txt "$DUMPHOOK_CACHE/venv/requirements.txt"; then
  /usr/bin/python3 -m venv "$DUMPHOOK_CACHE/venv"
  "$DUMPHOOK_CACHE/venv/bin/pip" -q install -r tests/requirements.txt
  cp tests/requirements.txt "$DUMPHOOK_CACHE/venv/"
fi
examples/assets/fetch.sh

# build_and_test PRESET [ctest options]
build_and_test() {
  local preset=$1
  shift
  step "$preset"
  cmake --preset "$preset" > "$DUMPHOOK_CACHE/$preset.log" || { cat "$DUMPHOOK_CACHE/$preset.log" >&2; return 1; }
  cmake --build --preset "$preset" -- -k 0 >> "$DUMPHOOK_CACHE/$preset.log" || { tail -n 60 "$DUMPHOOK_CACHE/$preset.log" >&2; return 1; }
  ctest --preset "$preset" "$@"
}

if [ $quick = no ]; then
  build_and_test asan
  build_and_test tsan
  for target in armv7 riscv64 musl aarch64; do build_and_test $target; done
fi
build_and_test dev
