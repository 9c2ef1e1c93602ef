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
from pagewalk.paths import home
from pagewalk.replay import replay
from pagewalk.runner import NO_LIMIT
from pagewalk.workshop import Workshop

pytestmark = [pytest.mark.built]

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
_KERNEL = 0xC000_0000


def written(path: Path, format: str, *, machine: str = "ppc604-133", count: int = 200_000) -> dict[str, int]:
    """Writes the trace of `hello` from its start; gives what the run counted meanwhile."""
    program = Program(str(home().root / "build/user/hello"), ())
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
        (["--format", "champsim", "-m", "p6-200"], "not recorded"),
        (["--format", "champsim", "-m", "ppc604-185x2"], "several processors"),
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
        "[" * 100_000,
        "\xff",
    ],
)
def test_a_damaged_side_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.side.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(BadInput, match=r"side file|is empty"):
        access_trace.read_side(path)
