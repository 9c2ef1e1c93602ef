"""The page of `pagewalk see`, from a recording made up here, and as a browser shows it."""

import json
from pathlib import Path
from typing import Any

import pytest
from framed import framed

from pagewalk import recording, snapshot
from pagewalk.profiles import StackRow
from pagewalk.recording import Flush, Instant, Recording
from pagewalk.report import browser, see, stale

WIDTHS = (400, 1400)


def step(at: int, table: str, slot: int, found: str) -> dict[str, Any]:
    read = {"at": at, "took": 6, "address": f"0x0020{slot:04x}", "bytes": 8, "value": "0x8000918000300192"}
    other = {"vsid": "0x000124", "page_index": "0x0456", "by_secondary_hash": False}
    return {**read, "table": table, "slot": slot, "found": found, **({} if found == "empty" else other)}


def miss(cycle: int, *, found: bool = True) -> dict[str, Any]:
    """A miss on a 604, as the machine tells it."""
    last = step(100, "secondary", 1, "match" if found else "empty")
    args = {
        "address": "0x40000000", "side": "data", "pc": "0x10000100", "function": "<walk> & more", "program": "/bin/a",
        "context": 2, "mode": "user", "cause": "user", "set": 0, "segment": 4, "vsid": "0x000123",
        "page_index": "0x0000", "hash": "0x00123", "primary": "0x002048c0", "secondary": "0x0020b700",
        "ways": [{"space": "VSID 000001", "page": "0x50000000", "program": "/bin/b", "context": 3}, None],
        "walk": [*(step(10 * n, "primary", n, "other" if n % 2 else "empty") for n in range(8)), last],
        "cycle": cycle, "cycles": 120,
    }  # fmt: skip
    return {"name": "tlb.data.miss", "args": {**args, **({"way": 1} if found else {})}}


def of_processor(number: int, event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "args": {**event["args"], "processor": number}}


def region(number: int, cycle: int, phase: str) -> dict[str, Any]:
    return {"name": f"region {number}", "cat": "region", "ph": phase, "id": number, "args": {"cycle": cycle}}


def flush(cycle: int, cycles: int) -> dict[str, Any]:
    return {"name": "flush_all", "ph": "X", "args": {"cause": "flush", "cycle": cycle, "cycles": cycles}}


def state(cycle: int, used: int) -> dict[str, Any]:
    occupancy = "".join(str(min(8, used // 64 + (n < used % 64))) for n in range(64))
    return {
        "cycle": cycle,
        "tlb": {
            "instruction": [[3, 0, 0x123, 7, 0x1000, "kernel"]],
            "data": [[n, 0, 0x123, n, n << 12, "running"] for n in range(used % 64)],
        },
        "hash": {"occupancy": occupancy, "used": used, "owners": {"kernel": 1, "running": used - 1, "other": 0}},
    }


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return written(tmp_path, [of_processor(3, miss(2000)), miss(3000, found=False)])


def written(tmp_path: Path, misses: list[dict[str, Any]]) -> Path:
    counters = {"cycles.cause.user": 900, "cycles.cause.flush": 100, "pollution.tlb.data.flush.user": 12}
    made = Recording(
        begin=1000,
        end=9000,
        misses=misses,
        missed=7,
        flushes=[Flush(4000, 4500, "flush_all")],
        stacks=[StackRow("/bin/a", ("main", "f", "flush_all_[k]"), "flush", 100, 50)],
        limits=["a limit was reached"],
    )
    for cycle in (1000, 4000, 4500, 9000):
        made.looked.append(cycle)
        scaled = {name: count * cycle // 9000 for name, count in counters.items()}
        made.instants.append(
            Instant(state(cycle, 300 if cycle <= 4000 else 20), {**scaled, "tlb.data.miss.user": cycle})
        )
    tlb = {side: {"sets": 64, "ways": 2} for side in ("instruction", "data")}
    subject = see.Subject("a --markup=</script><b>", "a", "ppc604-133", "hash", 133_000_000, tlb)
    path = tmp_path / "see.html"
    path.write_text(see.render(see.page_data(subject, made, counters, 4)), encoding="utf-8")
    return path


def shown(page: Path, fragment: str, width: int = 1400) -> str:
    arguments = (f"--window-size={width},1200", "--virtual-time-budget=4000", "--dump-dom")
    return browser.run(page, *arguments, fragment=fragment)


def test_the_page_needs_no_network_and_holds_no_markup_of_the_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    ours = text.partition("(function(){")[0]
    assert "http" not in ours.replace("https://www.speedscope.app/file-format-schema.json", "").replace(
        "https://vega.github.io/schema", ""
    )
    assert "<b>, " not in ours
    assert "a --markup=&lt;/script&gt;&lt;b&gt;" in ours


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(page: Path, width: int) -> None:
    frame = framed(
        page, "see.html#miss=1&step=7", (width, 1000), "d.body.dataset.ready + ' ' + d.documentElement.scrollWidth"
    )
    dom = browser.run(frame, "--allow-file-access-from-files", "--virtual-time-budget=8000", "--dump-dom")
    assert f"<title>yes {width}</title>" in dom, dom[:300]


def test_it_opens_on_a_miss_of_the_program_itself(tmp_path: Path) -> None:
    others = miss(2000)
    others["args"] |= {"program": "/init", "address": "0x10000000"}
    first = shown(written(tmp_path, [others, miss(3000)]), "")
    assert "/bin/a, in " in first
    assert "/init, in " not in first


def test_a_miss_is_stepped_through(page: Path) -> None:
    first = shown(page, "miss=1&step=1")
    assert 'data-ready="yes"' in first
    assert "1 of 14: The address" in first
    assert "&lt;walk&gt; &amp; more" in first
    assert "(user mode) on processor 3, accesses" in first
    assert "1: processor 3, 0x40000000" in first
    assert "processor 3, data, user, found" in first
    match = shown(page, "miss=1&step=13&instant=2")
    assert "13 of 14: Read slot 1 of the secondary group" in match
    assert "This is the page" in match
    assert 'class="slot match now-part"' in match
    assert match.count('class="slot other"') == 4
    assert "Cycle 4,000" in match
    assert "Before flush 1" in match
    assert "the hash table 300 and 20" in match
    assert match.count(" gone") > 10
    absent = shown(page, "miss=2&step=14")
    assert "Not found: page fault" in absent


def test_a_handler_that_reads_a_tree_is_not_said_to_search_the_hash_table(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    head, mark, rest = text.partition('<script type="application/json" id="data">')
    embedded, end, tail = rest.partition("</script>")
    data = json.loads(embedded)
    data["kind"] = "soft6xx"
    levels = [{"at": 50, "address": "0x00200000", "bytes": 4, "value": "0x1", "table": f"level {n}"} for n in (1, 2)]
    data["misses"][0]["walk"] = levels
    page.write_text(head + mark + json.dumps(data) + end + tail, encoding="utf-8")
    assert "a tree of two tables" in shown(page, "miss=1&step=4")
    assert "one big hash table" in shown(page, "miss=2&step=4")


def test_odd_fragments_are_no_error(page: Path) -> None:
    for fragment in ("miss=999&step=-3&instant=x", "time", "%%%&=&miss=", "miss=2&step=1e9"):
        dom = shown(page, fragment)
        assert 'id="broken" class="warning" hidden=""' in dom, fragment


@pytest.mark.parametrize("share", [0.02, 0.5, 0.999])
def test_half_a_file_says_so(page: Path, share: float) -> None:
    text = page.read_text(encoding="utf-8")
    half = page.with_name("half.html")
    half.write_text(text[: int(len(text) * share)], encoding="utf-8")
    dom = shown(half, "")
    assert "This page is incomplete" in dom
    assert 'class="warning" hidden' not in dom


def test_the_programs_own_events_are_read() -> None:
    inner = 65536
    kept, begin, end, last = recording._program(
        [miss(10), region(inner, 100, "b"), miss(200), region(3, 210, "b"), flush(300, 40), region(inner, 400, "e"),
         miss(500)]
    )  # fmt: skip
    assert [event["args"]["cycle"] for event in kept] == [200, 300]
    assert (begin, end, last) == (100, 400, 620)


def test_flushes_that_go_on_soon_are_one() -> None:
    events = [flush(0, 10), flush(100, 10), flush(50_000, 5), *(flush(100_000 * n, 100 + n) for n in range(1, 11))]
    found = recording.flushes(events)
    assert [each.begin for each in found] == [0, *(100_000 * n for n in range(4, 11))]
    assert recording.flushes(events[:3]) == [Flush(0, 110, "flush_all"), Flush(50_000, 50_005, "flush_all")]


def test_some_of_each_kind_of_miss_are_kept() -> None:
    many = [miss(n, found=n % 100 != 50) for n in range(1000)]
    kept = recording.choose(many, 40)
    assert len(kept) == 40
    outcomes = [recording.outcome(each["args"]) for each in kept]
    assert set(outcomes) == {"found in the secondary group", "not found"}
    assert outcomes.count("not found") >= 10
    assert recording.choose([], 5) == []
    assert recording.choose(many[:3], 5) == many[:3]


def test_a_state_is_made_small() -> None:
    dump = {
        "cycle": 5, "casid": None, "segments": [{"number": n, "vsid": n} for n in range(16)],
        "instruction_tlb": [{"set": 1, "way": 0, "vsid": 12, "page_index": 3, "physical": 0x4000}],
        "data_tlb": [], "instruction_entries": [], "data_entries": [],
        "hash_table": {"occupancy": [0, 3], "used": 3, "entries": [{"vsid": 12}, {"vsid": 1}, {"vsid": 99}]},
    }  # fmt: skip
    small = recording.slim(json.loads(json.dumps(dump)))
    assert small["tlb"] == {"instruction": [[1, 0, 12, 3, 0x4000, "kernel"]], "data": []}
    assert small["hash"] == {"occupancy": "03", "used": 3, "owners": {"kernel": 1, "running": 1, "other": 1}}


def test_the_states_of_several_processors_are_one() -> None:
    def dump(processor: int) -> dict[str, Any]:
        row = {"set": processor, "way": 0, "vsid": 12, "page_index": 3, "physical": 0x4000}
        return {
            "cycle": 5, "casid": None, "processor": processor,
            "segments": [{"number": n, "vsid": n + 20 * processor if n < 12 else n} for n in range(16)],
            "instruction_tlb": [row], "data_tlb": [], "instruction_entries": [], "data_entries": [],
            "hash_table": {"occupancy": [0, 4], "used": 4, "groups": 2, "histogram": [0] * 9,
                           "entries": [{"vsid": vsid} for vsid in (12, 1, 21, 99)]},
        }  # fmt: skip

    states = [dump(0), dump(1)]
    small = recording.slim_of_all(states)
    assert {name: len(rows) for name, rows in small["tlb"].items()} == {
        f"processor {number}, {side}": side == "instruction" for number in (0, 1) for side in ("instruction", "data")
    }
    assert small["tlb"]["processor 1, instruction"][0][0] == 1
    assert small["hash"]["owners"] == {"kernel": 1, "running": 2, "other": 1}
    assert snapshot.counts_of_all(states)["tlb.used"] == 2
    assert snapshot.counts_of_all(states)["hash.used"] == 4


def test_some_misses_of_each_processor_are_kept() -> None:
    many = [miss(n) for n in range(1000)]
    for n, each in enumerate(many):
        each["args"]["processor"] = int(n >= 990)
    kept = recording.choose(many, 40)
    assert sum(each["args"]["processor"] for each in kept) >= 10


def test_the_unified_tlbs_of_a_405_and_a_970_are_shown() -> None:
    none: dict[str, list[object]] = {
        f"{side}_{what}": [] for side in ("instruction", "data") for what in ("tlb", "entries")
    }
    entries = [
        {"number": 3, "tid": tid, "effective": effective, "physical": 0x4000}
        for tid, effective in ((0, 0xC0001000), (7, 0x1000), (8, 0x2000))
    ]
    common = {"cycle": 5, "casid": None, "segments": [], **none}
    dump = {**common, "hash_table": None, "unified_tlb": {"entries": entries, "pid": 7}}
    small = recording.slim(dump)
    assert [row[5] for row in small["tlb"]["unified"]] == ["kernel", "running", "other"]
    assert snapshot.counts(dump) == {"tlb.used": 3, "tlb.kernel": 1}

    row = {"set": 1, "way": 2, "vsid": 12, "page_index": 3, "physical": 0x4000}
    wide = {"slb": [{"effective": 0xC0000000, "vsid": 12}], "tlb": [row]}
    small = recording.slim({**common, "hash_table": None, "wide": wide})
    assert small["tlb"] == {"unified": [[1, 2, 12, 3, 0x4000, "kernel"]]}


PLACE = {"processor": 1, "pc": "0xc0001234", "function": "mm_<protect>", "user": False, "program": "/bin/uses"}
STALE = {
    "text": "stale translation (late): a write to 0xb7fec000 by an entry that has rights\n  access  here",
    "entry": {**PLACE, "cycle": 100, "page": "0xb7fec000", "frame": "0x3fee000"},
    "access": {**PLACE, "cycle": 900, "what": "a write to", "address": "0xb7fec000", "user": True},
    "change": {**PLACE, "cycle": 500, "address": "0x175fb0", "old": "0x67", "new": "0x65"},
    "flushes": [{**PLACE, "cycle": 600, "what": "page 0xb7fed000: another page"}],
}


def test_a_stale_translation_is_shown_in_time() -> None:
    found = stale.finding(STALE)
    assert [(event.kind, event.cycle) for event in found.events] == [
        ("fill", 100), ("change", 500), ("flush", 600), ("use", 900)
    ]  # fmt: skip
    assert found.svg.count("<circle") == 4
    assert found.svg.count("<line ") == len(stale.COLOURS)
    assert "cycle 500: the word at 0x175fb0 was changed from 0x67 to 0x65 in mm_&lt;protect&gt;" in found.svg
    assert "user mode, processor 1, program /bin/uses" in found.events[-1].words
    without = stale.finding({**STALE, "change": None, "flushes": []})
    assert [event.kind for event in without.events] == ["fill", "use"]
