# SPDX-License-Identifier: Apache-2.0
"""A second, independent reader of dumphook captures, written from schemas/FORMAT.md, the .fbs files and the MCAP
specification alone. It shares no code with the C++ reader, so that the document, and not our habits, is what both obey.

    python reader.py SCHEMAS CAPTURE...      what is in the captures, as JSON (see summary())

SCHEMAS is the folder of the .fbs files. Needs flatc (or $FLATC), numpy, lz4, xxhash, flatbuffers.
"""
import atexit
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import lz4.block
import numpy as np
import xxhash

MAGIC = b"\x89MCAP0\r\n"
MAX_RECORD = 64 << 20
MAX_RAW_PART = 16 << 20
MAX_RANK = 8

# FORMAT.md section 4 and types.fbs: name, bits, numpy type that holds the same bytes.
DTYPES = {
    0: ("raw", 8, "u1"), 1: ("f64", 64, "<f8"), 2: ("f32", 32, "<f4"), 3: ("f16", 16, "<f2"), 4: ("bf16", 16, "<u2"),
    5: ("f8e4m3", 8, "u1"), 6: ("f8e5m2", 8, "u1"), 7: ("i64", 64, "<i8"), 8: ("u64", 64, "<u8"), 9: ("i32", 32, "<i4"),
    10: ("u32", 32, "<u4"), 11: ("i16", 16, "<i2"), 12: ("u16", 16, "<u2"), 13: ("i8", 8, "i1"), 14: ("u8", 8, "u1"),
    15: ("bool", 8, "u1"), 16: ("i4", 4, None), 17: ("u4", 4, None),
}
REASONS = ["pool_full", "too_big", "too_many_tensors", "no_descriptor_room", "frame_refused", "degraded", "sink_error",
           "not_connected", "quota_removed", "not_triggered", "abandoned", "closed"]
FRAME_STATES = ["complete", "abandoned", "incomplete"]


class Damaged(Exception):
    pass


# ---------------------------------------------------------------------------------------------------- MCAP

class Cursor:
    """Fields of one MCAP record."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Damaged("a length exceeds its record")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def string(self):
        return bytes(self.take(self.number("I"))).decode("utf-8")

    def string_map(self):
        inner = Cursor(self.take(self.number("I")))
        pairs = {}
        while inner.at < len(inner.data):
            key = inner.string()
            pairs[key] = inner.string()
        return pairs


class Stream:
    """One MCAP stream: what one connection or one file segment holds."""

    def __init__(self):
        self.library = self.profile = None
        self.metadata = {}
        self.schemas = {}    # id -> (name, encoding, data)
        self.channels = {}   # id -> (schema_id, topic, encoding, metadata)
        self.messages = []   # (channel_id, sequence, log_time, publish_time, data, file offset of the record or its chunk)
        self.chunks = 0
        self.sealed = False  # ended with Footer and magic
        self.remainder = 0   # bytes at the end that make no whole record

    def record(self, opcode, content, offset):
        cursor = Cursor(content)
        if opcode == 0x01:
            self.profile, self.library = cursor.string(), cursor.string()
        elif opcode == 0x03:
            schema_id = cursor.number("H")
            self.schemas[schema_id] = (cursor.string(), cursor.string(), bytes(cursor.take(cursor.number("I"))))
        elif opcode == 0x04:
            channel_id, schema_id = cursor.number("H"), cursor.number("H")
            self.channels[channel_id] = (schema_id, cursor.string(), cursor.string(), cursor.string_map())
        elif opcode == 0x05:
            channel_id, sequence = cursor.number("H"), cursor.number("I")
            log_time, publish_time = cursor.number("Q"), cursor.number("Q")
            if channel_id not in self.channels:
                raise Damaged("a message precedes its channel")
            self.messages.append((channel_id, sequence, log_time, publish_time, bytes(content[cursor.at:]), offset))
        elif opcode == 0x06:
            cursor.take(16)
            size, crc, compression = cursor.number("Q"), cursor.number("I"), cursor.string()
            records = cursor.take(cursor.number("Q"))
            if compression or len(records) != size:
                raise Damaged("chunks of dumphook are uncompressed")
            if crc and zlib.crc32(records) != crc:
                raise Damaged("a chunk's CRC is wrong")
            self.chunks += 1
            for inner_opcode, inner, _ in records_of(records, 0):
                if inner_opcode not in (0x03, 0x04, 0x05):
                    raise Damaged("only schemas, channels and messages belong in a chunk")
                self.record(inner_opcode, inner, offset)
        elif opcode == 0x0C:
            if cursor.string() == "libdumphook":
                self.metadata = cursor.string_map()


def records_of(data, at):
    """Yields (opcode, content, offset); stops before the first record that is not whole."""
    view = memoryview(data)
    while at + 9 <= len(view):
        opcode, size = view[at], struct.unpack_from("<Q", view, at + 1)[0]
        if opcode == 0 or size > MAX_RECORD or size > len(view) - at - 9:
            return
        yield opcode, view[at + 9:at + 9 + size], at
        at += 9 + size


def read_streams(data):
    """All streams of a file: they may follow one another, and the last may end anywhere."""
    streams = []
    at = 0
    while data[at:at + 8] == MAGIC:
        stream = Stream()
        streams.append(stream)
        at += 8
        while at < len(data):
            if data[at:at + 8] == MAGIC and not stream.sealed:
                break  # cut at a record boundary; another stream follows
            found = next(records_of(data, at), None)
            if found is None:
                stream.remainder = len(data) - at
                return streams
            opcode, content, offset = found
            stream.record(opcode, content, offset)
            at += 9 + len(content)
            if opcode == 0x02:
                stream.sealed = data[at:at + 8] == MAGIC
                at += 8 if stream.sealed else 0
                break
    if not streams:
        raise Damaged("no MCAP magic")
    if at < len(data):
        streams[-1].remainder = len(data) - at
    return streams


# ---------------------------------------------------------------------------------------------------- FlatBuffers

def load_schemas(folder):
    """Python classes of the .fbs files in `folder`, made by flatc now: module `dumphook`."""
    if "dumphook" not in sys.modules:
        out = tempfile.mkdtemp(prefix="dumphook_schemas_")
        atexit.register(shutil.rmtree, out)
        files = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".fbs"))
        subprocess.run([os.environ.get("FLATC", "flatc"), "--python", "-o", out, *files], check=True)
        sys.path.insert(0, out)
    import dumphook
    return dumphook


def table_class(name):
    module = __import__(f"dumphook.{name}", fromlist=[name])
    return getattr(module, name)


def text(value):
    return value if value is not None else b""


def vector(table, name):
    return [getattr(table, name)(i) for i in range(getattr(table, name + "Length")())]


def check_crc(data, table):
    """FORMAT.md section 3: over all bytes, with the field's own four taken as zero."""
    field = table._tab.Offset(4)
    if field == 0:
        raise Damaged("no CRC")
    at = table._tab.Pos + field
    if zlib.crc32(data[:at] + b"\0\0\0\0" + data[at + 4:]) != struct.unpack_from("<I", data, at)[0]:
        raise Damaged("a message's CRC is wrong")


def descriptor_hash(d):
    """FORMAT.md section 4, the table under "Descriptor"."""
    h = xxhash.xxh64(seed=0)

    def put(code, *values):
        h.update(struct.pack("<" + code, *values))

    def put_string(value):
        put("I", len(text(value)))
        h.update(text(value))

    for value in (d.Model(), d.Name(), d.Op()):
        put_string(value)
    put("I", d.OriginNamesLength())
    for value in vector(d, "OriginNames"):
        put_string(value)
    put("BB", d.Role(), d.Dtype())
    put_string(d.RawType())
    for name in ("Shape", "LogicalShape", "Strides"):
        values = vector(d, name)
        put(f"I{len(values)}q", len(values), *values)
    put("I", d.PlanesLength())
    for plane in vector(d, "Planes"):
        put("QQQ", plane.RowStride(), plane.RowBytes(), plane.Rows())
    put("B", d.Layout())
    q = d.Quantization()
    if q is None:
        put("BiII", 0, -1, 0, 0)
    else:
        scale, zero_point = vector(q, "Scale"), vector(q, "ZeroPoint")
        put("Bi", q.Kind(), q.Axis())
        put(f"I{len(scale)}f", len(scale), *scale)
        put(f"I{len(zero_point)}i", len(zero_point), *zero_point)
    put("ii", d.NodeIndex(), d.OutputSlot())
    put("I", d.AttributesLength())
    for attribute in vector(d, "Attributes"):
        put_string(attribute.Key())
        put_string(attribute.Value())
    return h.intdigest()


def dense_size(dtype, shape):
    bits = DTYPES[dtype][1]
    for extent in shape:
        if extent < 0:
            raise Damaged("a negative extent")
        bits *= extent
    return (bits + 7) // 8


def decode_packed(data, dtype, raw_size):
    width, turned = max(DTYPES[dtype][1] // 8, 1), 1 <= dtype <= 6
    source = Cursor(data)
    raw = b""
    while len(raw) < raw_size:
        size = min(raw_size - len(raw), 32768)
        kind = source.number("B")
        if kind == 0:
            raw += source.take(size)
        elif kind == 1:
            block = lz4.block.decompress(source.take(source.number("H")), uncompressed_size=size)
            if len(block) != size:
                raise Damaged("a block's size is wrong")
            raw += block
        elif kind == 2 or (kind == 3 and width > 1):
            raw += unpack_block(source, kind == 3, width, turned, size)
        else:
            raise Damaged("unknown kind of block")
    if source.at != len(data):
        raise Damaged("bytes behind the last block")
    return raw


def unpack_block(source, masked, width, turned, size):
    count, tail = divmod(size, width)
    levels = [(source.number("B"), source.number("B"), source.number("H")) for _ in range(at_most(3, source.number("B")))]
    nonzero = numbers_of(source.take((count + 7) // 8), 1, count) if masked else [1] * count
    kept = sum(nonzero)
    rests = source.take(kept * (width - 1))
    coded, left = [], kept
    for _, bits, escapes in levels:
        if not 1 <= bits <= 7:
            raise Damaged("a level of odd bits")
        coded.append(numbers_of(source.take((left * bits + 7) // 8), bits, left))
        left = at_most(left, escapes)
    symbols = list(source.take(left))
    for (low, bits, escapes), fields in zip(reversed(levels), reversed(coded)):
        all_ones = 2 ** bits - 1
        if fields.count(all_ones) != escapes:
            raise Damaged("another number of escapes than a level says")
        left_over = iter(symbols)
        distances = [field if field < all_ones else e + all_ones if (e := next(left_over)) < 128 else e for field in fields]
        symbols = [(low + d) % 256 for d in distances]
    values = []
    remaining = zip(symbols, (rests[i * (width - 1):(i + 1) * (width - 1)] for i in range(kept)))
    for is_nonzero in nonzero:
        if not is_nonzero:
            values.append(bytes(width))
            continue
        symbol, rest = next(remaining)
        value = int.from_bytes(rest + bytes([symbol]), "little")
        if turned:
            value = value >> 1 | (value & 1) << (8 * width - 1)
        values.append(value.to_bytes(width, "little"))
    return b"".join(values) + source.take(tail)


def at_most(limit, number):
    if number > limit:
        raise Damaged("a number is too large")
    return number


def numbers_of(data, bits, count):
    """`count` numbers of `bits` bits, from the lowest bit of the first byte on."""
    each_bit = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count * bits].reshape(count, bits)
    return (each_bit @ (1 << np.arange(bits))).tolist()


def decode_part(part):
    raw_size = part.RawSize()
    if raw_size > MAX_RAW_PART:
        raise Damaged("a part is too large")
    data = part.DataAsNumpy().tobytes() if part.DataLength() else b""
    if part.Codec() == 1:
        data = lz4.block.decompress(data, uncompressed_size=raw_size) if raw_size else b""
    elif part.Codec() == 2:
        data = decode_packed(data, part.Dtype(), raw_size)
    elif part.Codec() != 0:
        raise Damaged("unknown codec")
    if len(data) != raw_size:
        raise Damaged("a part's size is wrong")
    return data


# ---------------------------------------------------------------------------------------------------- captures

class Tensor:
    """One capture of a tensor. `whole` when its parts cover it."""

    def __init__(self, key, dtype, shape, total):
        self.key, self.dtype, self.shape, self.total = key, dtype, shape, total
        self.parts = {}  # offset -> bytes
        self.part_count = None
        self.indices = set()
        self.damaged = self.digest = self.statistics = None
        self.capture_time_ns = 0

    @property
    def bytes(self):
        return b"".join(self.parts[offset] for offset in sorted(self.parts))

    @property
    def whole(self):
        if self.damaged or self.part_count is None or self.indices != set(range(self.part_count)):
            return False
        end = 0
        for offset in sorted(self.parts):
            if offset != end:
                return False
            end += len(self.parts[offset])
        return end == self.total

    def values(self):
        """numpy array of the elements as stored; bf16 as uint16, f8 and raw as uint8, int4 one to an element."""
        name, _, kind = DTYPES[self.dtype]
        if kind is None:
            packed = np.frombuffer(self.bytes, np.uint8)
            nibbles = np.stack([packed & 15, packed >> 4], 1).reshape(-1)[:int(np.prod(self.shape))]
            if name == "i4":
                nibbles = ((nibbles.astype(np.int8) ^ 8) - 8).astype(np.int8)
            return nibbles.reshape(self.shape)
        flat = np.frombuffer(self.bytes, kind)
        return flat.reshape(self.shape) if flat.size == np.prod(self.shape, dtype=int) else flat


class Capture:
    """What one session left in one or more files, segments or streams."""

    def __init__(self, schemas):
        load_schemas(schemas)
        self.streams = []
        self.problems = []
        self.sequences = {}     # stream_seq -> table name
        self.read = set()       # stream_seq of messages that were taken in
        self.repeats = 0
        self.descriptors = {}   # hash -> Descriptor
        self.tensors = {}       # key -> Tensor, in order of arrival
        self.frames = {}        # number -> {"begin", "end"}
        self.losses = []        # (tensor_id, reason, first, last, count)
        self.counters = None
        self.graphs = {}        # model -> nodes
        self.logs, self.changes, self.clocks = [], [], []

    def add(self, data):
        for stream in read_streams(data):
            self.streams.append(stream)
            if self.streams[0].metadata.get("session") != stream.metadata.get("session"):
                raise Damaged("streams of different sessions")
            if not int(stream.metadata["format_oldest"]) <= 1 <= int(stream.metadata["format_current"]):
                raise Damaged("a version this reader does not know")
            self.read_messages(stream)
        return self

    def read_messages(self, stream):
        last_new_time = 0
        expected = int(stream.metadata["first_stream_seq"])
        for channel_id, sequence, log_time, _, data, offset in stream.messages:
            schema_id, topic, encoding, metadata = stream.channels[channel_id]
            schema = stream.schemas[schema_id][0]
            try:
                if encoding != "flatbuffer" or not schema.startswith("dumphook."):
                    raise Damaged("not a message of ours")
                name = schema.split(".")[1]
                table = table_class(name).GetRootAs(data, 0)
                check_crc(data, table)
                if sequence != table.StreamSeq() & 0xFFFFFFFF:
                    raise Damaged("Message.sequence is not stream_seq")
                if table.StreamSeq() >= int(stream.metadata["first_stream_seq"]):
                    if table.StreamSeq() != expected:
                        raise Damaged(f"stream_seq {table.StreamSeq()} where {expected} was due")
                    if log_time < last_new_time:
                        raise Damaged("log_time decreased")
                    expected, last_new_time = expected + 1, log_time
                if self.sequences.setdefault(table.StreamSeq(), name) != name:
                    raise Damaged("two messages of one stream_seq")
                self.message(name, table, topic, metadata)
            except (Damaged, struct.error, IndexError, lz4.block.LZ4BlockError) as error:
                self.problems.append(f"offset {offset}: {topic}: {error}")

    def message(self, name, table, topic, metadata):
        if table.StreamSeq() in self.read:
            self.repeats += 1
            return
        self.read.add(table.StreamSeq())
        if name == "TensorMessage":
            self.tensor_message(table, topic, metadata)
        elif name == "FrameBegin":
            self.frames.setdefault(table.Frame(), {})["begin"] = table
        elif name == "FrameEnd":
            self.frames.setdefault(table.Frame(), {})["end"] = table
        elif name == "Loss":
            for r in vector(table, "Ranges"):
                self.losses.append((r.TensorId(), REASONS[r.Reason()], r.FirstFrame(), r.LastFrame(), r.Count()))
        elif name == "Counters":
            self.counters = table
        elif name == "ModelGraph":
            nodes = self.graphs.setdefault(table.Model().decode(), {"total": table.NodeTotal(), "nodes": {}})["nodes"]
            for i, node in enumerate(vector(table, "Nodes")):
                nodes[table.FirstNode() + i] = node
        elif name == "Log":
            self.logs.append((table.Level(), text(table.Text()).decode()))
        elif name == "ConfigChange":
            self.changes.append((table.FirstFrame(), text(table.Text()).decode(), text(table.Origin()).decode()))
        elif name == "ClockSync":
            self.clocks.append((table.SessionNs(), table.WallNs()))

    def tensor_message(self, table, topic, metadata):
        d = table.Descriptor()
        if d is not None:
            if d.Hash() != descriptor_hash(d):
                raise Damaged("the descriptor's hash is wrong")
            if topic != f"/{escape(d.Model())}/{escape(d.Name())}":
                raise Damaged("the topic is not the tensor's name")
            if metadata.get("tensor_id") != str(d.TensorId()):
                raise Damaged("the channel's tensor_id is not the descriptor's")
            self.descriptors[d.Hash()] = d
        k = table.Key()
        if k is None:
            return
        key = (k.DescriptorHash(), k.Frame(), k.CaptureId(), k.Instance(), k.Occurrence())
        if key[0] not in self.descriptors:
            raise Damaged("a part precedes its descriptor")
        part = table.Part()
        told = next((t for t in (part, table.Statistics(), table.Digest()) if t is not None), None)
        if told is None:
            raise Damaged("a key without part, statistics or digest")
        shape = vector(told, "Shape")
        if len(shape) > MAX_RANK:
            raise Damaged("rank above 8")
        total = part.Total() if part is not None else None
        tensor = self.tensors.setdefault(key, Tensor(key, told.Dtype(), shape, total))
        tensor.capture_time_ns = table.CaptureTimeNs()
        if table.Digest() is not None:
            tensor.digest = table.Digest().Value()
        if table.Statistics() is not None:
            tensor.statistics = table.Statistics()
        if part is None:
            return
        planes = self.descriptors[key[0]].PlanesLength()
        if (tensor.dtype, tensor.shape, tensor.total) != (part.Dtype(), shape, total):
            tensor.damaged = "parts contradict each other"
        elif part.Dtype() != 0 and not planes and total != dense_size(part.Dtype(), shape):
            tensor.damaged = "total is not what shape and dtype say"
        else:
            tensor.parts[part.Offset()] = decode_part(part)
            tensor.part_count = part.PartCount()
            tensor.indices.add(part.PartIndex())

    def check_digests(self):
        """How many whole tensors have a digest; raises where one is wrong."""
        count = 0
        for tensor in self.tensors.values():
            if tensor.digest is not None and tensor.parts and tensor.whole:
                if xxhash.xxh64(tensor.bytes, seed=0).intdigest() != tensor.digest:
                    raise Damaged("a digest is wrong")
                count += 1
        return count


def escape(name):
    """FORMAT.md section 1: how a name becomes part of a topic."""
    out = []
    rest = text(name)
    while rest:
        size = next((n for n in (1, 2, 3, 4) if is_character(rest[:n])), 0)
        if size == 0 or rest[0] in b"/%\x7f" or rest[0] < 0x20:
            out.append(f"%{rest[0]:02X}")
            size = 1
        else:
            out.append(rest[:size].decode())
        rest = rest[size:]
    return "".join(out)


def is_character(data):
    try:
        return len(data.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


# ---------------------------------------------------------------------------------------------------- as JSON

def printable(name):
    return text(name).decode("utf-8", "backslashreplace")


def summary(capture):
    """All that does not depend on clocks, uuids or addresses, in plain values: what golden captures are compared by."""
    def describe(d):
        q = d.Quantization()
        return {
            "hash": f"{d.Hash():016x}", "tensor_id": d.TensorId(), "model": printable(d.Model()), "name": printable(d.Name()),
            "op": printable(d.Op()), "origin_names": [printable(n) for n in vector(d, "OriginNames")], "role": d.Role(),
            "dtype": DTYPES[d.Dtype()][0], "raw_type": printable(d.RawType()), "shape": vector(d, "Shape"),
            "logical_shape": vector(d, "LogicalShape"), "strides": vector(d, "Strides"), "layout": d.Layout(),
            "planes": [[p.RowStride(), p.RowBytes(), p.Rows()] for p in vector(d, "Planes")],
            "quantization": q and {"kind": q.Kind(), "axis": q.Axis(), "scale": vector(q, "Scale"),
                                   "zero_point": vector(q, "ZeroPoint")},
            "node_index": d.NodeIndex(), "output_slot": d.OutputSlot(),
            "attributes": {printable(a.Key()): printable(a.Value()) for a in vector(d, "Attributes")},
        }

    def tell(t):
        d = capture.descriptors[t.key[0]]
        told = {"name": printable(d.Name()), "model": printable(d.Model()), "descriptor": f"{t.key[0]:016x}", "frame": t.key[1],
                "capture_id": t.key[2], "instance": t.key[3], "occurrence": t.key[4], "dtype": DTYPES[t.dtype][0],
                "shape": t.shape, "total": t.total, "part_count": t.part_count, "whole": t.whole}
        if t.parts:
            told["sha256"] = hashlib.sha256(t.bytes).hexdigest()
        if t.parts and len(t.bytes) <= 256:
            told["bytes"] = t.bytes.hex()
        if t.digest is not None:
            told["xxh64"] = f"{t.digest:016x}"
        s = t.statistics
        if s is not None:
            told["statistics"] = {"count": s.Count(), "sampled": s.Sampled(), "min": s.Min(), "max": s.Max(), "mean": s.Mean(),
                                  "variance": s.Variance(), "nan": s.Nan(), "pos_inf": s.PosInf(), "neg_inf": s.NegInf(),
                                  "zeros": s.Zeros(), "saturated": s.Saturated(),
                                  "histogram_first_exponent": s.HistogramFirstExponent(), "histogram": vector(s, "Histogram")}
        return told

    def frame(number, messages):
        end = messages.get("end")
        told = {"frame": number, "begun": "begin" in messages}
        if end is not None:
            told.update(state=FRAME_STATES[end.State()], seen=end.Seen(), accepted=end.Accepted(),
                        lost={REASONS[r.Reason()]: r.Count() for r in vector(end, "Lost")},
                        attributes={printable(a.Key()): printable(a.Value()) for a in vector(end, "Attributes")})
        return told

    c = capture.counters
    varying = {"session", "clock"}
    return {
        "streams": [{"sealed": s.sealed, "chunks": s.chunks, "library": s.library,
                     "metadata": {k: v for k, v in sorted(s.metadata.items()) if k not in varying}} for s in capture.streams],
        "problems": capture.problems,
        "stream_seq": [min(capture.sequences, default=0), max(capture.sequences, default=0), len(capture.sequences)],
        "repeats": capture.repeats,
        "messages": {n: list(capture.sequences.values()).count(n) for n in sorted(set(capture.sequences.values()))},
        "descriptors": [describe(d) for d in capture.descriptors.values()],
        "tensors": [tell(t) for t in capture.tensors.values()],
        "frames": [frame(n, m) for n, m in capture.frames.items()],
        "losses": [list(loss) for loss in capture.losses],
        "counters": c and {"seen": c.Seen(), "shipped": c.Shipped(), "in_flight": c.InFlight(),
                           "lost": {REASONS[r.Reason()]: r.Count() for r in vector(c, "Lost")},
                           "frames_begun": c.FramesBegun(), "frames_ended": c.FramesEnded(), "closing": bool(c.Closing())},
        "graphs": {model: {"total": graph["total"], "nodes": [
            {"index": n.Index(), "name": printable(n.Name()), "op": printable(n.Op()), "backend": printable(n.Backend()),
             "inputs": [printable(i) for i in vector(n, "Inputs")], "outputs": [printable(o) for o in vector(n, "Outputs")],
             "visibility": n.Visibility()} for _, n in sorted(graph["nodes"].items())]}
            for model, graph in capture.graphs.items()},
        "changes": [list(change) for change in capture.changes],
    }


def main(arguments):
    capture = Capture(arguments[0])
    for path in arguments[1:]:
        with open(path, "rb") as file:
            capture.add(file.read())
    capture.check_digests()
    json.dump(summary(capture), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
