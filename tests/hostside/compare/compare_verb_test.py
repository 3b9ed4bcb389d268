#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_verb_test.py DUMPHOOK CHECK_PROFILE: `dumphook compare` as a user runs it, on folders of npy files."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

DUMPHOOK, CHECK_PROFILE = sys.argv[1:3]


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.target, self.golden = self.root / "target", self.root / "golden"
        self.target.mkdir()
        self.golden.mkdir()
        rng = np.random.default_rng(7)
        for i in range(8):
            values = rng.standard_normal((1, 6, 5, 4)).astype("f4")
            self.save(f"conv{i}", values + 0.02 * rng.standard_normal(values.shape).astype("f4"), values)

    def tearDown(self):
        self.folder.cleanup()

    def save(self, name, target=None, golden=None):
        for folder, values in ((self.target, target), (self.golden, golden)):
            if values is not None:
                np.save(folder / f"{name}.npy", values)

    def run_tool(self, *options, expect):
        environment = {**os.environ, "TERM": "xterm"}
        run = subprocess.run([DUMPHOOK, "compare", self.target, self.golden, *map(str, options)], capture_output=True,
                             text=True, env=environment)
        self.assertEqual(run.returncode, expect, run.stdout + run.stderr)
        return run

    def report(self, *options, expect):
        report = json.loads(self.run_tool("--json", *options, expect=expect).stdout)
        path = self.root / "checked.json"
        path.write_text(json.dumps(report))
        subprocess.run([sys.executable, CHECK_PROFILE, path, self.target, self.golden], check=True, stdout=subprocess.DEVNULL)
        return report

    def scale(self, name, factor):
        np.save(self.target / f"{name}.npy", np.load(self.target / f"{name}.npy") * np.float32(factor))

    def test_all_good_is_0(self):
        report = self.report(expect=0)
        self.assertIsNone(report["first_bad"])
        self.assertTrue(report["coverage"]["complete"])
        self.assertEqual([row["name"] for row in report["layers"]], [f"conv{i}" for i in range(8)])

    def test_one_wrong_scale_is_4_and_named(self):
        self.scale("conv3", 1.5)
        report = self.report(expect=4)
        self.assertEqual(report["first_bad"], "conv3")
        self.assertEqual(report["worst"], "conv3")
        self.assertEqual(report["trend"], {"kind": "sudden", "at": "conv3"})
        self.assertGreater(report["layers"][3]["metrics"]["cosine"], 0.99)

    def test_missing_target_is_3_unless_allowed(self):
        (self.target / "conv5.npy").unlink()
        self.assertEqual(self.report(expect=3)["coverage"]["only_in_golden"], ["conv5"])
        self.assertNotIn("PASS", self.run_tool(expect=3).stdout)
        self.run_tool("--allow-unmatched", expect=0)

    def test_failed_limit_wins_over_missing_data(self):
        (self.target / "conv5.npy").unlink()
        self.scale("conv3", 2)
        self.run_tool(expect=4)

    def test_limits_on_the_command_line(self):
        self.run_tool("--cosine", "0.99999", expect=4)
        self.run_tool("--max-abs", "0.001", expect=4)
        self.run_tool("--rel-l1=0.001", expect=4)
        self.scale("conv3", 1.5)
        self.run_tool("--norm-ratio", "0.5,2", expect=0)
        for bad in (("--cosine", "much"), ("--norm-ratio", "1"), ("--preset", "other"), ("--format", "other")):
            self.run_tool(*bad, expect=2)

    def test_map_pairs_other_names(self):
        (self.target / "conv5.npy").rename(self.target / "npu_5.npy")
        names = self.root / "names.txt"
        names.write_text("# target golden\nnpu_5 conv5\n")
        self.assertIn("mapped to conv5", self.report("--map", names, expect=0)["layers"][-1]["reason"])
        names.write_text("npu_5\n")
        self.assertIn("names.txt:1", self.run_tool("--map", names, expect=1).stderr)

    def test_nhwc_against_nchw(self):
        values = np.random.default_rng(1).standard_normal((1, 6, 5, 3)).astype("f4")
        self.save("image", values, values.transpose(0, 3, 1, 2).copy())
        rows = {row["name"]: row for row in self.report(expect=0)["layers"]}
        self.assertEqual(rows["image"]["metrics"]["max_abs"], 0)
        self.assertIn("transposed NHWC to NCHW", rows["image"]["reason"])

    def test_special_values(self):
        nan = np.array([1, np.nan, 3, np.inf], "f4")
        self.save("nan", nan, nan)
        self.save("zero", np.zeros(3, "f4"), np.zeros(3, "f4"))
        self.save("empty", np.zeros((0, 3), "f4"), np.zeros((0, 3), "f4"))
        self.save("scalar", np.float32(2), np.float32(2))
        self.save("flags", np.array([True, False]), np.array([True, False]))
        self.save("classes", np.arange(5), np.arange(5, dtype="i4"))
        self.report(expect=0)
        self.save("nan", nan, np.array([1, 2, 3, 4], "f4"))
        self.assertEqual(self.report(expect=4)["first_bad"], "nan")

    def test_files_are_written_whole_and_not_over_others(self):
        out, side = self.root / "out.csv", self.root / "side.json"
        self.run_tool("--format", "csv", "--out", out, "--json", side, expect=0)
        self.assertEqual(len(out.read_text().splitlines()), 9)
        self.assertEqual(json.loads(side.read_text())["format"], 1)
        self.assertIn("--force", self.run_tool("--out", out, expect=1).stderr)
        self.run_tool("--out", out, "--force", expect=0)
        self.assertIn("verdict", out.read_text())
        self.assertEqual(sorted(file.name for file in self.root.iterdir() if ".part" in file.name), [])

    def test_sigmastar_lines(self):
        run = self.run_tool("--format", "sigmastar", "--preset", "sigmastar", expect=0)
        lines = run.stdout.splitlines()
        self.assertRegex(lines[0], r"^0\) conv0 MSE: \d+\.\d{6} COS: \d\.\d{6} RMSE: \d\.\d{6}$")
        self.assertEqual(len(lines), 8)
        t, g = (np.load(folder / "conv0.npy").astype("f8") for folder in (self.target, self.golden))
        self.assertTrue(lines[0].endswith(f"RMSE: {np.abs(t - g).sum() / np.abs(g).sum():.6f}"))

    def test_reports_of_rows_only_say_the_rest_on_stderr(self):
        (self.target / "conv5.npy").unlink()
        self.save("raw", np.zeros(3, "f4"), np.zeros(4, "f4"))
        run = self.run_tool("--format", "sigmastar", expect=3)
        self.assertEqual(len(run.stdout.splitlines()), 7)
        self.assertIn("coverage  7 of 9 rows judged", run.stderr)
        self.assertIn("left out  2 rows", run.stderr)
        self.assertIn("verdict   INCOMPLETE", run.stderr)
        run = self.run_tool("--format", "csv", expect=3)
        self.assertEqual(len(run.stdout.splitlines()), 10)
        self.assertNotIn("left out", run.stderr)
        self.assertIn("verdict   INCOMPLETE", run.stderr)

    def test_a_large_tensor_takes_little_more_than_its_bytes(self):
        values = np.zeros(96 << 20, "u1")
        self.save("huge", values, values)
        run = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
                              "stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
                              DUMPHOOK, "compare", self.target, self.golden], check=True, capture_output=True, text=True)
        self.assertLess(int(run.stdout), 512 << 10, "KiB: the two tensors, their files, and some")

    def test_integers_beyond_doubles_warn(self):
        self.save("ids", np.array([2**53 + 1, 5]), np.array([2**53, 5]))
        rows = {row["name"]: row for row in self.report(expect=0)["layers"]}
        self.assertEqual(rows["ids"]["verdict"], "warn")
        self.assertIn("1 elements differ, by up to 1", rows["ids"]["reason"])

    def test_no_colours_in_a_pipe_and_nothing_on_stderr(self):
        run = self.run_tool(expect=0)
        self.assertNotIn("\x1b", run.stdout)
        self.assertEqual(run.stderr, "")
        self.assertIn("verdict   PASS", run.stdout)

    def test_damaged_file_is_not_comparable(self):
        (self.target / "conv2.npy").write_bytes(b"\x93NUMPY\x01\x00rubbish")
        rows = {row["name"]: row for row in json.loads(self.run_tool("--json", expect=3).stdout)["layers"]}
        self.assertEqual(rows["conv2"]["verdict"], "not comparable")
        self.assertTrue(rows["conv2"]["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
