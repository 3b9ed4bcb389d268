#!/usr/bin/env bash
# Installs what libdumphook is built and tested with: Debian bookworm, as root.
# Only what is missing; a second run changes nothing and needs no network.
#
#   setup.sh              build and test natively
#   setup.sh --board      + aarch64 only: cross compiler, qemu-user, target libraries
#   setup.sh --cross      + all cross compilers, qemu-user, target libraries, zig
#   setup.sh --dev        + clang, sanitizers, fuzzing, formatters, network tools, Google Benchmark
#   setup.sh --examples   + the inference engines that Debian has
#   setup.sh --all        everything
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

base="cmake ninja-build g++ pkg-config git ca-certificates python3 python3-venv
  flatbuffers-compiler libflatbuffers-dev liblz4-dev libmbedtls-dev zlib1g-dev
  libcli11-dev libfmt-dev nlohmann-json3-dev googletest libgtest-dev libgmock-dev libstb-dev"
board="g++-aarch64-linux-gnu qemu-user-static"
cross="g++-aarch64-linux-gnu g++-arm-linux-gnueabihf g++-riscv64-linux-gnu qemu-user-static"
dev="clang clang-format clang-tidy libclang-rt-14-dev llvm binutils
  netcat-openbsd strace openssl libbenchmark-dev"
examples="libopencv-dnn-dev libopencv-imgproc-dev libopencv-imgcodecs-dev
  libarmnn-dev libarmnntfliteparser-dev libarmnn-cpuref-backend22"

# npm may come from elsewhere; Debian's brings hundreds of packages.
command -v npm > /dev/null || base+=" nodejs npm"

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2; }

wanted=$base sysroots=
for option in "$@"; do
  case $option in
    --board) wanted+=" $board"; sysroots=${sysroots:-arm64} ;;
    --cross) wanted+=" $cross"; sysroots=all ;;
    --dev) wanted+=" $dev" ;;
    --examples) wanted+=" $examples" ;;
    --all) wanted+=" $cross $dev $examples"; sysroots=all ;;
    -h | --help) usage; exit 0 ;;
    *) say "unknown option $option"; usage; exit 2 ;;
  esac
done

missing_packages() {
  local status package installed=" "
  while read -r status package; do
    [ "$status" = installed ] && installed+="$package "
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2> /dev/null || true)
  for package in "$@"; do
    case $installed in *" $package "*) ;; *) echo "$package" ;; esac
  done
}

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" >&2; }

# A broken third-party source must not stop us: what counts is whether install finds its packages.
apt_update() {
  local try
  for try in 1 2 3 4 5; do
    apt update && return
    sleep "$try"
  done
  say "warning: apt-get update had errors"
}

command -v dpkg-query > /dev/null || die "this needs Debian; elsewhere install the packages named in it by hand"
# shellcheck disable=SC2046,SC2086
missing=$(missing_packages $(printf '%s\n' $wanted | sort -u))
if [ -n "$missing" ]; then
  say "installing" $missing
  [ "$(id -u)" = 0 ] || die "installing needs root"
  apt_update
  # shellcheck disable=SC2086
  apt install -y --no-install-recommends $missing || die "apt-get install failed; see above"
fi
[ -z "$sysroots" ] || "$repo/toolchains/sysroot.sh" "$sysroots"
say "ready"
