#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_profile.py REPORT.json TARGET GOLDEN: is what `dumphook compare --json` says true?

Recomputes every metric and every verdict of the report with NumPy in float64, from two folders of npy files: those that
were compared, or what `dumphook export` made of the captures that were (real values, the default). Uses no code of
dumphook. Relative differences up to 1e-9 are accepted. Says what differs; exits 1 then, 2 when a file is missing, else 0.
"""
import argparse
import json
import pathlib
import re
import sys

import numpy as np

LONGEST_STEM = 200


def stem_of(name):
    """As hostside/decode/stem.h says."""
    if not name:
        return "%"
    harmless = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+,=@()[]{}.")
    raw = name.encode()
    stem = ""
    for i, byte in enumerate(raw):
        edge_dot = byte == ord(".") and i in (0, len(raw) - 1)
        plain = byte in harmless and not edge_dot and not (i == 0 and byte == ord("-"))
        stem += chr(byte) if plain else f"%{byte:02X}"
    return stem


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.files = {file.stem: file for file in self.path.glob("*.npy")}
        if not self.files:
            sys.exit(f"check_profile: no npy files in {self.path}")

    def file(self, name):
        run = re.search(r"(#\d+)?(!\d+)?$", name)[0]  # which of the captures of that name in the frame
        label = stem_of(name[: len(name) - len(run)]) + run
        for stem in (name, label, stem_of(name)):
            if stem in self.files:
                return self.files[stem]
        start = stem_of(name)[: LONGEST_STEM - 20]
        shortened = [file for stem, file in self.files.items() if "~" in stem and stem.startswith(start)]
        behind_model = [file for stem, file in self.files.items() if stem.split("!", 1)[-1] == stem_of(name)]
        for found in (shortened, behind_model):
            if len(found) == 1:
                return found[0]
        print(f"check_profile: no file for {name!r} in {self.path}", file=sys.stderr)
        sys.exit(2)

    def load(self, name):
        return np.load(self.file(name), allow_pickle=False)


def line_up(target, golden, reason):
    """The target in the golden's order of elements, or None."""
    def squeezed(array):
        return tuple(n for n in array.shape if n != 1)

    axes = {"NHWC to NCHW": (-1, -3, -2), "NCHW to NHWC": (-2, -1, -3)}
    wanted = [order for words, order in axes.items() if f"transposed {words}" in reason]
    if not wanted:
        if squeezed(target) == squeezed(golden):
            return target.reshape(golden.shape)
        wanted = axes.values()
    for order in wanted:
        if target.ndim in (3, 4):
            batch = tuple(range(target.ndim - 3))
            moved = target.transpose(batch + tuple(target.ndim + axis for axis in order))
            if squeezed(moved) == squeezed(golden):
                return moved.reshape(golden.shape)
    return None


def number(value):
    return float(value)  # "inf", "-inf" and "nan" are strings


def recompute(target, golden):
    t, g = target.astype(np.float64).ravel(), golden.astype(np.float64).ravel()
    with np.errstate(all="ignore"):
        finite = np.isfinite(t) & np.isfinite(g)
        counts = {"elements": t.size, "finite_pairs": int(finite.sum()), "target_nan": int(np.isnan(t).sum()),
                  "target_inf": int(np.isinf(t).sum()), "golden_nan": int(np.isnan(g).sum()),
                  "golden_inf": int(np.isinf(g).sum()),
                  "same_nonfinite": int(((np.isnan(t) & np.isnan(g)) | (np.isinf(t) & (t == g))).sum())}
        t_only = int((~np.isfinite(t) & np.isfinite(g)).sum())
        g_only = int((np.isfinite(t) & ~np.isfinite(g)).sum())
        other = counts["elements"] - counts["finite_pairs"] - counts["same_nonfinite"] - t_only - g_only
        t, g = t[finite], g[finite]
        d = t - g
        n = max(t.size, 1)
        norm_t, norm_g, norm_d = (float(np.sqrt(np.sum(x * x))) for x in (t, g, d))
        sum_d, sum_g = float(np.sum(np.abs(d))), float(np.sum(np.abs(g)))
        both_zero = norm_t == 0 and norm_g == 0

        def over(a, b):
            return a / b if b else (np.inf if a else 0.0)

        cosine = 1.0 if both_zero else float(np.dot(t, g)) / (norm_t * norm_g) if norm_t and norm_g else 0.0
        metrics = {"cosine": cosine, "cosine_distance": 1 - cosine, "rmse": norm_d / np.sqrt(n), "mse": norm_d**2 / n,
                   "mae": sum_d / n, "max_abs": float(np.max(np.abs(d), initial=0)), "rel_euclidean": over(norm_d, norm_g),
                   "rel_l1": over(sum_d, sum_g), "norm_ratio": 1.0 if both_zero else over(norm_t, norm_g),
                   "sqnr_db": 20 * np.log10(over(norm_g, norm_d)) if norm_d else np.inf}
        if counts["elements"] and not counts["finite_pairs"]:
            metrics = {key: np.nan for key in metrics}
    return metrics, counts, (t_only, g_only, other)


def agrees(key, ours, numpy):
    if ours == numpy or (np.isnan(ours) and np.isnan(numpy)):
        return True
    # Near their own zero these three are differences of rounded numbers of size 1.
    floor = 1e-12 if key in ("cosine", "cosine_distance", "sqnr_db") else 0
    return abs(ours - numpy) <= 1e-9 * abs(numpy) + floor


def verdict_of(metrics, counts, nonfinite, limits):
    target_only, golden_only, other = nonfinite
    if counts["elements"] == 0:
        return "pass"
    if target_only or other:
        return "fail"
    outside = {limit["outside"] for limit in limits
               if not number(limit["low"]) <= number(metrics[limit["metric"]]) <= number(limit["high"])
               and not np.isnan(number(metrics[limit["metric"]]))}
    if "fail" in outside:
        return "fail"
    return "warn" if "warn" in outside or golden_only or not counts["finite_pairs"] else "pass"


def check_row(row, target, golden, limits):
    problems = []
    t, g = target.load(row["name"]), golden.load(row["golden_name"])
    lined_up = line_up(t, g, row["reason"])
    if lined_up is None:
        return [f"shapes {t.shape} and {g.shape} cannot be lined up"]
    metrics, counts, nonfinite = recompute(lined_up, g)
    for key, numpy in {**metrics, **counts}.items():
        ours = number(row["metrics"][key])
        if not agrees(key, ours, numpy):
            problems.append(f"{key} is {ours!r}, NumPy says {numpy!r}")
    expected = verdict_of(row["metrics"], counts, nonfinite, limits)
    softened = row["verdict"] == "warn" and expected == "fail" and "own quantization step" in row["reason"]
    rounded = row["verdict"] == "warn" and expected == "pass" and "beyond 2^53" in row["reason"]
    if row["verdict"] != expected and not softened and not rounded:
        problems.append(f"verdict is {row['verdict']}, the limits say {expected}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", help="JSON of dumphook compare")
    parser.add_argument("target", help="folder of npy files")
    parser.add_argument("golden", help="folder of npy files")
    args = parser.parse_args()
    report = json.loads(pathlib.Path(args.report).read_text())
    target, golden = Folder(args.target), Folder(args.golden)

    rows = report["inputs"] + report["layers"]
    problems = []
    checked = [row for row in rows if row["metrics"] is not None]
    for row in checked:
        problems += [f"{row['index']} {row['name']}: {problem}" for problem in check_row(row, target, golden, report["limits"])]

    failing = [row["name"] for row in report["layers"] if row["verdict"] == "fail"]
    if report["first_bad"] != (failing[0] if failing else None):
        problems.append(f"first_bad is {report['first_bad']}, the first failing layer is {failing[:1]}")
    if [row["index"] for row in rows] != list(range(len(rows))):
        problems.append("the rows are not numbered from 0 on")
    counts = {}
    for row in rows:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    if counts != report["coverage"]["counts"]:
        problems.append(f"counts are {report['coverage']['counts']}, the rows say {counts}")

    for problem in problems:
        print(problem)
    print(f"{len(checked)} of {len(rows)} rows recomputed, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
