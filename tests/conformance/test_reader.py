# SPDX-License-Identifier: Apache-2.0
"""What the independent reader finds is what the generator put in, byte for byte."""
import struct

import numpy as np
import pytest

import reader
from conftest import ALL, CUT, SCHEMAS, SEALED_FILES


def names(capture):
    """(model, name, frame, instance, occurrence) -> Tensor"""
    found = {}
    for key, tensor in capture.tensors.items():
        d = capture.descriptors[key[0]]
        name = (d.Model().hex(), d.Name().hex(), key[1], key[3], key[4])
        assert name not in found
        found[name] = tensor
    return found


def name_of(line):
    return line["model"], line["name"], line["frame"], line["instance"], line["occurrence"]


@pytest.mark.parametrize("name", ALL)
def test_no_message_is_damaged(make, name):
    assert make(name).capture().problems == []


@pytest.mark.parametrize("name", [n for n in ALL if n not in CUT])
def test_every_accepted_tensor_is_there_with_its_bytes(make, name):
    made = make(name)
    found = names(made.capture())
    accepted = [line for line in made.truth if line["status"] == 0]
    assert set(found) == {name_of(line) for line in accepted} and len(found) == len(accepted)
    for line in accepted:
        tensor = found[name_of(line)]
        assert tensor.whole, line
        assert tensor.bytes == made.raw(line), line
        assert (tensor.dtype, tensor.shape) == (line["dtype"], line["shape"])


def test_every_codec_and_kind_of_block_is_chosen(make, monkeypatch):
    """Else the bytes above prove nothing about it."""
    kinds = set()
    codecs = {}
    unpack_block, decode_part = reader.unpack_block, reader.decode_part

    def watch_block(source, masked, *rest):
        kinds.add(("masked" if masked else "packed", source.data[source.at]))
        return unpack_block(source, masked, *rest)

    def watch_part(part):
        codecs.setdefault(part.Codec(), set()).add(part.Dtype())
        if part.Codec() == 2:
            kinds.add(("first", part.Data(0)))
        return decode_part(part)

    monkeypatch.setattr(reader, "unpack_block", watch_block)
    monkeypatch.setattr(reader, "decode_part", watch_part)
    capture = reader.Capture(SCHEMAS)
    for data in make("packed").segments():
        capture.add(data)
    assert capture.problems == []
    assert set(codecs) == {0, 1, 2} and codecs[2] == set(range(1, 16))
    assert {("first", kind) for kind in (1, 2, 3)} <= kinds
    assert {("packed", levels) for levels in (1, 2, 3)} | {("masked", levels) for levels in (1, 2)} <= kinds


@pytest.mark.parametrize("change", ["every truncation", "another byte", "bits", "kind"])
def test_a_packed_part_that_is_damaged_is_refused(change):
    """The block of FORMAT.md's rules by hand: f32 1, 0, -2, 0."""
    good = bytes([3, 1, 0x7F, 1, 1, 0, 0x05, 0, 0, 0, 1, 0, 0, 0x02, 0])
    assert reader.decode_packed(good, 2, 16) == struct.pack("<4f", 1, 0, -2, 0)
    bad = {"every truncation": [good[:n] for n in range(len(good))], "another byte": [good + b"\0"],
           "bits": [good[:3] + bytes([bits]) + good[4:] for bits in (0, 8)], "kind": [b"\4" + good[1:]]}[change]
    for data in bad:
        with pytest.raises(reader.Damaged):
            reader.decode_packed(data, 2, 16)


@pytest.mark.parametrize("name", CUT)
def test_a_cut_capture_holds_whole_tensors_from_its_beginning(make, name):
    made = make(name)
    capture = made.capture()
    found = names(capture)
    whole = 0
    for line in made.truth:
        tensor = found.get(name_of(line))
        if tensor is not None and tensor.whole:
            assert tensor.bytes == made.raw(line)
            whole += 1
    assert whole >= 5
    assert not capture.streams[0].sealed
    assert sorted(capture.sequences) == list(range(1, len(capture.sequences) + 1))


def test_what_was_flushed_before_a_kill_is_all_there(make):
    made = make("crashed")
    found = names(made.capture())
    assert all(found[name_of(line)].bytes == made.raw(line) for line in made.truth)
    assert len(made.truth) == 37


@pytest.mark.parametrize("name", ["zoo", "stream", "shapes"])
def test_descriptors_say_what_the_app_said(make, name):
    made = make(name)
    capture = made.capture()
    found = names(capture)
    for line in made.truth:
        if line["status"] != 0:
            continue
        d = capture.descriptors[found[name_of(line)].key[0]]
        q = d.Quantization()
        quant = [0, -1, [], []] if q is None else [q.Kind(), q.Axis(), reader.vector(q, "Scale"), reader.vector(q, "ZeroPoint")]
        expected = line["quant"]
        assert quant[:2] == expected[:2] and np.array_equal(np.float32(quant[2]), np.float32(expected[2])), line
        assert quant[3] == expected[3] or (not any(quant[3]) and not expected[3]), line
        assert reader.text(d.Op()).hex() == line["op"]
        assert reader.text(d.RawType()).hex() == line["raw_type"]
        assert [n.decode() for n in reader.vector(d, "OriginNames")] == line["origin_names"]
        assert reader.vector(d, "Shape") == line["shape"]
        assert reader.vector(d, "LogicalShape") == line["logical_shape"]
        assert reader.vector(d, "Strides") == line["strides"]
        assert [[p.RowStride(), p.RowBytes(), p.Rows()] for p in reader.vector(d, "Planes")] == line["planes"]
        assert (d.Dtype(), d.Role(), d.Layout()) == (line["dtype"], line["role"], line["layout"])
        assert (d.NodeIndex(), d.OutputSlot()) == (line["node_index"], line["output_slot"])


def test_digests_are_those_of_the_bytes(make):
    capture = make("zoo").capture()
    assert capture.check_digests() == len(capture.tensors)


def test_large_tensors_come_in_parts_and_zeros_compressed(make):
    made = make("zoo")
    capture = made.capture()
    big = {capture.descriptors[t.key[0]].Name(): t for t in capture.tensors.values() if t.total > 3 << 20}
    assert {t.part_count for t in big.values()} == {4}
    stored = {n: sum(len(m[4]) for m in capture.streams[0].messages
                     if capture.streams[0].channels[m[0]][1] == "/model/" + reader.escape(n)) for n in big}
    assert stored[b"big/noise"] < 1.001 * big[b"big/noise"].total + 10000
    assert stored[b"big/zeros"] < 0.01 * big[b"big/zeros"].total


@pytest.mark.parametrize("name", ALL)
def test_frames_end_with_the_numbers_that_add_up(make, name):
    capture = make(name).capture()
    for number, messages in capture.frames.items():
        end = messages.get("end")
        if end is None:
            assert name in CUT
            continue
        lost = sum(r.Count() for r in reader.vector(end, "Lost"))
        assert end.Seen() == end.Accepted() + lost
        if end.State() == 0:
            assert sum(k[1] == number for k in capture.tensors) == end.Accepted()


@pytest.mark.parametrize("name", [n for n in ALL if n not in CUT])
def test_the_last_counters_balance_and_match(make, name):
    made = make(name)
    capture = made.capture()
    c = capture.counters
    lost = {reader.REASONS[r.Reason()]: r.Count() for r in reader.vector(c, "Lost")}
    assert c.Closing()
    assert c.Seen() == c.Shipped() + c.InFlight() + sum(lost.values())
    assert c.Seen() == sum(line["status"] in (0, 2) for line in made.truth)
    assert c.Shipped() == len(capture.tensors)
    in_loss_messages = {}
    for _, reason, first, last, count in capture.losses:
        assert first <= last
        in_loss_messages[reason] = in_loss_messages.get(reason, 0) + count
    assert in_loss_messages == lost


def test_a_tensor_too_big_for_the_pool_is_named_in_a_loss(make):
    capture = make("losses").capture()
    names_by_id = {m["tensor_id"]: topic for s in capture.streams for _, topic, _, m in s.channels.values() if m}
    assert {(names_by_id[str(tensor_id)], reason) for tensor_id, reason, *_ in capture.losses} == {("/model/too_big", "too_big")}


def test_each_stream_has_counters(make):
    made = make("segments")
    for data in made.segments():
        assert reader.Capture(SCHEMAS).add(data).counters is not None


def test_each_segment_stands_alone(make):
    made = make("segments")
    assert len(made.files) > 4
    seen = set()
    for data in made.segments():
        capture = reader.Capture(SCHEMAS).add(data)
        assert capture.problems == [] and capture.streams[0].sealed
        first = int(capture.streams[0].metadata["first_stream_seq"])
        new = {s for s in capture.sequences if s >= first}
        assert not seen & new
        seen |= new
    assert seen == set(range(1, max(seen) + 1))


@pytest.mark.parametrize("name", SEALED_FILES)
def test_sealed_files_have_chunks_and_streams_have_none(make, name):
    assert all(s.sealed and s.chunks > 0 for s in make(name).capture().streams)
    assert all(s.chunks == 0 for s in make("stream").capture().streams)


def test_with_a_quota_what_is_gone_is_counted(make):
    made = make("quota")
    assert sum(len(data) for data in made.segments()) <= 1000 << 10
    capture = made.capture()
    found = names(capture)
    whole = {name for name, tensor in found.items() if tensor.whole}
    accepted = {name_of(line): line for line in made.truth if line["status"] == 0}
    assert 0 < len(whole) < len(accepted) / 2
    assert all(found[name].bytes == made.raw(accepted[name]) for name in whole)
    assert {loss[1] for loss in capture.losses} == {"quota_removed"}
    assert len(accepted) == len(whole) + sum(loss[4] for loss in capture.losses)
    assert (capture.counters.Shipped(), bool(capture.counters.Closing())) == (len(whole), True)


def test_streams_may_follow_one_another_in_one_file(make):
    made = make("segments")
    capture = reader.Capture(SCHEMAS)
    capture.add(b"".join(made.segments()))
    assert len(capture.streams) == len(made.files) and capture.problems == []
    assert len(capture.tensors) == len(made.truth)


def test_a_stream_cut_anywhere_yields_what_came_before(make):
    data = make("shapes").path().read_bytes()
    whole = len(reader.Capture(SCHEMAS).add(data).sequences)
    last = 0
    for size in sorted({*range(8, len(data), 1777), len(data) - 9, len(data) - 8, len(data)}):
        streams = reader.read_streams(data[:size])
        count = sum(len(s.messages) for s in streams)
        assert last <= count <= whole
        last = count
    assert last == whole


def test_every_flipped_message_byte_is_noticed(make):
    """One byte in 61 of each message of a small capture."""
    stream = reader.read_streams(make("shapes").path().read_bytes())[0]
    for channel_id, _, _, _, data, _ in stream.messages:
        table = reader.table_class(stream.schemas[stream.channels[channel_id][0]][0].split(".")[1])
        reader.check_crc(data, table.GetRootAs(data, 0))
        for at in range(0, len(data), 61):
            hurt = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:]
            with pytest.raises((reader.Damaged, struct.error, IndexError, TypeError)):
                reader.check_crc(hurt, table.GetRootAs(hurt, 0))


def test_channels_and_schemas_are_those_of_the_format(make):
    for name in ALL:
        for stream in make(name).capture().streams:
            assert stream.profile == "" and stream.library.startswith("libdumphook/")
            assert {i: s[0].split(".")[1] for i, s in stream.schemas.items()} == {
                1: "TensorMessage", 2: "FrameBegin", 3: "FrameEnd", 4: "ModelGraph", 5: "Loss", 6: "Counters",
                7: "ConfigChange", 8: "ClockSync", 9: "Log", 10: "RunReply"}
            assert all(encoding == "flatbuffer" and data[4:8] == b"BFBS" for _, encoding, data in stream.schemas.values())
            fixed = {i: (s, t) for i, (s, t, _, _) in stream.channels.items() if i < 32}
            assert all(s == i + 1 and t.startswith("/dumphook/") for i, (s, t) in fixed.items())
            for i, (schema_id, topic, _, metadata) in stream.channels.items():
                if i >= 32:
                    assert schema_id == 1 and metadata == {"tensor_id": str(i - 32)} and topic.count("/") == 2
