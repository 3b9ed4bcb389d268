# SPDX-License-Identifier: Apache-2.0
"""make.py GENERATOR FOLDER: the golden captures of a released format version, once; what is there is never made again.

    DUMPHOOK_SCHEMAS=schemas PYTHONPATH=tests/conformance python tests/golden/make.py build/dev/.../conformance_generate tests/golden/v2

FOLDER gets tiny.mcap (as a socket got it, unchunked), shapes.mcap (a closed file), expected.json (what reader.py finds in
them), the .fbs files of that version, and SHA256SUMS of it all.
"""
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

import conftest
import reader


def main(generator, folder):
    os.environ["DUMPHOOK_GENERATOR"] = generator
    folder = pathlib.Path(folder)
    (folder / "schemas").mkdir(parents=True)  # fails where a version is already
    for name in sorted(os.listdir(conftest.SCHEMAS)):
        if name.endswith(".fbs"):
            shutil.copyfile(os.path.join(conftest.SCHEMAS, name), folder / "schemas" / name)
    expected = {}
    for name, make in (("tiny", conftest.make_stream), ("shapes", conftest.make_file)):
        made = make(name, pathlib.Path(tempfile.mkdtemp()))
        check_truth(made)
        shutil.copyfile(made.path(), folder / f"{name}.mcap")
        expected[f"{name}.mcap"] = reader.summary(made.capture())
    with open(folder / "expected.json", "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")
    with open(folder / "SHA256SUMS", "w") as file:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "SHA256SUMS"):
            file.write(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n")


def check_truth(made):
    """What the reader finds is what went in: expected.json is not merely what one reader says."""
    capture = made.capture()
    assert capture.problems == []
    found = sorted((capture.descriptors[k[0]].Name().hex(), k[4], t.bytes) for k, t in capture.tensors.items() if t.whole)
    assert found == sorted((line["name"], line["occurrence"], made.raw(line)) for line in made.truth)


if __name__ == "__main__":
    main(*sys.argv[1:])
