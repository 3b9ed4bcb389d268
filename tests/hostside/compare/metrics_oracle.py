#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""metrics_oracle.py PROGRAM: the metrics of metrics_of_npy against NumPy float64, on random pairs of many types, shapes and
special values. Relative differences up to 1e-9 are accepted. The seed is printed; --seed repeats a run."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

DTYPES = ["f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]
SHAPES = [(), (1,), (2,), (7,), (0,), (3, 0, 2), (1, 1, 1, 1), (5, 3), (1, 3, 8, 8), (2, 16, 9, 5), (1023,), (1024,), (1025,),
          (4, 33, 31), (1, 64, 56, 56)]
SPECIAL = ["none", "equal", "scaled", "near", "nan", "inf", "zero_target", "zero_golden", "zero_both", "all_nan", "huge", "tiny"]


def array(rng, dtype, shape):
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, size=shape, dtype=kind, endpoint=True)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3) + rng.integers(-1, 2)).astype(kind)


def sprinkle(rng, values, special):
    flat = values.reshape(-1)
    if flat.size:
        places = rng.integers(0, flat.size, size=max(1, flat.size // 50))
        flat[places] = rng.choice(special, size=places.size)


def pair(rng, dtype, shape, special):
    target, golden = np.array(array(rng, dtype, shape)), np.array(array(rng, rng.choice(["f4", "f8", dtype]), shape))
    floating = target.dtype.kind == "f"
    with np.errstate(over="ignore"):
        if special == "equal":
            golden = target.copy()
        elif special == "scaled":
            golden = target.astype("f8") / 1.5
        elif special == "near" and floating:
            golden = target.astype("f8") * (1 + 1e-7 * rng.standard_normal(shape))
        elif special == "nan" and floating:
            sprinkle(rng, target, [np.nan])
            golden = golden.astype("f4")
            sprinkle(rng, golden, [np.nan])
        elif special == "inf" and floating:
            golden = golden.astype("f4")
            sprinkle(rng, target, [np.inf, -np.inf])
            sprinkle(rng, golden, [np.inf, -np.inf])
            both = rng.random(target.shape) < 0.02
            target[both] = np.inf
            golden[both] = np.inf
        elif special == "all_nan" and floating:
            target[...] = np.nan
        elif special in ("huge", "tiny"):
            factor = 1e180 if special == "huge" else 1e-180
            target, golden = target.astype("f8") * factor, golden.astype("f8") * factor
        if special in ("zero_target", "zero_both"):
            target = np.zeros_like(target)
        if special in ("zero_golden", "zero_both"):
            golden = np.zeros_like(golden)
    return target, golden


def ratio(numerator, denominator):
    if denominator > 0:
        return numerator / denominator
    return np.inf if numerator > 0 else 0.0


def oracle(target, golden):
    t, g = target.astype("f8").reshape(-1), golden.astype("f8").reshape(-1)
    t_bad, g_bad = ~np.isfinite(t), ~np.isfinite(g)
    result = {
        "elements": t.size,
        "target_nan": int(np.isnan(t[t_bad | g_bad]).sum()), "target_inf": int(np.isinf(t).sum()),
        "golden_nan": int(np.isnan(g).sum()), "golden_inf": int(np.isinf(g).sum()),
        "same_nonfinite": int(((np.isnan(t) & np.isnan(g)) | (t_bad & g_bad & (t == g))).sum()),
        "finite_pairs": int((~t_bad & ~g_bad).sum()),
    }
    keys = ["cosine", "cosine_distance", "mse", "rmse", "mae", "max_abs", "rel_euclidean", "rel_l1", "norm_ratio", "sqnr_db"]
    keep = ~t_bad & ~g_bad
    t, g = t[keep], g[keep]
    if result["elements"] and not t.size:
        return {**result, **{key: np.nan for key in keys}}
    if not t.size:
        return {**result, **dict(zip(keys, [1, 0, 0, 0, 0, 0, 0, 0, 1, np.inf]))}
    d = t - g
    # Scaled by powers of two, so that squares stay in range; nothing else changes.
    unit = [2.0 ** -np.frexp(np.abs(x).max())[1] if np.abs(x).max() > 0 else 1.0 for x in (t, g, d)]
    norm_t, norm_g, norm_d = [np.sqrt(np.sum((x * u) ** 2)) / u for x, u in zip((t, g, d), unit)]
    n = t.size
    if norm_t == 0 or norm_g == 0:
        cosine = 1.0 if norm_t == norm_g else 0.0
        distance = 1 - cosine
    else:
        unit_t, unit_g = t * unit[0] / (norm_t * unit[0]), g * unit[1] / (norm_g * unit[1])
        cosine = float(np.dot(unit_t, unit_g))
        distance = float(np.sum((unit_t - unit_g) ** 2)) / 2
    with np.errstate(over="ignore", under="ignore"):
        result.update(
            cosine=cosine, cosine_distance=distance, mse=(norm_d / np.sqrt(n)) ** 2, rmse=norm_d / np.sqrt(n),
            mae=np.mean(np.abs(d)), max_abs=np.max(np.abs(d)), rel_euclidean=ratio(norm_d, norm_g),
            rel_l1=ratio(np.sum(np.abs(d)), np.sum(np.abs(g))),
            norm_ratio=1.0 if norm_t == norm_g == 0 else ratio(norm_t, norm_g),
            sqnr_db=np.inf if norm_d == 0 else (-np.inf if norm_g == 0 else 20 * np.log10(norm_g / norm_d)))
    return result


def agrees(key, ours, numpy):
    ours = float(ours)
    if np.isnan(numpy) or np.isinf(numpy):
        return (np.isnan(ours) and np.isnan(numpy)) or ours == numpy
    if abs(ours - numpy) <= 1e-9 * abs(numpy):
        return True
    # Near their own zero these are differences of rounded numbers of size 1.
    return key in ("cosine", "cosine_distance", "sqnr_db") and abs(ours - numpy) <= 1e-12


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=int(np.random.SeedSequence().entropy % 2**32))
    parser.add_argument("--rounds", type=int, default=2, help="cases per type and special value")
    args = parser.parse_args()
    print(f"seed {args.seed}")
    rng = np.random.default_rng(args.seed)
    cases, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in DTYPES:
            for special in SPECIAL:
                for _ in range(args.rounds):
                    shape = SHAPES[rng.integers(len(SHAPES))]
                    target, golden = pair(rng, dtype, shape, special)
                    paths = [pathlib.Path(folder) / f"{len(cases)}_{side}.npy" for side in "tg"]
                    np.save(paths[0], target)
                    np.save(paths[1], golden)
                    cases.append((dtype, special, shape, oracle(target, golden)))
                    lines.append("\t".join(map(str, paths)))
        run = subprocess.run([args.program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(results) == len(cases), "one result per case"
    bad = 0
    for number, ((dtype, special, shape, expected), ours) in enumerate(zip(cases, results)):
        for key in set(ours) | set(expected):
            if not agrees(key, ours[key], expected[key]):
                bad += 1
                print(f"case {number} {dtype} {special} {shape}: {key} is {ours[key]}, NumPy says {expected[key]}")
    print(f"{len(cases)} cases, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
