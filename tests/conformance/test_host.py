# SPDX-License-Identifier: Apache-2.0
"""The host tool and the independent reader find the same. DUMPHOOK_TOOL is the tool; a build without the PC side has none."""
import hashlib
import json
import os
import subprocess

import pytest

from conftest import ALL, CUT


def tool(*arguments):
    if not os.environ.get("DUMPHOOK_TOOL"):
        pytest.skip("no host tool in this build")
    done = subprocess.run([os.environ["DUMPHOOK_TOOL"], *map(str, arguments)], capture_output=True)
    assert done.returncode in (0, 3), done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("name", ALL)
def test_info_counts_the_same(make, name):
    made = make(name)
    capture = made.capture()
    info = json.loads(tool("info", "--json", *made.files))
    tensors = capture.tensors.values()
    assert info["tensors"]["all"] == len(tensors) and info["tensors"]["whole"] == sum(t.whole for t in tensors)
    assert info["tensors"]["damaged"] == 0
    assert [s["sealed"] for s in info["streams"]].count(True) == sum(s.sealed for s in capture.streams)
    assert (info["problems"] == []) or name in CUT
    first, last = min(capture.sequences), max(capture.sequences)
    assert (info["sessions"][0]["first_stream_seq"], info["sessions"][0]["last_stream_seq"]) == (first, last)
    assert info["sessions"][0]["gaps"] == []


@pytest.mark.parametrize("name", ALL)
def test_export_writes_the_same_bytes(make, name, tmp_path):
    made = make(name)
    (tmp_path / "in").mkdir()
    for file in made.files:
        (tmp_path / "in" / file.name).write_bytes(file.read_bytes())
    tool("export", "--format", "bin", "--stored", "--frame", "all", "--to", tmp_path / "out", tmp_path / "in")
    found = sorted(hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / "out").rglob("*.bin"))
    assert found == sorted(hashlib.sha256(t.bytes).hexdigest() for t in made.capture().tensors.values() if t.whole)
