# SPDX-License-Identifier: Apache-2.0
"""Captures of each released format version still decode to what they decoded to then. DUMPHOOK_TOOL: the host tool to ask, too."""
import hashlib
import io
import json
import os
import pathlib
import subprocess

import mcap.stream_reader
import pytest

import reader
from conftest import SCHEMAS

HERE = pathlib.Path(__file__).parent
VERSIONS = sorted(p.name for p in HERE.iterdir() if (p / "expected.json").exists())
CAPTURES = [f"{v}/{p.name}" for v in VERSIONS for p in sorted((HERE / v).glob("*.mcap"))]


def expected_of(path):
    version, name = path.split("/")
    return json.loads((HERE / version / "expected.json").read_text())[name]


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_files_are_never_edited(version):
    sums = dict(reversed(line.split("  ")) for line in (HERE / version / "SHA256SUMS").read_text().splitlines())
    assert len(sums) > 8
    for name, expected in sums.items():
        assert hashlib.sha256((HERE / version / name).read_bytes()).hexdigest() == expected, name


@pytest.mark.parametrize("path", CAPTURES)
def test_reader_finds_what_it_found_then(path):
    capture = reader.Capture(SCHEMAS).add((HERE / path).read_bytes())
    capture.check_digests()
    assert reader.summary(capture) == expected_of(path)


@pytest.mark.parametrize("path", CAPTURES)
def test_official_reader_accepts_them(path):
    data = io.BytesIO((HERE / path).read_bytes())
    messages = [r for r in mcap.stream_reader.StreamReader(data, validate_crcs=True).records if type(r).__name__ == "Message"]
    assert len(messages) == sum(expected_of(path)["messages"].values())


@pytest.mark.parametrize("path", CAPTURES)
def test_cut_anywhere_they_yield_what_came_before(path):
    data = (HERE / path).read_bytes()
    last = 0
    for size in (*range(8, len(data), 3001), len(data)):
        count = sum(len(s.messages) for s in reader.read_streams(data[:size]))
        assert count >= last
        last = count
    assert last == sum(expected_of(path)["messages"].values())


def tool(*arguments):
    if not os.environ.get("DUMPHOOK_TOOL"):
        pytest.skip("no host tool in this build")
    done = subprocess.run([os.environ["DUMPHOOK_TOOL"], *map(str, arguments)], capture_output=True)
    assert done.returncode in (0, 3), done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("path", CAPTURES)
def test_host_tool_finds_the_same_tensors(path):
    expected = expected_of(path)
    frames = json.loads(tool("ls", "--json", HERE / path))["frames"]
    found = [t for frame in frames for t in frame["tensors"]]
    key = lambda t: (t["model"], t["dtype"], t["shape"], t["instance"], t["occurrence"])  # names: \xff is not JSON
    assert sorted(map(key, found)) == sorted(map(key, expected["tensors"]))
    assert {t["state"] for t in found} == {"whole"} and all(t["whole"] for t in expected["tensors"])
    info = json.loads(tool("info", "--json", HERE / path))
    assert info["problems"] == [] and info["tensors"]["whole"] == len(expected["tensors"])
    assert info["sessions"][0]["counters"]["seen"] == expected["counters"]["seen"]


@pytest.mark.parametrize("path", CAPTURES)
def test_host_tool_exports_the_same_bytes(path, tmp_path):
    tool("export", "--format", "bin", "--stored", "--to", tmp_path / "out", HERE / path)
    found = sorted(hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / "out").rglob("*.bin"))
    nothing = hashlib.sha256(b"").hexdigest()
    assert found == sorted(t.get("sha256", nothing) for t in expected_of(path)["tensors"])
