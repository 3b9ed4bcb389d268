#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the library a good guest? What CTest runs under `packaging_*`; needs only Python, CMake and the compilers.

    run.py symbols ARCHIVE SHARED ...   what the libraries define and need
    run.py headers ...                  each public header by itself, in each language and compiler
    run.py install ...                  into a prefix that is then moved elsewhere
    run.py find_package | pkg_config | interpose | subdirectory ...
                                        small projects that use the moved prefix, or the source tree
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
HEADER = os.path.join(SOURCE, "runtime", "include", "dumphook", "dumphook.h")
MAGIC = b"\x89MCAP0\r\n"
failures = []


def check(holds, what):
    if not holds:
        failures.append(what)
        print("FAILED:", what)


def run(*command, cwd=None, environment=None, fails=False):
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **(environment or {})}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if fails != (done.returncode != 0):
        sys.exit(f"{done.stdout}\nFAILED ({done.returncode}): {' '.join(command)}")
    return done.stdout


def declared():
    with open(HEADER) as file:
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", file.read(), flags=re.S | re.M)
    return set(re.findall(r"\bDH_API\b[^;(]*?\b(dh_\w+)\s*[(;]", text))


# ---------------------------------------------------------------------------------------------------- symbols

def nm(args, path, *options):
    """(type, name), undefined ones with type U or w."""
    out = run(args.nm, *options, path)
    return [tuple(line.split()[-2:]) for line in out.splitlines() if re.search(r" [A-Za-z] \S+$", line)]


def allowed(args, shared):
    with open(os.path.join(HERE, "libc_symbols.txt")) as file:
        lines = [line.split("#")[0].strip() for line in file]
    words, patterns = set(), []
    for line in filter(None, lines):
        if line.startswith("shared:"):
            if not shared:
                continue
            line = line[7:]
        if line.startswith("arch:"):
            arch, pattern = line[5:].split(None, 1)
            if arch == args.arch or (arch == "arm" and args.arch.startswith("arm")):
                patterns.append(pattern)
        else:
            words |= set(line.split())
    return lambda name: name in words or any(re.fullmatch(p, name) for p in patterns)


def symbols(args):
    names = declared()
    check(len(names) > 15 and "dh_open" in names, "the header's declarations were understood")

    listed = nm(args, args.archive)
    if args.localised:
        defined = {name for kind, name in listed if kind.isupper() and kind != "U"}
        check(defined == names, f"global symbols of {args.archive} are those of the header: {sorted(defined ^ names)}")
        weak = {name for kind, name in listed if kind in "WwVvu" and name not in names}
        check(not weak, f"no weak symbol is left for the linker to merge: {sorted(weak)[:5]}")
        ok = allowed(args, shared=False)
        foreign = sorted({name for kind, name in listed if kind in "Uw"} - set(filter(ok, {name for _, name in listed})))
        check(not foreign, f"needs nothing but libc: {foreign}")
    every = {name for _, name in listed}
    bad = sorted(n for n in every if re.match(r"_Zn[wa]|_Zd[la]|__cxa_|__gxx_|_Unwind_|__dynamic_cast|_ZTI|_ZTS|_GLOBAL__sub_I", n))
    check(not bad, f"no operator new or delete, exceptions, type information or global constructors: {bad}")

    sections = {line.split()[1] for line in run(args.readelf, "-SW", args.archive).replace("[ ", "[").splitlines()
                if re.match(r"\s*\[\s*\d+\]\s+\.", line)}
    bad = sorted(s for s in sections if re.match(r"\.(init_array|ctors|fini_array|dtors|gcc_except_table|tbss|tdata|preinit_array)", s))
    check(sections and not bad, f"no constructors, exception tables or thread-local data: {bad}")
    groups = re.search(r"COMDAT group section", run(args.readelf, "-g", args.archive)) if args.localised else None
    check(not groups, "no inline function's group is left for the linker to merge")

    exported = {re.sub("@.*", "", name) for kind, name in nm(args, args.shared, "-D", "--defined-only") if kind != "A"}
    check(exported == names, f"{args.shared} exports what the header declares: {sorted(exported ^ names)}")
    ok = allowed(args, shared=True)
    foreign = sorted(n for n in {re.sub("@.*", "", n) for _, n in nm(args, args.shared, "-D", "--undefined-only")} if not ok(n))
    check(not foreign, f"{args.shared} needs nothing but libc: {foreign}")
    dynamic = run(args.readelf, "-dW", args.shared)
    major = re.search(r"#define DH_VERSION_MAJOR (\d+)", open(HEADER).read()).group(1)
    check(f"[libdumphook.so.{major}]" in dynamic, "SONAME is libdumphook.so.<major>")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    other = {n for n in needed if not re.match(r"libc\.so|libpthread\.so|ld-linux|libgcc_s\.so|libc\.musl|libm?c?\.so", n)}
    check(not other, f"no C++ library is needed: {other}")
    check("TEXTREL" not in dynamic, "no text relocations")
    check("(INIT_ARRAY)" not in dynamic or "frame_dummy" in run(args.nm, args.shared), "no constructors but the start files'")


# ---------------------------------------------------------------------------------------------------- headers

def headers(args):
    include = os.path.join(SOURCE, "runtime", "include")
    compilers = [c for c in (("gcc", "g++"), ("clang", "clang++")) if shutil.which(c[0]) and shutil.which(c[1])]
    check(compilers, "there is a compiler")
    folder = os.path.join(include, "dumphook")
    cxx = ["dumphook/dumphook.hpp"] + sorted("dumphook/adapters/" + n for n in os.listdir(os.path.join(folder, "adapters")))
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I" + include]
    tflite = os.path.join(args.cache, "assets", "tflite", "include")
    os.makedirs(args.work, exist_ok=True)
    for c, cpp in compilers:
        for standard in ("c99", "c11"):
            compile_twice(args, [c, f"-std={standard}", *flags], "dumphook/dumphook.h", "c")
        for standard in ("c++11", "c++17"):
            compile_twice(args, [cpp, f"-std={standard}", *flags], "dumphook/dumphook.h", "cpp")
            for header in cxx:
                needs_tflite = "tensorflow/" in open(os.path.join(include, header)).read() or "tflite" in header
                if needs_tflite and not os.path.isdir(tflite):
                    print(f"skipped: {header}: no TFLite headers in the cache (examples/assets/fetch.sh)")
                    continue
                extra = ["-isystem", tflite] if needs_tflite else []
                guest = ["-fno-exceptions", "-fno-rtti"] if standard == "c++11" else []
                compile_twice(args, [cpp, f"-std={standard}", *flags, *extra, *guest], header, "cpp")


def compile_twice(args, command, header, suffix):
    """Included first and twice: it needs no other include before it, and has a guard."""
    path = os.path.join(args.work, "header." + suffix)
    with open(path, "w") as file:
        file.write(f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
    run(*command, path)


# ---------------------------------------------------------------------------------------------------- consumers

def prefix(args):
    return os.path.join(args.work, "moved", "prefix")


def libdir(args):
    for folder, _, files in os.walk(prefix(args)):
        if "libdumphook.a" in files:
            return folder
    sys.exit("libdumphook.a is not installed")


def install(args):
    first = os.path.join(args.work, "first")
    shutil.rmtree(args.work, ignore_errors=True)
    run(args.cmake, "--install", args.build, "--prefix", first)
    os.makedirs(os.path.dirname(prefix(args)))
    os.rename(first, prefix(args))
    for folder, _, files in os.walk(prefix(args)):
        for name in files:
            path = os.path.join(folder, name)
            if name.endswith((".cmake", ".pc", ".h", ".hpp", ".fbs", ".md")):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for root in (SOURCE, os.path.abspath(args.build), first):
                    check(root not in text, f"{path} does not name {root}")
    for name in ("include/dumphook/dumphook.h", "include/dumphook/dumphook.hpp", "share/dumphook/schemas/tensor.fbs"):
        check(os.path.exists(os.path.join(prefix(args), name)), f"{name} is installed")


def is_plain(args, program, shared):
    """The program needs libc, and our library when it is shared; no C++ runtime."""
    dynamic = run(args.readelf, "-dW", program)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    ours = {n for n in needed if n.startswith("libdumphook.so.")}
    check(bool(ours) == shared, f"{program} is linked as asked: {sorted(needed)}")
    other = {n for n in needed - ours if not re.match(r"libc\.so|libpthread\.so|ld-linux|libc\.musl", n)}
    check(not other, f"{program} needs libc only: {sorted(needed)}")


def captures(args, program, *more):
    """Runs a consumer: it makes a capture that is sealed and holds its tensor."""
    path = os.path.join(args.work, os.path.basename(program) + ".mcap")
    if os.path.exists(path):
        os.remove(path)
    print(run(program, path, *more, environment={"LD_LIBRARY_PATH": libdir(args)} if os.path.exists(prefix(args)) else None))
    with open(path, "rb") as file:
        data = file.read()
    check(data.startswith(MAGIC) and data.endswith(MAGIC), f"{path} is sealed")
    check(b"\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x00\x3f\x00\xe0\x7f\x47" in data, f"{path} holds the tensor")


def build(args, project, name, *options, fails=False):
    folder = os.path.join(args.work, name)
    shutil.rmtree(folder, ignore_errors=True)
    compilers = [f"-DCMAKE_C_COMPILER={args.cc}", f"-DCMAKE_CXX_COMPILER={args.cxx}"]
    out = run(args.cmake, "-S", os.path.join(HERE, project), "-B", folder, "-G", "Ninja", *compilers, *options, fails=fails)
    if not fails:
        run(args.cmake, "--build", folder)
    return out if fails else os.path.join(folder, project)


def find_package(args):
    where = "-DCMAKE_PREFIX_PATH=" + prefix(args)
    for target, shared, more in (("dumphook::static", False, []), ("dumphook::shared", True, []), ("dumphook::dumphook", False, []),
                                 ("dumphook::dumphook", True, ["-DBUILD_SHARED_LIBS=ON"])):
        name = f"{target.replace('::', '_')}_{'shared' if shared else 'static'}"
        program = build(args, "consumer", name, where, f"-DTARGET={target}", *more)
        is_plain(args, program, shared)
        captures(args, program)
    out = build(args, "consumer", "too_new", where, "-DTARGET=dumphook::static", "-DWANTED=99.0", fails=True)
    check("99.0" in out, "a version that is not there is refused")


def pkg_config(args):
    environment = {"PKG_CONFIG_PATH": os.path.join(libdir(args), "pkgconfig")}
    source = os.path.join(HERE, "consumer", "main.c")
    os.makedirs(os.path.join(args.work, "pkg_config"), exist_ok=True)
    plain = run("pkg-config", "--cflags", "--libs", "dumphook", environment=environment).split()
    check(prefix(args) in " ".join(plain), "pkg-config found the moved prefix")
    program = os.path.join(args.work, "pkg_config", "shared")
    run(args.cc, "-std=c99", source, *plain, "-o", program)
    is_plain(args, program, True)
    captures(args, program)

    program = os.path.join(args.work, "pkg_config", "static")
    static = run("pkg-config", "--static", "--cflags", "--libs", "dumphook", environment=environment).split()
    run(args.cc, "-std=c99", "-static", source, *static, "-o", program)
    captures(args, program)
    check("(NEEDED)" not in run(args.readelf, "-dW", program), "a static program needs nothing")

    version = run("pkg-config", "--modversion", "dumphook", environment=environment).strip()
    check(version in run(program, os.path.join(args.work, "version.mcap")), "the version is that of the library")


def subdirectory(args):
    folder = os.path.dirname(build(args, "subdirectory", "subdirectory", f"-DDUMPHOOK_SOURCE={SOURCE}"))
    for kind in ("static", "shared", "default"):
        program = os.path.join(folder, "uses_" + kind)
        is_plain(args, program, kind == "shared")
        captures(args, program)
    run(args.cmake, "--install", folder, "--prefix", os.path.join(args.work, "nothing"))
    check(not os.path.exists(os.path.join(args.work, "nothing", "include")), "a subproject installs nothing of itself")
    made = {n for _, _, files in os.walk(folder) for n in files}
    check(not made & {"dumphook"}, "a subproject builds no host tool")


def interpose(args):
    """The application brings its own lz4, mbedTLS and FlatBuffers, and then a trap for every symbol we have inside."""
    where = "-DCMAKE_PREFIX_PATH=" + prefix(args)
    every = sorted(inner_symbols(args))
    check(len(every) > 300 and any("flatbuffers" in n for n in every) and not any("LZ4_" in n for n in every),
          "the symbols of the stages are known")
    os.makedirs(args.work, exist_ok=True)
    traps = os.path.join(args.work, "traps.c")
    with open(traps, "w") as file:
        file.write("/* Every symbol that libdumphook has inside, as the application's own. */\nint trapped;\n"
                   "int trap(void);\nint trap(void) { return ++trapped; }\n")
        for name in every:
            file.write(f'__asm__(".globl {name}\\n.set {name}, trap");\n')
    for target in ("static", "shared"):
        for kind, more in (("own", []), ("traps", [f"-DTRAPS={traps}"])):
            captures(args, build(args, "interpose", f"interpose_{target}_{kind}", where, f"-DTARGET=dumphook::{target}", *more))


def inner_symbols(args):
    names = set()
    for archive in args.inner:
        for kind, name in nm(args, archive, "--defined-only", "-g"):
            if not name.startswith("dh_"):
                names.add(name)
    return names


COMMANDS = dict(symbols=symbols, headers=headers, install=install, find_package=find_package, pkg_config=pkg_config,
                subdirectory=subdirectory, interpose=interpose)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=COMMANDS)
    for option in ("archive", "shared", "arch", "build", "work", "cache"):
        parser.add_argument("--" + option)
    for option in ("nm", "readelf", "cmake", "cc"):
        parser.add_argument("--" + option, default=option)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--localised", action="store_true")
    parser.add_argument("--inner", nargs="*", default=[])
    args = parser.parse_args()
    COMMANDS[args.command](args)
    if failures:
        sys.exit(f"{len(failures)} failed")


if __name__ == "__main__":
    main()
