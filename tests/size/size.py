#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How large the board side is, stage by stage, and whether it keeps to budget.json.

    size.py BUILD [--budget budget.json]   BUILD: a build of the preset `size`, or another with DUMPHOOK_LOCALISE
    size.py --make BUILD ...               configures and builds the preset there first

text is code, rodata constants with unwind tables, data what is written or relocated, bss what is zero. `schemas` are the
embedded binary schemas, `lz4` the one object of liblz4.a that is linked in. Sections that nothing reaches are dropped already.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = ("text", "rodata", "data", "bss")
STAGES = ("base", "measure", "wire", "net", "pool", "capture", "spool", "encode", "sink", "control", "session", "schemas", "lz4")


def column_of(section):
    if section.startswith(".text"):
        return "text"
    if section.startswith((".rodata", ".eh_frame", ".ARM.ex")):
        return "rodata"
    if section.startswith(".data"):
        return "data"
    return "bss" if section.startswith(".bss") else None


def row_of(section, file):
    if "bfbs" in section:
        return "schemas"
    if "lz4" in os.path.basename(file).split("(")[0]:
        return "lz4"
    stage = re.search(r"dumphook_(\w+)\.dir", file)
    return stage.group(1) if stage else "other"


def read_map(path):
    """The linker's map: ` SECTION 0xADDRESS 0xSIZE FILE`, the section on a line of its own where its name is long."""
    with open(path) as file:
        text = file.read().split("Linker script and memory map", 1)[1]
    table = defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    largest = []
    for section, size, file in re.findall(r"^ (\.\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S.*)$", text, re.M):
        column = column_of(section)
        if column and int(size, 16):
            table[row_of(section, file)][column] += int(size, 16)
            largest.append((int(size, 16), section, os.path.basename(file)))
    return table, sorted(largest, reverse=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--budget")
    parser.add_argument("--largest", type=int, default=0, help="also the N largest sections")
    args = parser.parse_args()
    if args.make:
        for command in (["cmake", "--preset", "size", "-B", args.build],
                        ["cmake", "--build", args.build, "--target", "dumphook_static", "dumphook_shared"]):
            subprocess.run(command, cwd=SOURCE, check=True, stdout=subprocess.DEVNULL)

    table, largest = read_map(os.path.join(args.build, "runtime", "dumphook_whole.o.map"))
    print(f"{'':10}" + "".join(f"{c:>10}" for c in COLUMNS))
    total = dict.fromkeys(COLUMNS, 0)
    for row in (*STAGES, *sorted(set(table) - set(STAGES))):
        print(f"{row:10}" + "".join(f"{table[row][c]:10}" for c in COLUMNS))
        for c in COLUMNS:
            total[c] += table[row][c]
    print(f"{'total':10}" + "".join(f"{total[c]:10}" for c in COLUMNS))
    ours = sum(table[r]["text"] + table[r]["rodata"] for r in table if r not in ("lz4", "schemas"))
    print(f"text + rodata: {(total['text'] + total['rodata']) / 1024:.1f} KiB, without lz4 and schemas {ours / 1024:.1f} KiB")
    for size, section, file in largest[:args.largest]:
        print(f"{size:8} {section} {file}")

    over = []
    if args.budget:
        with open(args.budget) as file:
            budget = json.load(file)
        measured = {"text_and_rodata": total["text"] + total["rodata"], "data": total["data"], "bss": total["bss"]}
        over = [f"{name}: {measured[name]} of {limit} bytes" for name, limit in budget.items() if measured[name] > limit]
    if over:
        sys.exit("over budget: " + ", ".join(over))


if __name__ == "__main__":
    main()
