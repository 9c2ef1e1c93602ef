"""A trace in Perfetto's binary format, written event by event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import DebugAnnotation, TracePacket, TrackEvent
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from pagewalk import _machine
from pagewalk.recording import events

_SEQUENCE = 1
_TRACKS = {1: "running", 2: "exceptions", 3: "misses", 4: "marks"}
"""By the number that the machine's events have."""
_REGIONS = 5
"""The first number of the tracks of regions. Each region has its own, because regions may overlap."""


class Writer:
    """Writes events as packets. Names are written once and referred to by number, which keeps files small."""

    def __init__(self, file: IO[bytes], clock: int, name: str) -> None:
        self._out = StreamingTraceProtoBuilder(file)
        self._clock = clock
        self._name = name
        self._names: dict[str, int] = {}
        self._keys: dict[str, int] = {}
        self._tracks: set[int] = set()
        self._first = True

    def _nanoseconds(self, cycle: int) -> int:
        return cycle * 1_000_000_000 // self._clock

    def _packet(self) -> TracePacket:
        packet = self._out.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        if self._first:
            packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            self._first = False
        else:
            packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return packet

    def _track(self, processor: int, number: int, name: str) -> int:
        """The id of a track of a processor, which is described the first time."""
        process = processor << 20
        if process not in self._tracks:
            self._tracks.add(process)
            packet = self._packet()
            packet.track_descriptor.uuid = process
            packet.track_descriptor.process.pid = processor
            packet.track_descriptor.process.process_name = f"{self._name}, processor {processor - 1}"
            self._out.write_packet(packet)
        uuid = process + number
        if uuid not in self._tracks:
            self._tracks.add(uuid)
            packet = self._packet()
            packet.track_descriptor.uuid = uuid
            packet.track_descriptor.parent_uuid = process
            packet.track_descriptor.name = name
            self._out.write_packet(packet)
        return uuid

    def _interned(self, packet: TracePacket, name: str) -> int:
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            entry = packet.interned_data.event_names.add()
            entry.iid, entry.name = self._names[name], name
        return self._names[name]

    def _annotate(self, packet: TracePacket, annotation: DebugAnnotation, value: Any) -> None:
        """Fills in a value: a number, a text, or a list or an object of values."""
        if isinstance(value, bool):
            annotation.bool_value = value
        elif isinstance(value, int):
            annotation.int_value = value
        elif isinstance(value, str):
            annotation.string_value = value
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if inner is not None:
                    self._annotate(packet, self._named(packet, annotation.dict_entries.add(), key), inner)
        elif isinstance(value, list):
            for inner in value:
                self._annotate(packet, annotation.array_values.add(), inner)

    def _named(self, packet: TracePacket, annotation: DebugAnnotation, key: str) -> DebugAnnotation:
        if key not in self._keys:
            self._keys[key] = len(self._keys) + 1
            entry = packet.interned_data.debug_annotation_names.add()
            entry.iid, entry.name = self._keys[key], key
        annotation.name_iid = self._keys[key]
        return annotation

    def _send(self, cycle: int, track: int, kind: int, event: Mapping[str, Any] | None) -> None:
        packet = self._packet()
        packet.timestamp = self._nanoseconds(cycle)
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        if event is not None:
            packet.track_event.name_iid = self._interned(packet, event["name"])
            for key, value in event["args"].items():
                if value is not None:
                    annotation = packet.track_event.debug_annotations.add()
                    self._annotate(packet, self._named(packet, annotation, key), value)
        self._out.write_packet(packet)

    def write(self, event: Mapping[str, Any]) -> None:
        """Writes an event: a slice with its end, or an instant."""
        cycle, phase, processor = event["args"]["cycle"], event["ph"], event["pid"]
        if phase in "be":
            track = self._track(processor, _REGIONS + event["id"], event["name"])
            begins = phase == "b"
            kind = TrackEvent.TYPE_SLICE_BEGIN if begins else TrackEvent.TYPE_SLICE_END
            self._send(cycle, track, kind, event if begins else None)
            return
        track = self._track(processor, event["tid"], _TRACKS[event["tid"]])
        if phase == "X":
            self._send(cycle, track, TrackEvent.TYPE_SLICE_BEGIN, event)
            self._send(cycle + event["args"]["cycles"], track, TrackEvent.TYPE_SLICE_END, None)
        else:
            self._send(cycle, track, TrackEvent.TYPE_INSTANT, event)


def write(machine: _machine.Machine, file: IO[bytes], name: str) -> None:
    """Writes all that the machine recorded."""
    writer = Writer(file, machine.clock, name)
    for event in events(machine):
        writer.write(event)
