# SPDX-License-Identifier: Apache-2.0
"""The main job as a user runs it, judged by code that shares nothing with it: the conformance reader and NumPy.

    python -m pytest tests/pipeline/test_main_job.py        (builds, emulates; a minute once everything is built)
"""
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tests" / "conformance"))
import reader  # noqa: E402

LAYERS = 176  # compute layers of the int8 model, and of the float model without its constants
STAGES = {"photo", "resized", "normalised", "input", "faces", "detections"}
FRAMES = 12
FACES = {"sample1.jpg": 3, "sample2.jpg": 3, "sample3.jpg": 3, "sample4.jpg": 4, "sample5.jpg": 5, "sample6.jpg": 4}


def run_main_job(out, *options):
    return subprocess.run(["bash", str(REPO / "examples" / "run.sh"), "--out", str(out), *options], cwd=REPO, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """(folder, output) of a run."""
    out = tmp_path_factory.mktemp("job")
    run = run_main_job(out)
    assert run.returncode == 0, run.stdout[-4000:]
    return out, run.stdout


@pytest.fixture(scope="module")
def job(done):
    return done[0]


def read(path):
    capture = reader.Capture(str(REPO / "schemas"))
    capture.add(path.read_bytes())
    assert capture.problems == []
    return capture


def tensors_by_name(capture):
    """{(frame, name, occurrence): Tensor}"""
    return {(t.key[1], capture.descriptors[t.key[0]].Name().decode(), t.key[4]): t for t in capture.tensors.values()}


def boxes(path):
    """{(frame, photo): [(score, x0, y0, x1, y1)]} of what the demo printed."""
    found, current = {}, None
    for line in path.read_text().splitlines():
        frame = re.match(r"frame (\d+) (\S+): (\d+) faces", line)
        if frame:
            current = found.setdefault((int(frame[1]), frame[2]), [])
        face = re.match(r"face ([\d.]+)\s+\[([-\d. ]+)\]", line)
        if face:
            current.append((float(face[1]), *map(float, face[2].split())))
    return found


def overlap(a, b):
    width = min(a[3], b[3]) - max(a[1], b[1])
    height = min(a[4], b[4]) - max(a[2], b[2])
    both = max(width, 0) * max(height, 0)
    return both / ((a[3] - a[1]) * (a[4] - a[2]) + (b[3] - b[1]) * (b[4] - b[2]) - both)


def test_every_layer_of_the_board_arrives_in_every_frame(job):
    capture = read(job / "target.mcap")
    names = {}
    for (frame, name, occurrence), tensor in tensors_by_name(capture).items():
        assert tensor.whole and occurrence == 0
        names.setdefault(frame, set()).add(name)
    assert sorted(names) == list(range(FRAMES))
    graph, = capture.graphs.values()
    declared = {output.decode() for node in graph["nodes"].values() for output in reader.vector(node, "Outputs")}
    assert len(declared) == graph["total"] == LAYERS
    assert all(frame_names == declared | STAGES for frame_names in names.values())
    counters = capture.counters
    assert counters.Closing() and counters.InFlight() == 0 and capture.losses == []
    assert counters.Seen() == counters.Shipped() == FRAMES * (LAYERS + len(STAGES))


def test_what_was_collected_equals_the_file_that_the_same_run_wrote(job):
    collected = tensors_by_name(read(job / "target.mcap"))
    written = tensors_by_name(read(job / "target_file.mcap"))
    assert collected.keys() == written.keys()
    for key, tensor in collected.items():
        assert tensor.bytes == written[key].bytes, key
        assert (tensor.dtype, tensor.shape) == (written[key].dtype, written[key].shape), key


def test_both_sides_find_the_faces(job):
    board, pc = boxes(job / "target_detections.txt"), boxes(job / "golden_detections.txt")
    assert board.keys() == pc.keys() and len(board) == FRAMES
    for (frame, photo), faces in pc.items():
        assert len(faces) == len(board[frame, photo]) == FACES[photo], (frame, photo)
        for face in faces:
            assert max(overlap(face, other) for other in board[frame, photo]) > 0.5, (frame, photo, face)


def test_the_report_covers_everything_and_numpy_agrees_to_1e_9(job):
    report = json.loads((job / "compare.json").read_text())
    compared = 0
    for row in report["layers"]:
        target, golden = job / "target", job / "golden"
        stem = next((s for s in (row["name"], row["name"].replace("/", "%2F")) if (target / f"{s}.npy").exists()), None)
        if stem is None or (row["metrics"] or {}).get("cosine") is None:
            continue
        t = np.load(target / f"{stem}.npy").astype(np.float64).ravel()
        g = np.load(golden / f"{stem}.npy").astype(np.float64).ravel()
        d = t - g
        expected = {
            "cosine": t @ g / math.sqrt((t @ t) * (g @ g)), "mse": np.mean(d * d), "rmse": math.sqrt(np.mean(d * d)),
            "mae": np.mean(np.abs(d)), "max_abs": np.max(np.abs(d)), "rel_euclidean": math.sqrt((d @ d) / (g @ g)),
            "rel_l1": np.sum(np.abs(d)) / np.sum(np.abs(g)), "norm_ratio": math.sqrt((t @ t) / (g @ g)),
            "sqnr_db": 10 * math.log10((g @ g) / (d @ d)) if d @ d else math.inf,
        }
        for metric, value in expected.items():
            if math.isinf(value):
                continue
            assert math.isclose(row["metrics"][metric], value, rel_tol=1e-9, abs_tol=1e-12), (row["name"], metric)
        compared += 1
    assert compared >= LAYERS


def test_a_planted_wrong_scale_is_the_first_bad_layer(job, tmp_path):
    layer = "activation_20"
    done = run_main_job(tmp_path / "planted", "--frames", "1", "--plant-scale", f"{layer}=1.5")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "exit code of compare: 4" in done.stdout
    report = json.loads((tmp_path / "planted" / "compare.json").read_text())
    first_bad = report["first_bad"]
    assert (first_bad["name"] if isinstance(first_bad, dict) else first_bad) == layer


def test_capture_does_not_change_the_outputs(job, tmp_path):
    model = REPO / ".cache/assets/models/face_detection_full_range_int8.tflite"
    photos = REPO / ".cache/assets/photos"
    program = [str(REPO / "build/release/examples/tflite_pipeline/tflite_pipeline"), "--model", str(model), "--photos", str(photos),
               "--frames", "6"]
    for name, options in {"on": ["--sink", f"file:{tmp_path}/on.mcap"], "off": ["--no-capture"]}.items():
        subprocess.run([*program, *options, "--outputs", str(tmp_path / name)], check=True, stdout=subprocess.DEVNULL)
    on, off = (tmp_path / "on").read_bytes(), (tmp_path / "off").read_bytes()
    assert len(on) > 0 and on == off


def test_a_folder_that_no_run_made_is_left_alone(tmp_path):
    precious = tmp_path / "mine" / "target" / "precious.npy"
    precious.parent.mkdir(parents=True)
    precious.write_text("mine")
    script = REPO / "examples" / "run.sh"
    for out, folder in ((str(tmp_path / "mine"), REPO), ("mine", tmp_path)):
        run = subprocess.run(["bash", str(script), "--out", out], cwd=folder, capture_output=True, text=True, timeout=60)
        assert run.returncode == 2 and f"{tmp_path}/mine is not empty" in run.stderr
        assert precious.read_text() == "mine"


def test_the_readme_shows_what_the_run_prints(done):
    """The header and the summary to the letter; of the rows between, which they are."""
    out, text = done
    block = re.search(r"<!-- report of the main job -->\n```\n(.*?)```\n<!-- end -->", (REPO / "README.md").read_text(), re.S)[1]
    shown, printed = block.splitlines(), text.replace(f"{out}/", "out/").splitlines()
    report = printed[next(i for i, line in enumerate(printed) if re.match("target +out/target.mcap · frame", line)):]
    head = next(i for i, line in enumerate(shown) if line.split()[:2] == ["#", "op"])
    assert shown[: head + 1] == report[: head + 1]
    legend = next(i for i, line in enumerate(shown) if line.startswith("dtype target/golden"))
    assert shown[legend] in report
    there = {tuple(line.split()[:5]) for line in report}
    for line in shown[head + 1 : legend]:
        assert line == "..." or tuple(line.split()[:5]) in there, line
    for word in ("first bad ", "worst     ", "counts    ", "verdict   "):
        assert [line for line in shown if line.startswith(word)] == [line for line in report if line.startswith(word)]
