# SPDX-License-Identifier: Apache-2.0
"""The bytes in FORMAT.md's worked example are those of the golden capture, and say what stands beside them."""
import os
import pathlib
import re
import struct
import zlib

import xxhash

import reader
from conftest import SCHEMAS

FORMAT = (pathlib.Path(SCHEMAS) / "FORMAT.md").read_text()
GOLDEN = (pathlib.Path(__file__).parent / "v1" / "tiny.mcap").read_bytes()


def block(name):
    """The bytes of the block ```hex NAME; each line begins where the one before ended."""
    data = b""
    for line in re.search(f"```hex {name}\n(.*?)```", FORMAT, re.S).group(1).splitlines():
        offset, columns = line.split("  ", 1)
        assert int(offset, 16) == len(data), line
        data += bytes.fromhex(columns.split("  ")[0])
    return data


def test_record_and_message_are_in_the_golden_capture():
    at = int(re.search(r"At offset (\d+) of it", FORMAT).group(1))
    record, message = block("record"), block("flatbuffer")
    assert GOLDEN[at:at + len(record) + len(message)] == record + message
    assert struct.unpack_from("<Q", record, 1)[0] == len(record) + len(message) - 9


def test_message_decodes_to_what_the_text_says():
    reader.load_schemas(SCHEMAS)
    message = block("flatbuffer")
    table = reader.table_class("TensorMessage").GetRootAs(message, 0)
    reader.check_crc(message, table)
    part, key = table.Part(), table.Key()
    assert (table.StreamSeq(), key.Frame(), key.DescriptorHash(), part.PartCount()) == (5, 1, 0x43a0242a63137c55, 1)
    assert (part.Dtype(), reader.vector(part, "Shape"), part.Total()) == (2, [2, 2], 16)
    assert struct.unpack("<4f", reader.decode_part(part)) == (1, -2, 0.5, 65504)
    assert zlib.crc32(message[:0x38] + bytes(4) + message[0x3c:]) == 0x1f2c2e14


def test_descriptor_bytes_hash_to_the_descriptor_s_hash():
    data = block("descriptor")
    assert f"of these {len(data)} bytes" in FORMAT
    capture = reader.Capture(SCHEMAS).add(GOLDEN)
    assert xxhash.xxh64(data, seed=0).intdigest() == next(iter(capture.descriptors)) == 0x43a0242a63137c55
