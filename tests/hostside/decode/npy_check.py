# SPDX-License-Identifier: Apache-2.0
"""Our .npy and .npz files against NumPy, both ways: npy_check.py PATH_OF_npy_probe"""
import os
import subprocess
import sys
import tempfile

import numpy as np

PROBE = sys.argv[1]
PLAIN = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i64": "<i8", "u64": "<u8", "i32": "<i4", "u32": "<u4", "i16": "<i2",
         "u16": "<u2", "i8": "i1", "u8": "u1", "bool": "?", "raw": "u1"}


def sample(dtype, count, boolean=False):
    size = np.dtype(dtype).itemsize * count
    data = np.arange(size, dtype=np.int64)
    data = (data % 2 if boolean else data * 37 + 11).astype(np.uint8)
    return np.frombuffer(data.tobytes(), dtype=dtype)


def check_written(folder):
    for name, dtype in PLAIN.items():
        array = np.load(f"{folder}/{name}.npy")
        assert array.dtype == np.dtype(dtype) and array.shape == (2, 3, 5), (name, array.dtype, array.shape)
        assert array.tobytes() == sample(dtype, 30, name == "bool").tobytes(), name
    # What NumPy has no type for.
    raw = sample("<u2", 30).astype(np.uint32)
    bf16 = np.load(f"{folder}/bf16.npy")
    assert bf16.dtype == np.float32
    assert np.array_equal(bf16.ravel(), (raw << 16).view(np.float32), equal_nan=True)
    nibbles = np.frombuffer(sample("u1", 15).tobytes(), np.uint8)
    unsigned = np.stack([nibbles & 15, nibbles >> 4], 1).ravel()
    u4, i4 = np.load(f"{folder}/u4.npy"), np.load(f"{folder}/i4.npy")
    assert u4.dtype == np.uint8 and np.array_equal(u4.ravel(), unsigned)
    assert i4.dtype == np.int8 and np.array_equal(i4.ravel(), (unsigned.astype(np.int8) ^ 8) - 8)
    e5m2 = np.load(f"{folder}/f8e5m2.npy")
    half = (sample("u1", 30).astype(np.uint16) << 8).view(np.float16)
    assert np.array_equal(e5m2.ravel(), half.astype(np.float32), equal_nan=True)
    assert np.load(f"{folder}/f8e4m3.npy").dtype == np.float32
    assert np.load(f"{folder}/scalar.npy").shape == ()
    assert np.load(f"{folder}/row.npy").shape == (7,)
    assert np.load(f"{folder}/empty.npy").shape == (4, 0, 3)
    assert np.load(f"{folder}/long.npy").shape == (1,) * 7 + (123456,)
    for archive in ("stored", "deflated"):
        with np.load(f"{folder}/{archive}.npz") as arrays:
            assert sorted(arrays.files) == ["a%2F0x5", "a%2F3x4", "a%2F600x700", "a%2Fscalar"], arrays.files
            assert np.array_equal(arrays["a%2F600x700"].ravel(), sample("<i2", 420000))


def arrays_to_read():
    rng = np.random.default_rng(1)
    for dtype in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"):
        values = (rng.standard_normal((3, 4, 5)) * 50).astype(dtype)
        yield f"little_{dtype.replace('?', 'b')}", values
        if dtype not in ("?", "i1", "u1"):
            yield f"big_{dtype}", values.astype(values.dtype.newbyteorder(">"))
        yield f"fortran_{dtype.replace('?', 'b')}", np.asfortranarray(values)
    yield "big_fortran", np.asfortranarray(values.astype(">i4"))
    yield "scalar", np.float64(2.5)
    yield "empty", np.zeros((0, 3), np.float32)
    yield "one", np.array([7], np.int32)
    yield "special", np.array([np.nan, np.inf, -np.inf, -0.0, 1e-310], np.float64)
    yield "halves", np.arange(65536, dtype=np.uint16).view(np.float16)


def expect(line, name, array):
    got_name, dtype, shape, values = line.split("|")
    assert got_name == name, (got_name, name)
    assert np.dtype(PLAIN[dtype]) == array.dtype.newbyteorder("<"), (name, dtype, array.dtype)
    assert shape == ("x".join(map(str, array.shape)) or "scalar"), (name, shape)
    got = np.array(values.split(), np.float64)
    assert np.array_equal(got, array.astype(np.float64).ravel(), equal_nan=True), name


def check_read(folder):
    arrays = dict(arrays_to_read())
    for name, array in arrays.items():
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(f"{folder}/{name}.npy", "wb") as file:
                np.lib.format.write_array(file, np.asanyarray(array), version=version)
            out = subprocess.run([PROBE, "read", f"{folder}/{name}.npy"], check=True, capture_output=True, text=True).stdout
            expect(out.splitlines()[0], name, np.asarray(array))
    for save in (np.savez, np.savez_compressed):
        save(f"{folder}/all.npz", **arrays)
        out = subprocess.run([PROBE, "read", f"{folder}/all.npz"], check=True, capture_output=True, text=True).stdout
        for line, (name, array) in zip(out.splitlines(), arrays.items(), strict=True):
            expect(line, name, np.asarray(array))


with tempfile.TemporaryDirectory() as scratch:
    os.mkdir(f"{scratch}/ours")
    subprocess.run([PROBE, "write", f"{scratch}/ours"], check=True)
    check_written(f"{scratch}/ours")
    check_read(scratch)
print("ok")
