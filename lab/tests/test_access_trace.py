"""Traces for other tools: each instruction and access is in them, and a replay of one counts what the run counted."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagewalk import access_trace, guest, native, watching
from pagewalk.errors import BadInput
from pagewalk.guest import Program
from pagewalk.native import NativeRunner
from pagewalk.replay import replay
from pagewalk.runner import NO_LIMIT
from pagewalk.workshop import Workshop

pytestmark = [pytest.mark.built]

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
_KERNEL = 0xC000_0000


def written(path: Path, format: str, *, machine: str = "ppc604-133", count: int = 200_000) -> dict[str, int]:
    """Writes the trace of `hello` from its start; gives what the run counted meanwhile."""
    program = Program("hello", ())
    loaded = native.load(guest.job(Workshop(NativeRunner()), machine, program, overrides={}, settings={}))
    assert watching.to_program(loaded, "/bin/hello", NO_LIMIT) is None
    before = loaded.counters()
    kind, _, words = access_trace.write(
        loaded, path, format, count=count, until=NO_LIMIT, limit=NO_LIMIT, about={"machine": machine}
    )
    assert kind in ("power-off", "batch"), words
    after = loaded.counters()
    assert loaded.recorded() <= count
    return {name: value - before[name] for name, value in after.items()} | {"recorded": loaded.recorded()}


def entries(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Type, size and address of each entry of a drmemtrace."""
    yield from struct.iter_unpack("<HHQ", data)


def test_a_drmemtrace_has_every_instruction_of_kernel_and_program(tmp_path: Path) -> None:
    path = tmp_path / "hello.trace"
    counts = written(path, "drmemtrace", count=1_000_000)
    found = list(entries(path.read_bytes()))
    assert found[0][0] == 25
    assert found[-1] == (26, 0, 0)
    instructions = [address for kind, _, address in found if 10 <= kind <= 16]
    assert len(instructions) == counts["recorded"] == counts["instructions"]
    user = sum(address < _KERNEL for address in instructions)
    assert user == counts["instructions.user"]
    accesses = sum(kind in (0, 1) for kind, _, _ in found)
    # Cache instructions count as accesses and move no data; the walker's are the hardware's own.
    assert 0.7 * counts["cache.data.access"] < accesses <= counts["cache.data.access"]
    assert any(entry[:2] == (28, 0) for entry in found)


def test_a_replay_of_it_counts_the_instructions_and_follows_the_switches(tmp_path: Path) -> None:
    machine = Workshop(NativeRunner()).machine("ppc604-133", {})
    for format, name in (("drmemtrace", "hello.trace"), ("champsim", "hello.champsimtrace.gz")):
        path = tmp_path / name
        counts = written(path, format, count=100_000)
        side = access_trace.side_of(path)
        found = replay(path, machine, side=side)
        assert found.totals["instructions"] >= counts["recorded"]
        if format == "drmemtrace":
            assert found.totals["instructions"] == counts["recorded"]
        said = [json.loads(line) for line in side.read_text().splitlines()]
        assert said[0]["shared-from"] == _KERNEL
        assert said[1]["at"] == 0
        assert "hello" in said[1]["program"]
        invalidated = sum("invalidate" in line for line in said)
        assert found.totals["invalidations"] == invalidated
        assert invalidated == counts["tlb.invalidate"]


@pytest.mark.parametrize("machine", ["i486dx-50", "p6-200"])
def test_a_drmemtrace_of_an_x86_has_every_instruction_and_access(tmp_path: Path, machine: str) -> None:
    path = tmp_path / "hello.trace"
    counts = written(path, "drmemtrace", machine=machine, count=1_000_000)
    found = list(entries(path.read_bytes()))
    instructions = [address for kind, _, address in found if 10 <= kind <= 16]
    # A string instruction that an exception breaks off is written once for each part.
    assert len(instructions) == counts["recorded"]
    assert counts["instructions"] <= counts["recorded"] < 1.001 * counts["instructions"]
    user = sum(address < _KERNEL for address in instructions)
    # The return to a program counts as the program's, and its system call as the kernel's.
    assert 0.99 * counts["instructions.user"] <= user <= 1.01 * counts["instructions.user"]
    accesses = sum(kind in (0, 1) for kind, _, _ in found)
    # The walker's accesses are the hardware's own, and those of an exception's entry belong to no instruction. An
    # i486 has one cache, which counts fetches too.
    assert accesses > 0.3 * counts["instructions"]
    if machine == "p6-200":
        assert 0.9 * counts["cache.data.access"] < accesses <= counts["cache.data.access"]
    lengths = {size for kind, size, _ in found if 10 <= kind <= 16}
    assert lengths <= set(range(1, 16))
    assert len(lengths) > 5
    kinds = {kind for kind, _, _ in found}
    assert {11, 13, 14, 15, 16} <= kinds


def test_a_side_file_of_an_x86_tells_flushes_and_large_pages(tmp_path: Path) -> None:
    path = tmp_path / "hello.trace"
    counts = written(path, "drmemtrace", machine="p6-200", count=1_000_000)
    side = access_trace.side_of(path)
    said = [json.loads(line) for line in side.read_text().splitlines()]
    assert sum("invalidate" in line for line in said) == counts["tlb.invalidate"]
    assert any("flush" in line for line in said)
    assert any(line.get("exception") == "pf" for line in said)
    machine = Workshop(NativeRunner()).machine("p6-200", {})
    found = replay(path, machine, side=side)
    assert found.totals["instructions"] == counts["recorded"]
    assert not any("lost" in line for line in said)


@pytest.mark.parametrize("machine", ["ppc604-185x2", "p6-200x2"])
def test_a_trace_of_several_processors_says_whose_each_instruction_is(tmp_path: Path, machine: str) -> None:
    path = tmp_path / "hello.trace"
    counts = written(path, "drmemtrace", machine=machine, count=300_000)
    found = list(entries(path.read_bytes()))
    instructions = sum(10 <= kind <= 16 for kind, _, _ in found)
    assert counts["instructions"] <= instructions == counts["recorded"] < 1.001 * counts["instructions"]
    processors = {address for kind, size, address in found if (kind, size) == (28, 3)}
    assert processors == {0, 1}
    side = access_trace.side_of(path)
    said = [json.loads(line) for line in side.read_text().splitlines()]
    assert {line["processor"] for line in said[1:]} == {0, 1}
    one = Workshop(NativeRunner()).machine("p6-200", {})
    assert replay(path, one, side=side).totals["instructions"] == instructions


def test_champsim_gets_a_file_for_each_processor(tmp_path: Path) -> None:
    path = tmp_path / "hello.champsimtrace.gz"
    counts = written(path, "champsim", machine="ppc604-185x2", count=300_000)
    files = access_trace.files_of(path, "champsim", 2)
    assert [file.name for file in files] == ["hello.cpu0.champsimtrace.gz", "hello.cpu1.champsimtrace.gz"]
    assert not path.exists()
    one = Workshop(NativeRunner()).machine("ppc604-133", {})
    replayed = [replay(file, one, side=access_trace.side_of(file)).totals["instructions"] for file in files]
    assert all(replayed)
    assert counts["recorded"] <= sum(replayed) < 1.1 * counts["recorded"]


def test_a_large_page_of_a_side_file_is_one_where_the_machine_has_it(tmp_path: Path) -> None:
    side = tmp_path / "x.side.jsonl"
    side.write_text('{"shared-from": 3221225472}\n{"at": 0, "page": 4194304, "bytes": 4194304}\n')
    trace = tmp_path / "x.lackey"
    lines = [f"I  {4194304 + 4096 * n:x},4\n" for n in range(200)]
    trace.write_text("".join(lines))
    shop = Workshop(NativeRunner())
    large = replay(trace, shop.machine("p6-200", {}), side=side)
    small = replay(trace, shop.machine("p6-200", {}))
    assert large.counters["tlb.instruction.miss"] == 1
    assert small.counters["tlb.instruction.miss"] == 200
    assert replay(trace, shop.machine("ppc604-133", {}), side=side).counters["tlb.instruction.miss"] == 200


def test_a_champsim_record_has_the_kinds_of_branches(tmp_path: Path) -> None:
    path = tmp_path / "hello.champsimtrace.gz"
    counts = written(path, "champsim")
    records = list(struct.iter_unpack("<Q2B2s4s2Q4Q", gzip.decompress(path.read_bytes())))
    assert len(records) >= counts["recorded"]
    calls = [record for record in records if record[3][:2] == b"\x1a\x06" and record[4][:2] == b"\x1a\x06"]
    returns = [record for record in records if record[3][:2] == b"\x1a\x06" and record[4][:1] == b"\x06"]
    assert calls
    assert returns
    assert all(record[1:3] == (1, 1) for record in calls)
    branches = sum(record[1] for record in records)
    assert 0.05 < branches / len(records) < 0.4


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "hello.champsimtrace.xz"
    done = run("trace", "--format", "champsim", "--count", "20000", "-o", str(path), "--", "hello")
    assert done.returncode == 0, done.stderr
    assert "20,000 instructions" in done.stderr
    done = run("replay", str(path), "--side", f"{path}.side.jsonl", "-m", "p6-200")
    assert done.returncode == 0, done.stderr
    for arguments, words in (
        (["--format", "champsin"], "did you mean 'champsim'?"),
        (["--format", "champsim", "-m", "u74-1500"], "RISC-V"),
        (["--format", "champsim", "--translation"], "do not go together"),
        (["--format", "champsim", "--window", "soon"], "is no window"),
    ):
        done = run("trace", *arguments, "-o", str(path), "--", "hello")
        assert done.returncode in (2, 126), done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}\n",
        '{"shared-from": -1}\n',
        '{"shared-from": 1}\n[]\n',
        '{"shared-from": 1}\n{"at": 5, "switch": 1}\n{"at": 4, "switch": 1}\n',
        '{"shared-from": 1}\n{"at": 1, "switch": "x"}\n',
        '{"shared-from": 1}\n{"at": 1e3, "flush": true}\n',
        '{"shared-from": 1}\n{"at": 1, "page": 4096}\n',
        '{"shared-from": 1}\n{"at": 1, "page": 4096, "bytes": 0}\n',
        '{"shared-from": 1}\n{"at": 1, "page": 4096, "bytes": 4194304}\n',
        '{"shared-from": 1}\n{"at": 1, "page": 4194304, "bytes": 4294967296}\n',
        "[" * 100_000,
        "\xff",
    ],
)
def test_a_damaged_side_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.side.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=r"side file|is empty"):
        access_trace.read_side(path)
