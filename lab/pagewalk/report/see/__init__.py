"""The page of `pagewalk see`: one HTML file without network."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from pagewalk import profiles
from pagewalk.figures import pollution
from pagewalk.recording import Instant, Recording
from pagewalk.report import embed
from pagewalk.report.charts import CAUSES, SCHEMA, Spec, field, layer
from pagewalk.report.stale import Finding

_POLLUTED = {
    "tlb.instruction": "instruction TLB",
    "tlb.data": "data TLB",
    "cache.instruction": "instruction cache",
    "cache.data": "data cache",
}
_LEAST_SHARE = 0.002
_DARK = ("kernel", "reload", "clear", "fault")
"""The cost categories on whose colours white letters can be read."""
_INTRO = {
    "hash": "the processor itself searches the page tables in memory, which takes time.",
    "soft6xx": "on this processor the kernel must search the page tables in memory, which takes time.",
    "radix": "the processor itself walks the page tables in memory, which takes time.",
    "tree": "on this processor the kernel must walk the page tables in memory, which takes time.",
}
_WORDS = [
    ("page", "4 KB of memory that is translated as one."),
    ("TLB", "The processor's cache of translations, one for instructions and one for data."),
    ("set, way", "An address can only be in one set of a TLB; a set has as many places as the TLB has ways."),
    ("segment, VSID", "A 16th of the address space, and the number by which the hardware knows it: two processes have "
     "different VSIDs for the same address."),
    ("hash table, group (PTEG), slot", "The page table of these processors: groups of eight slots, each with the "
     "translation (PTE) of one page. A hash of VSID and page tells the two groups that may have it."),
    ("flush", "Removing translations from TLBs and hash table when a mapping ends or changes."),
    ("cost category", "What a cycle is charged to: user code, page clearing, flushes and so on."),
]  # fmt: skip
_WORDS_OF_HASHES = ("segment, VSID", "hash table, group (PTEG), slot")
"""What is explained only where the page tables are a hash table."""


@dataclass(frozen=True)
class Subject:
    """What ran, and on which machine.

    `kind` says how TLBs are reloaded: `hash` or `radix` (a tree) by hardware, `soft6xx` or `tree` by
    software. `tlb` is each TLB's
    sets and ways. `processor` is the one of several that the page follows, if it follows one.
    """

    title: str
    file: str
    machine: str
    kind: str
    clock: int
    tlb: Mapping[str, Mapping[str, int]]
    processor: int | None = None


def _spec(parts: Spec, height: int | Spec = 220) -> Spec:
    """The chart's specification, as wide as the page has room."""
    return {"$schema": SCHEMA, "width": "container", "height": height, **parts}


def _colour(names: Sequence[str], **more: Any) -> Spec:
    scale = {"domain": list(names), "range": [CAUSES[name] for name in names]}
    return field("cause", "N", title=None, sort=list(names), scale=scale, **more)


def _causes(counters: Mapping[str, int]) -> dict[str, int]:
    found = {name: counters.get(f"cycles.cause.{name}", 0) for name in CAUSES}
    return {name: cycles for name, cycles in found.items() if cycles > 0}


def _by_cause(counters: Mapping[str, int]) -> Spec:
    causes = _causes(counters)
    whole = sum(causes.values()) or 1
    data = [{"cause": name, "cycles": n, "text": f"{n:,} ({n / whole:.1%})"} for name, n in causes.items()]
    ordered = sorted(causes, key=lambda name: -causes[name])
    where: Spec = {
        "x": field("cycles", "Q", title="cycles", axis={"format": "~s", "tickCount": 5}),
        "y": field("cause", "N", title=None, scale={"domain": ordered}),
    }
    tip = [field("cause", "N"), field("cycles", "Q")]
    bars = layer(None, "bar", **where, color=_colour(list(causes), legend=None), tooltip=tip)
    # Long bars have their number inside, so that it is never cut off at the edge.
    most = max(causes.values(), default=1)
    long = f"datum.cycles > {most / 2}"
    text = {**where, "text": field("text", "N")}
    dark = " || ".join(f"datum.cause === '{name}'" for name in _DARK)
    white = {"condition": {"test": dark, "value": "white"}, "value": "#1b1f24"}
    inside = layer(None, "text", {"align": "right", "dx": -4}, color=white, **text)
    outside = layer(None, "text", {"align": "left", "dx": 4}, **text)
    layers = [bars, {**inside, "transform": [{"filter": long}]}, {**outside, "transform": [{"filter": f"!({long})"}]}]
    return _spec({"data": {"values": data}, "layer": layers}, {"step": 22})


_TIME = field("ms", "Q", title="ms since the program's start")


def _between(instants: Sequence[Instant], recording: Recording, clock: int) -> list[tuple[float, Instant, Instant]]:
    """Neighbouring instants, with the time of the second in ms; those at the same cycle are left out."""
    return [
        ((after.state["cycle"] - recording.begin) / clock * 1000, before, after)
        for before, after in itertools.pairwise(instants)
        if after.state["cycle"] > before.state["cycle"]
    ]


def _even(recording: Recording, count: int) -> list[Instant]:
    """Instants at about the same distance: those at the edges of flushes would be spikes in a plot."""
    least = (recording.end - recording.begin) / max(count, 1)
    kept: list[Instant] = []
    for instant in recording.instants:
        if not kept or instant.state["cycle"] - kept[-1].state["cycle"] >= 0.9 * least:
            kept.append(instant)
    return kept


def _misses_over_time(pairs: Sequence[tuple[float, Instant, Instant]]) -> Spec:
    rows = [
        {"ms": ms, "side": f"{side}, {mode}", "misses": after.counters.get(key, 0) - before.counters.get(key, 0)}
        for ms, before, after in pairs
        for side in ("instruction", "data")
        for mode in ("user", "kernel")
        for key in [f"tlb.{side}.miss.{mode}"]
    ]
    scale = {"range": ["#56b4e9", "#0072b2", "#e69f00", "#d55e00"]}
    sides = ["instruction, user", "instruction, kernel", "data, user", "data, kernel"]
    colour = field("side", "N", title=None, sort=sides, scale=scale)
    y = field("misses", "Q", title="TLB misses")
    return _spec(layer(rows, "area", {"interpolate": "step-before"}, x=_TIME, y=y, color=colour))


def _causes_over_time(pairs: Sequence[tuple[float, Instant, Instant]]) -> Spec:
    rows = [
        {"ms": ms, "cause": name, "cycles": after.counters.get(key, 0) - before.counters.get(key, 0)}
        for ms, before, after in pairs
        for name in CAUSES
        for key in [f"cycles.cause.{name}"]
    ]
    present = [name for name in CAUSES if any(row["cause"] == name and row["cycles"] for row in rows)]
    kept = [row for row in rows if row["cause"] in present]
    y = field("cycles", "Q", title="share of the cycles", stack="normalize", axis={"format": "%"})
    return _spec(layer(kept, "area", {"interpolate": "step-before"}, x=_TIME, y=y, color=_colour(present)))


def _entries(instants: Sequence[Instant], recording: Recording, clock: int) -> Spec | None:
    names = {"kernel": "the kernel's", "running": "the running process's", "other": "others'"}
    rows = [
        {"ms": (instant.state["cycle"] - recording.begin) / clock * 1000, "whose": names[whose], "entries": count}
        for instant in instants
        if "hash" in instant.state
        for whose, count in instant.state["hash"]["owners"].items()
    ]
    if not rows:
        return None
    scale = {"domain": list(names.values()), "range": ["#0072b2", "#009e73", "#d55e00"]}
    colour = field("whose", "N", title=None, scale=scale)
    y = field("entries", "Q", title="valid entries")
    return _spec(layer(rows, "area", {"interpolate": "step-after"}, x=_TIME, y=y, color=colour))


def _pollution(counters: Mapping[str, int], array: str) -> Spec | None:
    counts = pollution(counters, array)
    least = _LEAST_SHARE * sum(counts.values())
    kept = {pair: count for pair, count in counts.items() if count > least}
    if not kept:
        return None
    present = [cause for cause in CAUSES if any(cause in pair for pair in kept)]
    rows = [{"evictor": evictor, "victim": victim, "misses": n} for (evictor, victim), n in kept.items()]
    where: Spec = {
        "x": field("victim", "N", sort=present, title="missed by", axis={"labelAngle": -90, "orient": "top"}),
        "y": field("evictor", "N", sort=present, title="evicted by"),
        "tooltip": [field("evictor", "N"), field("victim", "N"), field("misses", "Q")],
    }
    shade = field("misses", "Q", scale={"scheme": "oranges", "type": "sqrt"}, legend=None)
    dark = {"test": f"datum.misses > {max(kept.values()) / 2}", "value": "white"}
    layers = [
        layer(None, "rect", color=shade, **where),
        layer(
            None,
            "text",
            {"fontSize": 10},
            text=field("misses", "Q", format=".2~s"),
            color={"condition": dark, "value": "black"},
            **where,
        ),
    ]
    return _spec({"data": {"values": rows}, "layer": layers}, {"step": 24})


def _flushes(recording: Recording) -> list[dict[str, Any]]:
    """Each flush that was looked at before and after, by the numbers of the instants."""
    numbers = {cycle: number for number, cycle in enumerate(sorted(recording.looked))}
    return [
        {
            "function": flush.function,
            "cycles": flush.cycles,
            "before": numbers[flush.begin],
            "after": numbers[flush.end],
        }
        for flush in recording.flushes
        if flush.begin in numbers and flush.end in numbers
    ]


def page_data(subject: Subject, recording: Recording, counters: Mapping[str, int], points: int) -> dict[str, Any]:
    """All that the page shows. `counters` are those of the program."""
    even = _even(recording, points)
    pairs = _between(even, recording, subject.clock)
    polluted = {name: spec for name in _POLLUTED if (spec := _pollution(counters, name)) is not None}
    entries = _entries(even, recording, subject.clock)
    charts = {
        "misses": _misses_over_time(pairs),
        **({"entries": entries} if entries else {}),
        "causes": _by_cause(counters),
        "causes_over_time": _causes_over_time(pairs),
        **{f"pollution-{name.replace('.', '-')}": spec for name, spec in polluted.items()},
    }
    return {
        "title": subject.title,
        "file": subject.file,
        "machine": subject.machine,
        "processor": subject.processor,
        "kind": subject.kind,
        "clock": subject.clock,
        "tlb": subject.tlb,
        "begin": recording.begin,
        "end": recording.end,
        "missed": recording.missed,
        "misses": [miss["args"] for miss in recording.misses],
        "limits": recording.limits,
        "instants": [instant.state for instant in recording.instants],
        "flushes": _flushes(recording),
        "profile": profiles.speedscope(recording.stacks, subject.title),
        "charts": charts,
        "captions": {f"pollution-{name.replace('.', '-')}": words for name, words in _POLLUTED.items()},
    }


def render(data: Mapping[str, Any], stale: Sequence[Finding] | None = None) -> str:
    """The page as HTML. `stale`: the stale translations that the run has used, if it was asked for them."""
    folder = Path(__file__).parent
    environment = Environment(
        loader=PackageLoader("pagewalk.report", "see"),
        autoescape=select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    hashed = data["kind"] in ("hash", "soft6xx")
    words = [(word, meaning) for word, meaning in _WORDS if hashed or word not in _WORDS_OF_HASHES]
    shown = {**data, "intro": _INTRO[data["kind"]], "words": words}
    return environment.get_template("page.html").render(
        data=shown,
        stale=stale,
        held="TLB and hash table" if hashed else "TLB",
        json=embed.data(data),
        style=Markup((folder / "page.css").read_text(encoding="utf-8")),
        vega=embed.vega(),
        script=embed.script("".join((folder / name).read_text(encoding="utf-8") for name in ("steps.js", "views.js"))),
    )
