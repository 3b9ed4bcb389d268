# SPDX-License-Identifier: Apache-2.0
"""The example's quantize.py for models whose pixels go from 0 to 1:  quantize_unit.py FLOAT.tflite INT8.tflite PHOTO..."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "assets"))
import quantize  # noqa: E402

signed_photo = quantize.load_photo
quantize.load_photo = lambda path, side: (signed_photo(path, side) + 1) / 2
quantize.INPUT_RANGE = (0.0, 255 / 256)
quantize.main(*sys.argv[1:])
