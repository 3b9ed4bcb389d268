#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Google Benchmark's JSON files -> one JSON with medians, spreads and ratios to the anchors, and the README's table.

    summarize.py --out BENCH.json --compiler TEXT [--readme README.md] PART.json...

The repetitions of all benchmarks of a part were run in random order. A median is over them; a spread is
(largest - smallest) / median. Codecs and one-thread writers are compared by the processor's time, which other load on
the machine disturbs least, hooks by pairs within one run (hook_bench.cpp), files also by time on the clock.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import sys

BEGIN, END = "<!-- benchmarks -->\n", "<!-- end of benchmarks -->\n"
CODECS = ("dumphook", "lz4", "shuffle+lz4", "zstd-1", "shuffle+zstd-1", "blosc-lz4-shuffle", "blosc-lz4-bitshuffle",
          "npz-deflate", "memcpy")
WRITERS = ("raw-write", "dumphook-raw", "dumphook-raw-one-thread", "npy-per-layer", "hdf5", "mcap", "dumphook",
           "dumphook-one-thread", "hdf5-lz4", "hdf5-blosc-lz4-shuffle", "mcap-lz4")
COUNTERS = ("bytes", "memcpy_ns", "capture_ns", "ratio", "extra_ns", "raw_bytes", "file_bytes")
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def median_and_spread(values):
    middle = statistics.median(values)
    return {"median": middle, "spread": (max(values) - min(values)) / middle if middle else 0}


def read(paths):
    """{benchmark: {figure: {"median", "spread"}}}, and the machine that all ran on."""
    runs, machine = {}, {"load": []}
    for path in paths:
        part = json.loads(pathlib.Path(path).read_text())
        context = part["context"]
        machine.update(processors=context["num_cpus"], mhz=context["mhz_per_cpu"], date=context["date"])
        machine["load"].append(context["load_avg"][0])
        for run in part["benchmarks"]:
            if run.get("error_occurred"):
                sys.exit(f"{run['name']}: {run['error_message']}")
            if run["run_type"] != "iteration":
                continue
            name = re.sub(r"/(iterations:\d+|manual_time|process_time|real_time)", "", run["run_name"])
            figures = runs.setdefault(name, {"cpu_ns": [], "clock_ns": []})
            figures["cpu_ns"].append(run["cpu_time"] * NANOSECONDS[run["time_unit"]])
            figures["clock_ns"].append(run["real_time"] * NANOSECONDS[run["time_unit"]])
            for counter in COUNTERS:
                if counter in run:
                    figures.setdefault(counter, []).append(run[counter])
    machine["load"].append(os.getloadavg()[0])
    return {name: {figure: median_and_spread(values) for figure, values in figures.items()}
            for name, figures in runs.items()}, machine


class Results:
    def __init__(self, results):
        self.results = results

    def __call__(self, name, figure="cpu_ns"):
        return self.results[name][figure]["median"]

    def names(self, pattern):
        return [match for match in (re.fullmatch(pattern, name) for name in self.results) if match]


def hook_table(result):
    yield "| capture of | memcpy | dh_capture | ratio | added |"
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for match in sorted(result.names(r"capture/(\d+)"), key=lambda match: int(match[1])):
        name, size = match[0], int(match[1])
        text = f"{size} B" if size < 1024 else f"{size >> 10} KB" if size < 1 << 20 else f"{size >> 20} MB"
        yield (f"| {text} | {result(name, 'memcpy_ns'):,.0f} ns | {result(name, 'capture_ns'):,.0f} ns "
               f"| {result(name, 'ratio'):.2f} | {result(name, 'extra_ns'):+,.0f} ns |")
    nothing = result("off/nothing")
    yield ""
    yield (f"64 bytes by name instead of by tap: {result('capture_by_name/64', 'capture_ns'):,.0f} ns. A hook that is off: "
           f"{result('off/tap') - nothing:.1f} ns by tap, {result('off/by_name') - nothing:.0f} ns by name.")


def codec_table(result):
    yield "| codec | " + " | ".join(f"{kind}: ratio | encode | decode" for kind in ("f32", "bf16", "f16", "i8")) + " |"
    yield "| --- |" + " ---: | ---: | ---: |" * 4
    for codec in CODECS:
        if f"encode/f32/{codec}" not in result.results:
            continue
        cells = []
        for kind in ("f32", "bf16", "f16", "i8"):
            encode, decode = f"encode/{kind}/{codec}", f"decode/{kind}/{codec}"
            cells += [f"{result(encode, 'ratio'):.3f}", f"{result(f'encode/{kind}/lz4') / result(encode):.2f}",
                      f"{result(f'decode/{kind}/lz4') / result(decode):.2f}"]
        yield f"| {codec} | " + " | ".join(cells) + " |"


def file_table(result):
    yield "| writer | f32: file | clock | processor | i8: file | clock | processor |"
    yield "| --- |" + " ---: |" * 6
    for writer in WRITERS:
        if f"file/f32/{writer}" not in result.results:
            continue
        cells = []
        for kind in ("f32", "i8"):
            name, raw = f"file/{kind}/{writer}", f"file/{kind}/raw-write"
            cells += [f"{result(name, 'file_bytes') / result(name, 'raw_bytes'):.3f}",
                      f"{result(name, 'clock_ns') / result(raw, 'clock_ns'):.2f}", f"{result(name) / result(raw):.2f}"]
        yield f"| {writer} | " + " | ".join(cells) + " |"


def goals(result):
    """(what, reached value, limit, reached) of everything that is promised."""
    def row(what, value, limit, at_most=True):
        return {"what": what, "value": value, "limit": limit, "at_most": at_most,
                "reached": value <= limit if at_most else value >= limit}

    yield row("hook, 64 bytes: added to memcpy, ns", result("capture/64", "extra_ns"), 100)
    for match in sorted(result.names(r"capture/(\d+)"), key=lambda match: int(match[1])):
        if int(match[1]) >= 64 << 10:
            copy = result(match[0], "memcpy_ns")
            yield row(f"hook, {match[1]} bytes: (capture - 150 ns) / memcpy", result(match[0], "ratio") - 150 / copy, 1.15)
    yield row("hook, off by tap, ns", result("off/tap") - result("off/nothing"), 2)
    for kind, ratio, encode, decode in (("f32", 1.06, 1.4, 1), ("bf16", 1, 1, None), ("f16", 1, 1, None)):
        ours, peer = f"encode/{kind}/dumphook", f"encode/{kind}/shuffle+lz4"
        yield row(f"codec {kind}: ratio / shuffle+lz4's", result(ours, "ratio") / result(peer, "ratio"), ratio, False)
        yield row(f"codec {kind}: encode / lz4's speed", result(f"encode/{kind}/lz4") / result(ours), encode, False)
        if decode:
            yield row(f"codec {kind}: decode / lz4's speed",
                      result(f"decode/{kind}/lz4") / result(f"decode/{kind}/dumphook"), decode, False)
    yield row("codec i8: ratio / lz4's", result("encode/i8/dumphook", "ratio") / result("encode/i8/lz4", "ratio"), 1.15, False)
    yield row("codec i8: encode / lz4's speed", result("encode/i8/lz4") / result("encode/i8/dumphook"), 1, False)
    file = "file/f32/"
    yield row("file, uncompressed: time / raw write's", result(file + "dumphook-raw", "clock_ns") / result(file + "raw-write", "clock_ns"), 1.25)
    if file + "mcap-lz4" in result.results:
        for kind, clock in (("dumphook", "clock_ns"), ("dumphook-one-thread", "cpu_ns")):
            yield row(f"file compressed ({kind}, {clock[:-3]}): throughput / mcap-lz4's",
                      result(file + "mcap-lz4", clock) / result(file + kind, clock), 1.6, False)
        yield row("file compressed: size / mcap-lz4's",
                  result(file + "dumphook", "file_bytes") / result(file + "mcap-lz4", "file_bytes"), 0.9)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--readme")
    parser.add_argument("parts", nargs="+")
    options = parser.parse_args()
    benchmarks, machine = read(options.parts)
    machine.update(processor=processor(), compiler=options.compiler, system=f"{platform.system()} {platform.release()}")
    result = Results(benchmarks)
    promised = list(goals(result))
    pathlib.Path(options.out).write_text(json.dumps(
        {"format": 1, "machine": machine, "benchmarks": benchmarks, "goals": promised}, indent=1) + "\n")

    missed = "; ".join(f"{goal['what']} {goal['value']:.2f} (goal {goal['limit']})" for goal in promised if not goal["reached"])
    load = ", ".join(f"{value:.1f}" for value in machine["load"])
    table = "\n".join([
        f"{machine['processor']}, {machine['processors']} processors, {machine['compiler']}; load during the run {load}.", "",
        *hook_table(result), "",
        "Codecs: raw size / encoded size, then speed in LZ4's.", "", *codec_table(result), "",
        "From tensors in memory to a closed file (ours without dh_open, which takes and touches its memory): file size / "
        "raw size, then time in raw write()'s: on the clock, and of all processors. `one-thread` is without the worker.", "", *file_table(result), "",
        f"Aimed at and missed: {missed or 'nothing'}."]) + "\n"
    print(table)
    for goal in promised:
        print(f"{'reached' if goal['reached'] else 'MISSED '}  {goal['what']}: {goal['value']:.3f} "
              f"(goal {'<=' if goal['at_most'] else '>='} {goal['limit']})")
    if options.readme:
        readme = pathlib.Path(options.readme)
        text = readme.read_text()
        before, rest = text.split(BEGIN)
        readme.write_text(before + BEGIN + table + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
