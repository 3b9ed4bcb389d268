# SPDX-License-Identifier: Apache-2.0
"""Captures made by the generator, and what it says went in. CTest gives DUMPHOOK_GENERATOR (the program, with its emulator
before it, separated by `;`) and DUMPHOOK_SCHEMAS (the folder of the .fbs files)."""
import json
import os
import signal
import socket
import subprocess
import threading

import pytest

import reader

SCHEMAS = os.environ.get("DUMPHOOK_SCHEMAS", os.path.join(os.path.dirname(__file__), "..", "..", "schemas"))
TIMEOUT_S = 120


class Made:
    """One run of the generator: its files, in the order of their streams, and its truth."""

    def __init__(self, scenario, folder, files):
        self.scenario, self.folder, self.files = scenario, folder, files
        with open(folder / "truth.jsonl") as file:
            self.truth = [json.loads(line) for line in file]
        self._capture = None

    def path(self):
        assert len(self.files) == 1
        return self.files[0]

    def capture(self):
        if self._capture is None:
            self._capture = reader.Capture(SCHEMAS)
            for data in self.segments():
                self._capture.add(data)
        return self._capture

    def segments(self):
        """The files' bytes, in the order in which they were written."""
        data = [file.read_bytes() for file in self.files]
        return sorted(data, key=lambda d: int(reader.read_streams(d)[0].metadata["stream"]))

    def raw(self, line):
        return (self.folder / line["raw"]).read_bytes()


def generate(scenario, sink, folder):
    command = os.environ["DUMPHOOK_GENERATOR"].split(";")
    return subprocess.Popen([*command, scenario, str(sink), str(folder)])


def make_file(scenario, folder, expected=0):
    assert generate(scenario, f"file:{folder / 'run.mcap'}", folder).wait(TIMEOUT_S) == expected
    return Made(scenario, folder, sorted(folder.glob("run*.mcap")))


def make_stream(scenario, folder, cut_at=None):
    """The bytes a plain socket got, as `nc -l PORT > run.mcap` would have stored them; cut after `cut_at` bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(TIMEOUT_S)
        process = generate(scenario, f"tcp://127.0.0.1:{server.getsockname()[1]}", folder)
        connection, _ = server.accept()
    with connection, open(folder / "run.mcap", "wb") as file:
        connection.settimeout(TIMEOUT_S)
        size = 0
        while data := connection.recv(65536):
            if cut_at is not None and size + len(data) >= cut_at:
                file.write(data[:cut_at - size])
                break
            file.write(data)
            size += len(data)
    process.wait(TIMEOUT_S)
    return Made(scenario, folder, [folder / "run.mcap"])


MAKERS = {
    "zoo": lambda folder: make_file("zoo", folder),
    "segments": lambda folder: make_file("steady", folder),
    "quota": lambda folder: make_file("quota", folder),
    "losses": lambda folder: make_file("losses", folder),
    "crashed": lambda folder: make_file("crash", folder, -signal.SIGKILL),
    "stream": lambda folder: make_stream("zoo", folder),
    "cut_stream": lambda folder: make_stream("slow", folder, cut_at=150001),
    "shapes": lambda folder: make_file("shapes", folder),
    "packed": lambda folder: make_file("packed", folder),
}
SEALED_FILES = ["zoo", "segments", "quota", "losses", "shapes", "packed"]
CUT = ["crashed", "cut_stream"]
ALL = [name for name in MAKERS if name != "quota"]  # of that, most is gone

_made = {}
_lock = threading.Lock()


@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """make(NAME) -> Made, each made once."""
    def get(name):
        with _lock:
            if name not in _made:
                _made[name] = MAKERS[name](tmp_path_factory.mktemp(name))
            return _made[name]
    return get
