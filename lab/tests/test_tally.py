"""Observers in one line: what they count is what the counters say, and wrong ones are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pagewalk import guest, native
from pagewalk.api import Laboratory
from pagewalk.errors import BadInput
from pagewalk.guest import Program
from pagewalk.paths import home
from pagewalk.runner import NO_LIMIT, Job
from pagewalk.workshop import Workshop

pytestmark = [pytest.mark.built]

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


def job(machine: str) -> Job:
    program = Program(
        str(home().root / "build/user/bench/tlb-stress"), ("processes=2", "pages=100", "iterations=1", "warmup=0")
    )
    return guest.job(Workshop(native.NativeRunner()), machine, program, overrides={}, settings={})


def counted(
    machine: str, *queries: str, region: int | None = None
) -> tuple[list[dict[tuple[str, ...], int]], dict[str, int]]:
    """The groups of each query, and the counters of the run."""
    loaded = native.load(job(machine))
    loaded.tally(list(queries), region)
    native.go(loaded, NO_LIMIT, lambda _: True)
    groups = []
    for rows, others in loaded.tallied():
        assert others == 0
        groups.append({tuple(row[0]): row[1] for row in rows})
    return groups, loaded.regions()[region] if region is not None else loaded.counters()


@pytest.mark.parametrize("machine", ["ppc604-133", "ppc603-133", "mpc855t-48"])
@pytest.mark.parametrize("region", [None, guest.PROGRAM_REGION])
def test_a_query_counts_what_the_counters_count(machine: str, region: int | None) -> None:
    queries = [
        "miss(data)",
        "miss(instruction) by mode",
        "miss by cause where side == data",
        "eviction(data)",
        "exception by vector",
        "miss by stack where mode == kernel",
    ]
    found, counters = counted(machine, *queries, region=region)
    assert found[0] == {(): counters["tlb.data.miss"]}
    assert found[1].get(("user",), 0) == counters["tlb.instruction.miss.user"]
    assert found[1].get(("kernel",), 0) == counters["tlb.instruction.miss.kernel"]
    for (cause,), events in found[2].items():
        assert events == counters[f"tlb.data.miss.cause.{cause}"]
    assert sum(found[2].values()) == counters["tlb.data.miss"]
    assert sum(found[3].values()) == counters["tlb.data.evicted"]
    for (vector,), events in found[4].items():
        assert events == counters[f"exception.{vector}"], vector
    kernel = counters["tlb.instruction.miss.kernel"] + counters["tlb.data.miss.kernel"]
    assert sum(found[5].values()) == kernel


def test_counting_changes_no_counter() -> None:
    plain = native.load(job("ppc604-133"))
    native.go(plain, NO_LIMIT, lambda _: True)
    _, counters = counted("ppc604-133", "miss by stack", "eviction by function, victim")
    assert counters == plain.counters()


def test_a_histogram_has_every_walk() -> None:
    loaded = native.load(job("ppc604-133"))
    loaded.tally(["miss histogram cycles"], None)
    native.go(loaded, NO_LIMIT, lambda _: True)
    (((((key, count, total, parts),), others)),) = loaded.tallied()
    counters = loaded.counters()
    assert (key, others) == ([], 0)
    assert count == counters["tlb.data.miss"] + counters["tlb.instruction.miss"]
    assert sum(part[2] for part in parts) == count
    assert 0 < total <= counters["walk.cycles"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, "observe", *arguments], capture_output=True, text=True, check=False)


def test_the_command_prints_tables_and_json() -> None:
    query = "miss(data) by function where cause == kernel"
    done = run("-e", query, "-e", "miss histogram cycles", "--", "hello")
    assert done.returncode == 0, done.stderr
    assert "function" in done.stdout
    assert "####" in done.stdout
    done = run("-e", query, "--json", "-m", "p6-200", "--", "hello")
    (found,) = json.loads(done.stdout)
    assert found["query"] == query
    assert all(set(group) == {"function", "events"} for group in found["groups"])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("mis(data)", "no kind of event"),
        ("miss by functon", "no field of miss"),
        ("miss by functon", "did you mean 'function'?"),
        ("miss where cause == kernal", "no cause"),
        ("miss where function == exception_soft_mis", "the nearest is exception_soft_miss"),
        ("exception where vector == sistem-call", "there is no exception"),
        ("miss where program == /bin/helo", "has run"),
        ("miss where program == /bin/helo", "did you mean '/bin/hello'?"),
        ("miss '", "quotation mark"),
        ("call by caller", "calls are those of one function"),
        ("call where function == exception_soft_miss", "calls are not counted on PowerPC"),
    ],
)
def test_a_wrong_query_is_refused(query: str, words: str) -> None:
    done = run("-e", query, "--", "hello")
    assert done.returncode == 2
    assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_stacks_are_followed_on_one_architecture(capfd: Any) -> None:
    done = run("-e", "miss by stack", "-m", "p6-200", "--", "hello")
    assert done.returncode == 2
    assert "not followed on x86" in done.stderr


def test_python_gets_a_frame(tmp_path: Path) -> None:
    program = home().root / "build/user/hello"
    with Laboratory(tmp_path / "results.duckdb") as lab:
        frame = lab.count("miss by side, cause", program)
        assert frame.columns == ["side", "cause", "events"]
        whole = lab.count("miss", program)
        assert [sum(frame["events"])] == whole["events"]
        sizes = lab.count("miss(data) histogram cycles", program)
        assert [sum(part["count"] for part in row["histogram"]) for row in sizes] == sizes["events"]
        assert not lab.count("switch where context == 4000000", program).rows
        with pytest.raises(BadInput, match="no kind of event"):
            lab.count("nothing", program)
