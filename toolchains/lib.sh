# Sourced by setup.sh and sysroot.sh: messages, the cache folder, the pinned zig.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${DUMPHOOK_CACHE:-$repo/.cache}
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac

zig_version=0.15.2
zig_dir=$cache/zig

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# One fetch at a time per cache; released when the script ends.
lock_cache() {
  mkdir -p "$cache"
  exec 9> "$cache/.lock"
  flock -n 9 || { say "waiting for another run to finish"; flock 9; }
}

# zig cc as an ordinary cross compiler: PyPI's ziglang in a venv of its own, and one
# wrapper per tool, because CMAKE_AR and its like take a program without arguments.
ensure_zig() {
  local stamp=$zig_dir/.stamp-$zig_version target=aarch64-linux-musl zig
  [ -e "$stamp" ] && return
  say "fetching zig $zig_version into $zig_dir"
  rm -rf "$zig_dir"
  mkdir -p "$zig_dir/bin"
  /usr/bin/python3 -m venv "$zig_dir/venv" >&2 || die "/usr/bin/python3 cannot make a venv: install python3-venv"
  "$zig_dir/venv/bin/pip" install --quiet --no-deps --disable-pip-version-check "ziglang==$zig_version" >&2 ||
    die "cannot fetch ziglang $zig_version from PyPI"
  zig=$(echo "$zig_dir"/venv/lib/python3*/site-packages/ziglang/zig)
  wrapper "$target-gcc" "$zig" cc -target "$target"
  wrapper "$target-g++" "$zig" c++ -target "$target"
  wrapper "$target-ar" "$zig" ar
  wrapper "$target-ranlib" "$zig" ranlib
  touch "$stamp"
}

wrapper() { # NAME COMMAND...
  local path=$zig_dir/bin/$1
  shift
  {
    echo '#!/bin/sh'
    printf 'export ZIG_GLOBAL_CACHE_DIR=%q ZIG_LOCAL_CACHE_DIR=%q\n' "$zig_dir/cache" "$zig_dir/cache"
    printf 'exec'
    printf ' %q' "$@"
    echo ' "$@"'
  } > "$path"
  chmod +x "$path"
}
