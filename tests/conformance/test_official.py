# SPDX-License-Identifier: Apache-2.0
"""The official MCAP readers, Python, TypeScript and Rust, see the same messages as ours, with their CRC checks on.

TypeScript needs node and npm. Rust takes minutes to build: only with DUMPHOOK_SLOW_TESTS=1, and cargo. The official command
line tool is not published in any package registry; the Rust reader used here is the library it is made of."""
import io
import os
import shutil
import subprocess
import zlib
from collections import Counter

import mcap.reader
import mcap.records
import mcap.stream_reader
import pytest

from conftest import ALL, SEALED_FILES

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("DUMPHOOK_CACHE") or os.path.join(HERE, "..", "..", ".cache"), "conformance")


def line(topic, sequence, log_time, publish_time, data):
    return f"{topic.encode().hex()} {sequence} {log_time} {publish_time} {len(data)} {zlib.crc32(data):08x}"


def ours(made):
    """For each file: the lines of its messages."""
    for data, stream in zip(made.segments(), made.capture().streams):
        yield data, stream, [line(stream.channels[m[0]][1], *m[1:5]) for m in stream.messages]


# ---------------------------------------------------------------------------------------------------- Python

def read_python(data):
    lines, end = [], "end whole"
    topics = {}
    reader = mcap.stream_reader.StreamReader(io.BytesIO(data), validate_crcs=True)
    records = reader.records
    while True:
        try:
            record = next(records)
        except StopIteration:
            return lines, end
        except mcap.stream_reader.CRCValidationError:
            raise
        except Exception:  # whatever it says at the end of a file without Footer
            return lines, "end cut"
        if isinstance(record, mcap.records.Channel):
            topics[record.id] = record.topic
        if isinstance(record, mcap.records.Message):
            lines.append(line(topics[record.channel_id], record.sequence, record.log_time, record.publish_time, record.data))


@pytest.mark.parametrize("name", ALL)
def test_python_streamed(make, name):
    for data, stream, expected in ours(make(name)):
        assert read_python(data) == (expected, "end whole" if stream.sealed else "end cut")


@pytest.mark.parametrize("name", SEALED_FILES + ["stream"])
def test_python_indexed(make, name):
    for data, _, expected in ours(make(name)):
        reader = mcap.reader.make_reader(io.BytesIO(data), validate_crcs=True)
        found = [line(channel.topic, m.sequence, m.log_time, m.publish_time, m.data)
                 for _, channel, m in reader.iter_messages()]
        assert sorted(found) == sorted(expected)
        assert [m.name for m in reader.iter_metadata()] == ["libdumphook"]


@pytest.mark.parametrize("name", SEALED_FILES)
def test_the_summary_tells_the_truth(make, name):
    """What `mcap doctor` checks: statistics, chunk indexes, message indexes, grouping, against the data section."""
    for data, stream, expected in ours(make(name)):
        summary = mcap.reader.make_reader(io.BytesIO(data), validate_crcs=True).get_summary()
        s = summary.statistics
        times = [m[2] for m in stream.messages]
        assert (s.message_count, s.chunk_count, s.metadata_count, s.attachment_count) == (len(expected), stream.chunks, 1, 0)
        assert (s.message_start_time, s.message_end_time) == (min(times), max(times))
        assert s.channel_message_counts == Counter(m[0] for m in stream.messages)
        assert (s.schema_count, s.channel_count) == (len(stream.schemas), len(stream.channels))
        assert set(summary.schemas) == set(stream.schemas) and set(summary.channels) == set(stream.channels)

        chunks = []
        indexes = {}
        reader = mcap.stream_reader.StreamReader(io.BytesIO(data), emit_chunks=True, validate_crcs=True)
        for record in reader.records:
            if isinstance(record, mcap.records.Chunk):
                chunks.append(record)
            if isinstance(record, mcap.records.MessageIndex):
                assert (len(chunks), record.channel_id) not in indexes
                indexes[len(chunks), record.channel_id] = record.records
            if isinstance(record, mcap.records.Message):
                raise AssertionError("a message outside the chunks of an indexed file")
        assert len(chunks) == len(summary.chunk_indexes)
        in_order = sorted(summary.chunk_indexes, key=lambda i: i.chunk_start_offset)
        for number, (chunk, index) in enumerate(zip(chunks, in_order), 1):
            assert data[index.chunk_start_offset] == 6
            assert chunk.uncompressed_crc == zlib.crc32(chunk.data) != 0
            assert (index.message_start_time, index.message_end_time) == (chunk.message_start_time, chunk.message_end_time)
            assert index.uncompressed_size == index.compressed_size == len(chunk.data)
            records = mcap.stream_reader.breakup_chunk(chunk, True)
            messages = [r for r in records if isinstance(r, mcap.records.Message)]
            assert (min(m.log_time for m in messages), max(m.log_time for m in messages)) == (
                chunk.message_start_time, chunk.message_end_time)
            assert {c for n, c in indexes if n == number} == {m.channel_id for m in messages} == set(index.message_index_offsets)
            for channel_id in index.message_index_offsets:
                entries = indexes[number, channel_id]
                assert [t for t, _ in entries] == [m.log_time for m in messages if m.channel_id == channel_id]
                assert all(chunk.data[offset] == 5 for _, offset in entries)


# ---------------------------------------------------------------------------------------------------- TypeScript, Rust

def run_reader(command, mode, path, **options):
    done = subprocess.run([*command, mode, str(path)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stderr
    *lines, end = done.stdout.splitlines()
    return lines, end.split(":")[0]


def check_reader(made, command, **options):
    for data, stream, expected in ours(made):
        path = made.folder / "one.mcap"
        path.write_bytes(data)
        found, end = run_reader(command, "streamed", path, **options)
        assert (found, end) == (expected, "end whole" if stream.sealed else "end cut")
        if stream.sealed and stream.chunks:
            found, end = run_reader(command, "indexed", path, **options)
            assert (sorted(found), end) == (sorted(expected), "end whole")


@pytest.fixture(scope="session")
def node():
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("node and npm are not installed")
    folder = os.path.join(CACHE, "node")
    os.makedirs(folder, exist_ok=True)
    stamp = os.path.join(folder, "installed.json")
    with open(os.path.join(HERE, "node", "package-lock.json")) as file:
        lock = file.read()
    if not os.path.exists(stamp) or open(stamp).read() != lock:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, "node", file), folder)
        install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip("npm cannot install @mcap/core: " + done.stderr[-300:])
        with open(stamp, "w") as file:
            file.write(lock)
    return folder


@pytest.mark.parametrize("name", ALL)
def test_typescript(make, node, name):
    check_reader(make(name), ["node", os.path.join(HERE, "node", "read.mjs")], cwd=node)


@pytest.fixture(scope="session")
def rust():
    if os.environ.get("DUMPHOOK_SLOW_TESTS") != "1":
        pytest.skip("slow: set DUMPHOOK_SLOW_TESTS=1")
    if not shutil.which("cargo"):
        pytest.skip("cargo is not installed")
    folder = os.path.join(CACHE, "rust")
    shutil.copytree(os.path.join(HERE, "rust"), folder, dirs_exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=folder, check=True)
    return os.path.join(folder, "target", "release", "mcap_check")


@pytest.mark.parametrize("name", ALL)
def test_rust(make, rust, name):
    check_reader(make(name), [rust])
