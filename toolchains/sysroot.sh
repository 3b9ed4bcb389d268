#!/usr/bin/env bash
# Makes a private sysroot per target with the libraries that the runtime links:
# lz4 and mbedTLS, static, and the FlatBuffers headers that match the host's flatc.
# Installs nothing on the system, needs no root, and once made needs no network.
#
#   sysroot.sh arm64 | armhf | riscv64 | musl-aarch64 | all ...
#
# Result: $DUMPHOOK_CACHE/sysroot/<triple> (default <repo>/.cache/sysroot/<triple>).
# libc and libstdc++ are not in it: they come with the cross compiler.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

recipe=1 # raise when the contents of a sysroot change

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2; }

triple_of() {
  case $1 in
    arm64) echo aarch64-linux-gnu ;;
    armhf) echo arm-linux-gnueabihf ;;
    riscv64) echo riscv64-linux-gnu ;;
    musl-aarch64) echo aarch64-linux-musl ;;
    *) return 1 ;;
  esac
}

# The mirror that this system's apt already uses.
mirror_uri() { # CODENAME
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/*; do
    [ -r "$file" ] || continue
    awk -v suite="$1" '
      function paragraph() { if (hit && main && uri) found = uri; uri = hit = main = "" }
      /^deb / { sub(/\[[^]]*\] */, ""); if ($3 == suite && $4 == "main") found = $2 }
      /^URIs:/ { uri = $2 }
      /^Suites:/ { for (i = 2; i <= NF; i++) if ($i == suite) hit = 1 }
      /^Components:/ { for (i = 2; i <= NF; i++) if ($i == "main") main = 1 }
      /^[ \t]*$/ { paragraph() }
      found { exit }
      END { paragraph(); if (!found) exit 1; print found }' "$file" && return
  done
  return 1
}

# apt with a state of its own: the system's package lists and database stay untouched.
private_apt() { # ARCH SUITE INDEX(deb|deb-src)
  local dir=$cache/apt/$2-$1-$3 uri options codename target=Packages
  [ "$3" = deb ] || target=Sources
  export APT_CONFIG=$dir/apt.conf
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  uri=$(mirror_uri "$codename") || die "found no Debian mirror for $codename in /etc/apt"
  options="target=$target"
  [ ! -r /usr/share/keyrings/debian-archive-keyring.gpg ] ||
    options+=" signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
  rm -rf "$dir"
  mkdir -p "$dir"/{state,lists/partial,cache/archives/partial}
  : > "$dir/status"
  echo "$3 [$options] $uri $2 main" > "$dir/sources.list"
  cat > "$APT_CONFIG" << END
Dir::State "$dir/state";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "$1";
APT::Architectures { "$1"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
  apt-get -qq update >&2 || die "cannot read the package lists of $2 for $1 from $uri"
}

fetch_debs() { # ARCH SUITE ROOT PACKAGE...
  local arch=$1 suite=$2 root=$3 deb
  shift 3
  private_apt "$arch" "$suite" deb
  (cd "$work" && apt-get -qq download "$@" >&2) || die "cannot download $* for $arch from $suite"
  for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$root"; done
  rm -rf "$root/usr/share" "$root/usr/bin"
  # Static only: these name shared libraries that are not here.
  rm -rf "$root"/usr/lib/*/*.so "$root"/usr/lib/*/cmake
}

fetch_source() { # PACKAGE -> $work/PACKAGE
  (cd "$work" && apt-get -qq source --download-only "$1" >&2) || die "cannot download the source of $1"
  mkdir "$work/$1"
  tar -xf "$work/$1"_*.orig.tar.* -C "$work/$1" --strip-components=1
}

compile_archive() { # ARCHIVE INCLUDE_DIR SOURCE...
  local archive=$1 include=$2 objects
  shift 2
  objects=$(mktemp -d -p "$work")
  printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I '{}' sh -c \
    '"$1" -O2 -fPIC -ffunction-sections -fdata-sections -g0 -fno-sanitize=undefined -I"$2" -c "$4" -o "$3/$(basename "$4" .c).o"' \
    sh "$zig_dir/bin/aarch64-linux-musl-gcc" "$include" "$objects" '{}' || die "cannot compile $archive for musl"
  "$zig_dir/bin/aarch64-linux-musl-ar" rcs "$archive" "$objects"/*.o
}

# Debian has no libraries built against musl, so these are built from its sources.
build_musl() { # SUITE ROOT
  local lib=$2/usr/lib include=$2/usr/include name
  ensure_zig
  fetch_debs arm64 "$1" "$2" musl # the loader, so that dynamic programs run under qemu
  private_apt amd64 "$1" deb-src
  fetch_source lz4
  fetch_source mbedtls
  mkdir -p "$lib" "$include"
  cp "$work"/lz4/lib/lz4{,hc,frame,frame_static}.h "$include"
  cp -r "$work"/mbedtls/include/{mbedtls,psa} "$include"
  rm -f "$include"/*/CMakeLists.txt
  compile_archive "$lib/liblz4.a" "$work/lz4/lib" "$work"/lz4/lib/{lz4,lz4hc,lz4frame,xxhash}.c
  cd "$work/mbedtls/library"
  compile_archive "$lib/libmbedtls.a" ../include ssl_*.c debug.c net_sockets.c
  compile_archive "$lib/libmbedx509.a" ../include x509*.c certs.c pkcs11.c
  for name in ssl_*.c debug.c net_sockets.c x509*.c certs.c pkcs11.c; do rm -f "$name"; done
  compile_archive "$lib/libmbedcrypto.a" ../include ./*.c
  cd "$repo"
}

# What qemu-user -L shows the program: libc, and a processor that fits, since programs
# that read /proc/cpuinfo would otherwise meet the host's.
emulation_view() { # TRIPLE ROOT
  [ -e "$2/lib" ] || ln -s "/usr/$1/lib" "$2/lib"
  case $1 in aarch64-*) ;; *) return 0 ;; esac
  mkdir "$2/proc"
  for core in 0 1 2 3; do
    printf 'processor\t: %s\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\n' $core
    printf 'CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd08\nCPU revision\t: 3\n\n'
  done > "$2/proc/cpuinfo"
}

make_sysroot() { # ARCH
  local arch=$1 triple root codename
  triple=$(triple_of "$arch") || { usage; die "unknown target $arch"; }
  root=$cache/sysroot/$triple
  [ ! -e "$root/.stamp-$recipe" ] || return 0

  say "making $root"
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  [ -e /usr/include/flatbuffers/flatbuffers.h ] || die "the FlatBuffers headers are missing: run toolchains/setup.sh"
  command -v apt-get > /dev/null || die "this needs Debian's apt-get"
  rm -rf "$root" "$root.new"
  mkdir -p "$root.new/usr/include"
  work=$(mktemp -d)
  case $arch in
    musl-aarch64) build_musl "$codename" "$root.new" ;;
    riscv64) # not an architecture of bookworm
      [ "$codename" != bookworm ] || codename=trixie
      fetch_debs "$arch" "$codename" "$root.new" liblz4-dev libmbedtls-dev ;;
    *) fetch_debs "$arch" "$codename" "$root.new" liblz4-dev libmbedtls-dev ;;
  esac
  ln -s /usr/include/flatbuffers "$root.new/usr/include/flatbuffers"
  emulation_view "$triple" "$root.new"
  rm -rf "$work" "$cache/apt"
  touch "$root.new/.stamp-$recipe"
  mv "$root.new" "$root"
}

[ $# -gt 0 ] || { usage; exit 2; }
[ "$*" != all ] || set -- arm64 armhf riscv64 musl-aarch64
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
lock_cache
for arch in "$@"; do
  case $arch in -h | --help) usage; exit 0 ;; esac
  make_sysroot "$arch"
done
