"""A trace in Perfetto's binary format, read back."""

import io
from typing import Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from pagewalk.perfetto_trace import Writer


def written(events: list[dict[str, Any]]) -> Trace:
    file = io.BytesIO()
    writer = Writer(file, 100_000_000, "prog")
    for event in events:
        writer.write(event)
    trace = Trace()
    trace.ParseFromString(file.getvalue())
    return trace


def test_slices_marks_and_regions_have_tracks_and_names() -> None:
    run = {"ph": "X", "name": "main", "tid": 1, "pid": 1, "args": {"cycle": 100, "cycles": 50, "cause": "user"}}
    walk = [{"at": 3, "slot": 0, "found": "empty"}]
    miss = {"ph": "i", "name": "tlb.data.miss", "tid": 3, "pid": 1, "args": {"cycle": 120, "walk": walk, "way": None}}
    region = {"name": "region 7", "pid": 1, "id": 7, "tid": 4, "args": {"cycle": 90}}
    trace = written([{**region, "ph": "b"}, run, miss, run, {**region, "ph": "e", "args": {"cycle": 300}}])
    names = {entry.iid: entry.name for packet in trace.packet for entry in packet.interned_data.event_names}
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet}
    shown = [
        (packet.timestamp, tracks[packet.track_event.track_uuid].name, packet.track_event.type,
         names.get(packet.track_event.name_iid, ""))
        for packet in trace.packet
        if packet.HasField("track_event")
    ]  # fmt: skip
    begin, end, instant = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT
    assert shown == [
        (900, "region 7", begin, "region 7"),
        (1000, "running", begin, "main"),
        (1500, "running", end, ""),
        (1200, "misses", instant, "tlb.data.miss"),
        (1000, "running", begin, "main"),
        (1500, "running", end, ""),
        (3000, "region 7", end, ""),
    ]
    assert sorted(names.values()) == ["main", "region 7", "tlb.data.miss"]
    (mark,) = [packet.track_event for packet in trace.packet if packet.track_event.type == instant]
    walked = [annotation for annotation in mark.debug_annotations if annotation.array_values]
    assert [entry.string_value or entry.int_value for entry in walked[0].array_values[0].dict_entries] == [
        3,
        0,
        "empty",
    ]
    assert len(mark.debug_annotations) == 2
    process = [track.process.process_name for track in tracks.values() if track.HasField("process")]
    assert process == ["prog, processor 0"]
