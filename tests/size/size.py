#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How large the board side is, with which sinks, and whether it keeps to budget.json.

    size.py TARGET BUILD [--budget budget.json] [--stages] [--largest N]

Builds the preset `size` (TARGET aarch64) or `size-armv7` (armv7) in BUILD, once for each row: core is all but the sinks for
files and sockets, so it has the callback sink; the other rows are core and what they name. Read from the linker's map of the
one object in libdumphook.a, so without libc; what nothing reaches is dropped already.

text is code, rodata constants, unwind the tables for exceptions and debuggers, data what is written or relocated, bss what
is zero. `schemas` are the binary schemas that every capture begins with.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRESETS = {"aarch64": "size", "armv7": "size-armv7"}
ROWS = {"core": (), "+ file": ("FILE",), "+ tcp": ("TCP",), "+ file + tcp": ("FILE", "TCP")}
SINKS = ("FILE", "TCP")
COLUMNS = {"text": (".text",), "rodata": (".rodata",), "unwind": (".eh_frame", ".ARM.ex"), "data": (".data",), "bss": (".bss",)}
STAGES = ("base", "measure", "wire", "net", "pool", "capture", "spool", "encode", "sink", "control", "session", "schemas")


def build(target, folder, sinks):
    options = [f"-DDUMPHOOK_{sink}={'ON' if sink in sinks else 'OFF'}" for sink in SINKS]
    for command in (["cmake", "--preset", PRESETS[target], "-B", folder, *options],
                    ["cmake", "--build", folder, "--target", "dumphook_static"]):
        subprocess.run(command, cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)


def stage_of(section, file):
    if "bfbs" in section:
        return "schemas"
    stage = re.search(r"dumphook_(\w+)\.dir", file)
    return stage.group(1) if stage else "other"


def read_map(path):
    """The linker's map: ` SECTION 0xADDRESS 0xSIZE FILE`, the section on a line of its own where its name is long."""
    with open(path) as file:
        text = file.read().split("Linker script and memory map", 1)[1]
    stages = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    sections = []
    for section, digits, file in re.findall(r"^ (\.\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S.*)$", text, re.M):
        size = int(digits, 16)
        for column, prefixes in COLUMNS.items():
            if size and section.startswith(prefixes):
                stages[stage_of(section, file)][column] += size
                sections.append((size, section, os.path.basename(file)))
    return stages, sorted(sections, reverse=True)


def print_table(title, rows):
    print(f"{title:14}" + "".join(f"{column:>9}" for column in COLUMNS) + f"{'all, KiB':>10}")
    for name, row in rows.items():
        print(f"{name:14}" + "".join(f"{row[column]:9}" for column in COLUMNS) + f"{sum(row.values()) / 1024:10.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=PRESETS)
    parser.add_argument("build")
    parser.add_argument("--budget")
    parser.add_argument("--stages", action="store_true", help="also where it goes, of each row")
    parser.add_argument("--largest", type=int, default=0, help="also the N largest sections of the last row")
    args = parser.parse_args()

    rows, largest, details = {}, [], {}
    for name, sinks in ROWS.items():
        build(args.target, args.build, sinks)
        stages, largest = read_map(os.path.join(args.build, "runtime", "dumphook_whole.o.map"))
        rows[name] = {column: sum(stage[column] for stage in stages.values()) for column in COLUMNS}
        details[name] = {stage: stages[stage] for stage in (*STAGES, *sorted(set(stages) - set(STAGES)))}
    print_table(args.target, rows)
    for name in details if args.stages else ():
        print()
        print_table(name, details[name])
    for size, section, file in largest[:args.largest]:
        print(f"{size:8} {section} {file}")

    over = []
    if args.budget:
        with open(args.budget) as file:
            budget = json.load(file)[args.target]
        if budget.keys() != rows.keys():
            sys.exit(f"{args.budget}: the rows of {args.target} must be {', '.join(rows)}")
        for name, limits in budget.items():
            measured = {**rows[name], "all": sum(rows[name].values())}
            over += [f"{name}: {column} {measured[column]} of {limit} bytes"
                     for column, limit in limits.items() if measured[column] > limit]
    if over:
        sys.exit(f"{args.target} is over budget: " + "; ".join(over))


if __name__ == "__main__":
    main()
