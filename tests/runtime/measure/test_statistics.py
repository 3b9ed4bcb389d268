#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_statistics.py [--seed N] [--rounds N] PROGRAM: the statistics of statistics_of_bytes against NumPy in float64, on
tensors of all element types, sizes, distributions and special values. Counts, range and histogram must be equal; mean and
variance may differ by 1e-12, relative. The seed is printed; --seed repeats a run."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

INTEGERS = {"i64": "<i8", "u64": "<u8", "i32": "<i4", "u32": "<u4", "i16": "<i2", "u16": "<u2", "i8": "i1", "u8": "u1"}
FLOATS = {"f64": "<f8", "f32": "<f4", "f16": "<f2"}
# Sign, exponent and mantissa bits of what NumPy does not have.
SMALL_FLOATS = {"bf16": (8, 7), "f8e5m2": (5, 2), "f8e4m3": (4, 3)}
DTYPES = [*FLOATS, *SMALL_FLOATS, *INTEGERS, "bool", "i4", "u4", "raw"]
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 63, 255, 256, 257, 511, 512, 1000, 4096, 10007, 65537]
FLOAT_KINDS = ["normal", "wide", "offset", "tiny variance", "constant", "outlier first", "relu", "any bits", "all nan",
               "all inf", "masked", "subnormal", "saturated", "zeros", "padding then offset", "one ulp"]
INTEGER_KINDS = ["any", "small", "constant", "relu", "limits", "offset"]


def small_float_table(name):
    """The value of every bit pattern, from the definition."""
    exponent_bits, mantissa_bits = SMALL_FLOATS[name]
    bits = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    sign = np.where(bits >> (exponent_bits + mantissa_bits), -1.0, 1.0)
    exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    value = np.where(exponent == 0, np.ldexp(mantissa.astype("f8"), 1 - bias - mantissa_bits),
                     np.ldexp(mantissa + float(1 << mantissa_bits), exponent - bias - mantissa_bits))
    if name == "f8e4m3":  # OCP: the largest exponent is an ordinary one, but for its last number
        value = np.where((bits & 0x7F) == 0x7F, np.nan, value)
    else:
        top = exponent == (1 << exponent_bits) - 1
        value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
    return sign * value


LIMITS = {"f64": np.finfo("f8").max, "f32": float(np.finfo("f4").max), "f16": 65504.0,
          "bf16": float(np.uint32(0x7F7F0000).view("f4")), "f8e4m3": 448.0, "f8e5m2": 57344.0}
TABLES = {name: small_float_table(name) for name in SMALL_FLOATS}


def to_small_float(name, values):
    """Bit patterns of finite neighbours of `values` (truncated), which is all that a test needs."""
    if name == "bf16":
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2")
    table = TABLES[name]
    order = np.argsort(np.where(np.isfinite(table), table, np.inf), kind="stable")[: np.isfinite(table).sum()]
    place = np.clip(np.searchsorted(table[order], values), 0, order.size - 1)
    return order[place].astype("u1")


def float_values(rng, kind, n, greatest, least, epsilon):
    """float64 values that the type can hold, roughly; `least` is its smallest subnormal."""
    normal = rng.standard_normal(n)
    if kind == "wide":
        return normal * np.exp2(rng.integers(-12, 6, n))
    if kind == "offset":
        return 1000 + normal
    if kind == "tiny variance":
        return 1e6 * (1 + 1e-7 * normal) if greatest > 1e6 else 100 + 0.1 * normal
    if kind == "constant":
        return np.full(n, 0.1)
    if kind == "outlier first":
        return np.concatenate([[greatest / 2], normal])[:n]
    if kind == "relu":
        return np.maximum(normal, 0)
    if kind == "subnormal":
        return least * rng.integers(-5, 6, n)
    if kind == "saturated":
        return np.where(rng.random(n) < 0.1, greatest * rng.choice([-1, 1], n), normal)
    if kind == "zeros":
        return rng.choice([0.0, -0.0], n)
    if kind == "padding then offset":
        return np.concatenate([np.zeros(min(n, 300)), 5000 + 0.01 * normal])[:n]
    if kind == "one ulp":
        base = min(2048, greatest / 1.75)
        return np.where(rng.random(n) < 0.01, base * (1 + epsilon), base)
    return normal


def float_tensor(rng, dtype, kind, n):
    least, epsilon = {"f64": (5e-324, 2.0 ** -30), "f32": (2.0 ** -149, 2.0 ** -23), "f16": (2.0 ** -24, 2.0 ** -10),
                      "bf16": (2.0 ** -133, 2.0 ** -7), "f8e5m2": (2.0 ** -16, 0.25), "f8e4m3": (2.0 ** -9, 0.125)}[dtype]
    greatest = 1e100 if dtype == "f64" and kind != "saturated" else LIMITS[dtype]
    values = float_values(rng, kind, n, greatest, least, epsilon)
    with np.errstate(over="ignore"):
        data = values.astype(FLOATS[dtype]) if dtype in FLOATS else to_small_float(dtype, values)
    bits = data.view(f"<u{data.itemsize}").copy()
    inf, sign = {"f64": (0x7FF << 52, 1 << 63), "f32": (0x7F800000, 1 << 31), "f16": (0x7C00, 1 << 15),
                 "bf16": (0x7F80, 1 << 15), "f8e5m2": (0x7C, 0x80), "f8e4m3": (None, 0x80)}[dtype]
    signs = bits.dtype.type(sign) * rng.integers(0, 2, n).astype(bits.dtype)
    nan = bits.dtype.type(0x7F if inf is None else inf + 1) | signs
    if kind == "any bits":
        bits = np.frombuffer(rng.bytes(bits.nbytes), bits.dtype).copy()
    elif kind == "all nan":
        bits[:] = nan
    elif kind == "all inf":
        bits[:] = nan if inf is None else bits.dtype.type(inf) | signs
    elif kind == "masked":
        out = rng.random(n)
        bits[out < 0.3] = nan[out < 0.3]
        if inf is not None:
            bits[out > 0.7] = (bits.dtype.type(inf) | signs)[out > 0.7]
    return bits


def integer_tensor(rng, low, high, kind, n):
    if kind == "any":
        return rng.integers(low, high, n, dtype="u8" if low == 0 else "i8", endpoint=True)
    if kind == "constant":
        return np.full(n, min(high, 77))
    if kind == "limits":
        return rng.choice(np.array([low, high], "u8" if low == 0 else "i8"), n)
    if kind == "relu":
        return np.maximum(rng.integers(-60, 60, n), 0).clip(low, high)
    if kind == "offset":
        return (rng.integers(-3, 4, n) + min(high, 2 ** 31) - 4).clip(low, high)
    return rng.integers(-100, 100, n).clip(low, high)


def tensor(rng, dtype, n):
    """Its bytes, its stored values (the exact ones, and in float64), what the tensor is called."""
    if dtype in FLOATS or dtype in SMALL_FLOATS:
        kind = rng.choice(FLOAT_KINDS)
        bits = float_tensor(rng, dtype, kind, n)
        return bits.tobytes(), float_values_of(dtype, bits), kind
    kind = rng.choice(INTEGER_KINDS)
    if dtype in ("i4", "u4"):
        values = integer_tensor(rng, *((-8, 7) if dtype == "i4" else (0, 15)), kind, n).astype("i8")
        nibbles = np.append(values & 15, rng.integers(0, 16, n % 2))
        return (nibbles[0::2] | nibbles[1::2] << 4).astype("u1").tobytes(), values, kind
    if dtype == "bool":
        values = np.frombuffer(rng.bytes(n), "u1") * (rng.random(n) < 0.5)
        return values.astype("u1").tobytes(), (values != 0).astype("i8"), kind
    if dtype == "raw":
        return rng.bytes(n), np.zeros(0), kind
    info = np.iinfo(INTEGERS[dtype])
    values = integer_tensor(rng, info.min, info.max, kind, n).astype(INTEGERS[dtype])
    return values.tobytes(), values, kind


def float_values_of(dtype, bits):
    if dtype in FLOATS:
        return bits.view(FLOATS[dtype])
    return TABLES[dtype][bits]


def histogram_of(dtype, values):
    """First exponent and counts."""
    if values.dtype.kind in "iu":
        magnitude = [abs(int(v)) for v in values[values != 0]]
        exponent = np.array([m.bit_length() - 1 for m in magnitude], int)
    else:
        wide = values.astype("f8")
        exponent = np.frexp(wide[np.isfinite(wide) & (wide != 0)])[1] - 1
        exponent = np.clip(exponent, -32, 31)
    if exponent.size == 0:
        return 0, []
    first = int(exponent.min())
    return first, np.bincount(exponent - first).tolist()


def oracle(dtype, count, values, zero_point):
    with np.errstate(over="ignore", invalid="ignore"):  # squares of f64
        wide = values.astype("f8")
        finite = wide[np.isfinite(wide)]
        result = {"count": count, "sampled": values.size, "nan": int(np.isnan(wide).sum()),
                  "pos_inf": int((wide == np.inf).sum()), "neg_inf": int((wide == -np.inf).sum())}
        result["min"], result["max"] = (finite.min(), finite.max()) if finite.size else (0, 0)
        result["mean"], result["variance"] = (finite.mean(), finite.var()) if finite.size else (0, 0)
    if dtype in LIMITS:
        result["zeros"] = int((values == 0).sum())
        result["saturated"] = int((np.abs(wide) == LIMITS[dtype]).sum())
    elif dtype in ("bool", "raw"):
        result["zeros"], result["saturated"] = int((values == 0).sum()), 0
    else:
        low, high = {"i4": (-8, 7), "u4": (0, 15)}.get(dtype) or (np.iinfo(INTEGERS[dtype]).min, np.iinfo(INTEGERS[dtype]).max)
        zero = zero_point or 0
        result["zeros"] = int((values == zero).sum()) if low <= zero <= high else 0
        result["saturated"] = int(((values == low) | (values == high)).sum())
    result["first_exponent"], result["histogram"] = histogram_of(dtype, values)
    return result


def number(value):
    return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[value] if isinstance(value, str) else value


def close(got, want, scale):
    if not np.isfinite(want):  # a square overflowed
        return got == want or not np.isfinite(got)
    return abs(got - want) <= 1e-12 * scale + 1e-300


def differences(dtype, got, want):
    for key, expected in want.items():
        if key == "mean":
            deviation = np.sqrt(want["variance"])
            scale = max(abs(expected), deviation if np.isfinite(deviation) else 0)
            if np.isfinite(want["variance"]) and not close(number(got[key]), expected, scale):
                yield key, got[key], expected
        elif key == "variance":
            # What rounding the elements to 53 bits leaves of a variance, where the type has more or as many.
            scale = expected
            if dtype in ("f64", "i64", "u64") and np.isfinite(expected):
                scale += np.sqrt(expected) * max(abs(want["min"]), abs(want["max"])) * 1e-3
            if not close(number(got[key]), expected, scale):
                yield key, got[key], expected
        elif number(got[key]) != expected:
            yield key, got[key], expected


def sampled_indexes(dtype, count, limit):
    """What begin() promises."""
    if limit == 0:
        return np.arange(count)
    units = (count + 1) // 2 if dtype in ("i4", "u4") else count
    most = max(1, limit // 2) if dtype in ("i4", "u4") else limit
    step = max(1, -(-units // most)) if units else 1
    step += step % 2 == 0
    if dtype in ("i4", "u4"):
        indexes = np.stack([np.arange(0, units, step) * 2, np.arange(0, units, step) * 2 + 1], 1).reshape(-1)
        return indexes[indexes < count]
    return np.arange(0, units, step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="+", help="with its emulator before it, if it needs one")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    seed = np.random.SeedSequence().entropy % 2 ** 32 if arguments.seed is None else arguments.seed
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for dtype in DTYPES:
            for i in range(arguments.rounds):
                n = int(SIZES[i % len(SIZES)] if i < len(SIZES) else rng.integers(1, 20000))
                data, values, kind = tensor(rng, dtype, n)
                zero_point = None if rng.random() < 0.5 else int(rng.choice([0, 7, -8, -128, 128, 255, 40000, -2 ** 31]))
                limit = 0 if rng.random() < 0.6 else int(rng.integers(1, 2 * n + 2))
                piece = 0 if rng.random() < 0.3 else int(rng.integers(1, n + 2) if n < 300 else rng.integers(50, n + 2))
                path = pathlib.Path(folder) / str(len(cases))
                path.write_bytes(data)
                lines.append(f"{path}\t{dtype}\t{n}\t{'-' if zero_point is None else zero_point}\t{limit}\t{piece}\n")
                if dtype != "raw":
                    values = values[sampled_indexes(dtype, n, limit)]
                cases.append((dtype, kind, n, zero_point, limit, piece, values))
        run = subprocess.run(arguments.program, input="".join(lines), stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(cases)
    bad = 0
    for (dtype, kind, n, zero_point, limit, piece, values), got in zip(cases, answers):
        with np.errstate(invalid="ignore"):  # signalling NaN
            expected_of = oracle(dtype, n, values, zero_point)
        for key, is_value, expected in differences(dtype, got, expected_of):
            print(f"{dtype} x {n}, {kind}, zero point {zero_point}, limit {limit}, pieces {piece}: "
                  f"{key} is {is_value}, NumPy says {expected}")
            bad += 1
    print(f"{len(cases)} tensors, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
