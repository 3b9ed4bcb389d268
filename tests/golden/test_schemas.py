# SPDX-License-Identifier: Apache-2.0
"""Today's schemas only append to those of each released version. `flatc --conform` is weak (it takes a removed last field, a
removed enum value and any renaming), so the reflection schemas are compared field by field as well."""
import os
import pathlib
import struct
import subprocess

import pytest

from conftest import SCHEMAS

HERE = pathlib.Path(__file__).parent
FLATC = os.environ.get("FLATC", "flatc")
VERSIONS = sorted(p.name for p in HERE.iterdir() if (p / "schemas").is_dir())
FILES = [(v, p.name) for v in VERSIONS for p in sorted((HERE / v / "schemas").glob("*.fbs"))]


# ---------------------------------------------------------------------------------------------------- reflection.fbs

class Table:
    """Just enough of FlatBuffers to read a .bfbs: fields by number, as FlatBuffers' reflection.fbs lists them."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    @classmethod
    def root(cls, data):
        return cls(data, struct.unpack_from("<I", data)[0])

    def field(self, number):
        vtable = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        offset = 4 + 2 * number
        if offset >= struct.unpack_from("<H", self.data, vtable)[0]:
            return None
        value = struct.unpack_from("<H", self.data, vtable + offset)[0]
        return self.at + value if value else None

    def scalar(self, number, code, default=0):
        at = self.field(number)
        return default if at is None else struct.unpack_from("<" + code, self.data, at)[0]

    def follow(self, at):
        return at + struct.unpack_from("<I", self.data, at)[0]

    def string(self, number):
        at = self.field(number)
        if at is None:
            return ""
        at = self.follow(at)
        return self.data[at + 4:at + 4 + struct.unpack_from("<I", self.data, at)[0]].decode()

    def table(self, number):
        at = self.field(number)
        return None if at is None else Table(self.data, self.follow(at))

    def tables(self, number):
        at = self.field(number)
        if at is None:
            return []
        at = self.follow(at)
        return [Table(self.data, self.follow(at + 4 + 4 * i)) for i in range(struct.unpack_from("<I", self.data, at)[0])]


def type_of(t, objects, enums):
    base, element, index, length = t.scalar(0, "b"), t.scalar(1, "b"), t.scalar(2, "i", -1), t.scalar(3, "H")
    of_object = 15 in (base, element)
    name = None if index < 0 else (objects if of_object else enums)[index]
    return base, element, name, length


def describe(folder, name, work):
    """-> ({object: (is_struct, bytesize, {field: (id, type, offset in a struct, defaults)})}, {enum: (type, {name: value})})"""
    subprocess.run([FLATC, "--binary", "--schema", "-o", str(work), str(pathlib.Path(folder) / name)], check=True)
    schema = Table.root((work / name.replace(".fbs", ".bfbs")).read_bytes())
    objects, enums = [o.string(0) for o in schema.tables(0)], [e.string(0) for e in schema.tables(1)]
    tables = {}
    for o in schema.tables(0):
        is_struct = bool(o.scalar(2, "B"))
        fields = {f.string(0): (f.scalar(2, "H"), type_of(f.table(1), objects, enums), f.scalar(3, "H") if is_struct else None,
                                f.scalar(4, "q"), f.scalar(5, "d"), bool(f.scalar(6, "B")), bool(f.scalar(7, "B")))
                  for f in o.tables(1)}
        tables[o.string(0)] = (is_struct, o.scalar(4, "i") if is_struct else None, fields)
    values = {e.string(0): (type_of(e.table(3), objects, enums)[:2], {v.string(0): v.scalar(1, "q") for v in e.tables(1)})
              for e in schema.tables(1)}
    return tables, values


# ---------------------------------------------------------------------------------------------------- tests

def changes(old, new):
    """What `new` took away from `old`, or did to it."""
    found = []
    for name, (is_struct, size, fields) in old[0].items():
        if name not in new[0]:
            found.append(f"{name} is gone")
            continue
        now_struct, now_size, now = new[0][name]
        if (is_struct, size) != (now_struct, now_size) or (is_struct and fields != now):
            found.append(f"struct {name} changed: structs are frozen")
        found += [f"{name}.{f}: was {was}, is {now.get(f)}" for f, was in fields.items() if now.get(f) != was]
        last = max((was[0] for was in fields.values()), default=-1)
        found += [f"{name}.{f} is new but not appended" for f in now if f not in fields and now[f][0] <= last]
    for name, (kind, values) in old[1].items():
        now_kind, now = new[1].get(name, (None, {}))
        if kind != now_kind:
            found.append(f"enum {name} changed its type")
        found += [f"{name}.{v}: was {value}, is {now.get(v)}" for v, value in values.items() if now.get(v) != value]
    return found


@pytest.mark.parametrize("version, name", FILES)
def test_flatc_says_it_conforms(version, name):
    old = HERE / version / "schemas" / name
    subprocess.run([FLATC, "--conform", str(old), "--conform-includes", str(old.parent), os.path.join(SCHEMAS, name)], check=True)


@pytest.mark.parametrize("version, name", FILES)
def test_every_field_and_value_is_what_it_was(version, name, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    assert changes(describe(HERE / version / "schemas", name, tmp_path / "old"), describe(SCHEMAS, name, tmp_path / "new")) == []


@pytest.mark.parametrize("edit, complaint", [
    (("  capture_time_ns: ulong;", ""), "capture_time_ns: was"),
    (("  capture_time_ns: ulong; // session clock, when", "  extra: uint;\n  capture_time_ns: ulong; // when"), "capture_time_ns: was"),
    (("part_index: uint;", "part_number: uint;"), "part_index: was"),
    (("total: ulong;", "total: uint;"), "total: was"),
    (("node_index: int = -1;", "node_index: int;"), "node_index: was"),
    (("XXH64 = 1", "XXH64 = 2"), "XXH64: was"),
    (("enum DigestKind : ubyte", "enum DigestKind : ushort"), "changed its type"),
    (("  instance: uint;\n", "  instance: ulong;\n"), "structs are frozen"),
])
def test_the_comparison_notices(edit, complaint, tmp_path):
    old = HERE / VERSIONS[-1] / "schemas"
    new = tmp_path / "edited"
    new.mkdir()
    for path in old.glob("*.fbs"):
        text = path.read_text()
        if path.name == "tensor.fbs":
            assert edit[0] in text
            text = text.replace(edit[0], edit[1])
        (new / path.name).write_text(text)
    assert any(complaint in c for c in changes(describe(old, "tensor.fbs", tmp_path), describe(new, "tensor.fbs", new)))
