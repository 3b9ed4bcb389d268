# SPDX-License-Identifier: Apache-2.0
"""The host tool and the independent reader find the same. DUMPHOOK_TOOL is the tool; a build without the PC side has none."""
import hashlib
import io
import json
import os
import subprocess

import mcap.reader
import mcap.records
import mcap.stream_reader
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


def run_tool(*arguments):
    tool("--version")
    done = subprocess.run([os.environ["DUMPHOOK_TOOL"], *map(str, arguments)], capture_output=True)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("name", ALL + ["quota"])
def test_doctor_finds_nothing_but_what_is_missing(make, name):
    code, report = run_tool("doctor", "--json", *make(name).files)
    assert report["verdict"] == {0: "healthy", 3: "missing"}[code], report["findings"]
    assert (code == 3) == (name in CUT + ["quota"])
    assert all(finding["harm"] != "damaged" for finding in report["findings"])


@pytest.mark.parametrize("name", ALL)
def test_the_official_reader_reads_what_recover_makes(make, name, tmp_path):
    """All segments as one file, as `cat` or `nc` would leave them."""
    made = make(name)
    (tmp_path / "in.mcap").write_bytes(b"".join(made.segments()))
    code, report = run_tool("recover", "--json", tmp_path / "in.mcap", "-o", tmp_path / "out.mcap")
    assert code == (3 if name in CUT else 0), report
    data = (tmp_path / "out.mcap").read_bytes()
    expected = {}
    for stream in made.capture().streams:
        for message in stream.messages:
            expected.setdefault(message[1], (stream.channels[message[0]][1], message[4]))
    with open(tmp_path / "out.mcap", "rb") as file:
        reader = mcap.reader.make_reader(file, validate_crcs=True)
        indexed = {m.sequence: (channel.topic, m.data) for _, channel, m in reader.iter_messages()}
        statistics = reader.get_summary().statistics
    assert indexed == expected
    assert statistics.message_count == len(expected) and statistics.chunk_count >= 1
    streamed = [r for r in mcap.stream_reader.StreamReader(io.BytesIO(data), validate_crcs=True).records
                if isinstance(r, mcap.records.Message)]
    assert len(streamed) == len(expected)


@pytest.mark.parametrize("name", ALL)
def test_export_writes_the_same_bytes(make, name, tmp_path):
    made = make(name)
    (tmp_path / "in").mkdir()
    for file in made.files:
        (tmp_path / "in" / file.name).write_bytes(file.read_bytes())
    tool("export", "--format", "bin", "--stored", "--frame", "all", "--to", tmp_path / "out", tmp_path / "in")
    found = sorted(hashlib.sha256(p.read_bytes()).hexdigest() for p in (tmp_path / "out").rglob("*.bin"))
    assert found == sorted(hashlib.sha256(t.bytes).hexdigest() for t in made.capture().tensors.values() if t.whole)
