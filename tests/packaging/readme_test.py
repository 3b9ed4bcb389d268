# SPDX-License-Identifier: Apache-2.0
"""The board example in the README is the first example, which is built and run."""
import pathlib
import sys

REPO = pathlib.Path(__file__).resolve().parents[2]
example = (REPO / "examples/01_first_capture/first_capture.c").read_text().rstrip("\n")
if f"```c\n{example}\n```" not in (REPO / "README.md").read_text():
    sys.exit("README.md does not quote examples/01_first_capture/first_capture.c as it is")
