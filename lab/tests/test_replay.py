"""Traces of other tools: read by the command and by the package, packed or not; damaged ones are refused."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pagewalk.errors import BadInput, Interrupted
from pagewalk.native import NativeRunner
from pagewalk.paths import home
from pagewalk.replay import replay
from pagewalk.runner import ResolvedMachine
from pagewalk.workshop import Workshop

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


def champsim(address: int, loads: Sequence[int] = (), stores: Sequence[int] = ()) -> bytes:
    """A record as ChampSim's inc/trace_instruction.h describes it."""
    return struct.pack("<Q2B2B4B2Q4Q", address, 0, 0, 6, 0, 6, 0, 0, 0, *[*stores, 0, 0][:2], *[*loads, 0, 0, 0, 0][:4])


def entry(kind: int, size: int, address: int) -> bytes:
    """An entry as DynamoRIO's trace_entry.h describes it."""
    return struct.pack("<HHQ", kind, size, address)


PAGES = [0x7F00_0000_0000 + 4096 * page for page in range(16)]
CHAMPSIM = b"".join(champsim(0x401000 + 4 * n, [page]) for n, page in enumerate(PAGES * 10))
DRMEMTRACE = b"".join(
    [
        entry(25, 0, 5),
        entry(24, 0, 77),
        *(entry(10, 4, 0x401000 + 4 * n) + entry(0, 8, page) for n, page in enumerate(PAGES * 10)),
        entry(26, 0, 0),
    ]
)
LACKEY = "==1== Lackey\n" + "".join(
    f"I  {0x401000 + 4 * n:08x},4\n L {page:x},8\n" for n, page in enumerate(PAGES * 10)
)
TRACES: dict[str, tuple[str, bytes]] = {
    "champsim": ("trace.champsimtrace", CHAMPSIM),
    "drmemtrace": ("dr.trace", DRMEMTRACE),
    "lackey": ("lackey.out", LACKEY.encode()),
}


@pytest.fixture(scope="module")
def machine() -> ResolvedMachine:
    return Workshop(NativeRunner()).machine("ppc604-185")


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", TRACES)
def test_three_formats_tell_the_same(tmp_path: Path, machine: ResolvedMachine, name: str) -> None:
    found = replay(written(tmp_path, *TRACES[name]), machine)
    assert found.format == name
    assert (found.totals["instructions"], found.totals["loads"], found.totals["stores"]) == (160, 160, 0)
    assert found.counters["instructions"] == 160
    assert found.counters["tlb.data.miss"] == 16
    assert found.counters["tlb.data.access"] == 160
    assert found.counters["tlb.instruction.miss"] == 1
    assert found.totals["pages"] == 17
    assert found.totals["areas_moved"] == 1


PACKERS: dict[str, Callable[[bytes], bytes]] = {"xz": lzma.compress, "gz": gzip.compress, "bz2": bz2.compress}


@pytest.mark.parametrize("packer", PACKERS)
def test_a_packed_trace_is_the_same(tmp_path: Path, machine: ResolvedMachine, packer: str) -> None:
    plain = replay(written(tmp_path, *TRACES["champsim"]), machine)
    packed = PACKERS[packer](CHAMPSIM)
    found = replay(written(tmp_path, f"trace.champsimtrace.{packer}", packed), machine)
    assert found == plain
    for cut in (packed[: len(packed) // 2], packed[:-4]):
        with pytest.raises(BadInput, match=r"damaged|middle"):
            replay(written(tmp_path, f"cut.champsimtrace.{packer}", cut), machine)


def test_the_parts_of_a_zip_file_are_one_trace(tmp_path: Path, machine: ResolvedMachine) -> None:
    path = tmp_path / "dr.trace.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chunk.0000", DRMEMTRACE[:1200])
        archive.writestr("chunk.0001", DRMEMTRACE[1200:])
    found = replay(path, machine)
    assert found.counters["tlb.data.miss"] == 16
    with pytest.raises(BadInput, match="damaged"):
        replay(written(tmp_path, "cut.zip", path.read_bytes()[:-30]), machine)


@pytest.mark.parametrize(
    ("field", "value", "words"), [("flag_bits", 1, "encrypted"), ("compress_type", 97, "supported")]
)
def test_a_part_of_a_zip_file_that_cannot_be_unpacked_is_refused(
    tmp_path: Path, machine: ResolvedMachine, field: str, value: int, words: str
) -> None:
    """The bit of an encrypted part, and the number of a way of packing, in both of the file's headers."""
    path = tmp_path / "dr.trace.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("chunk.0000", DRMEMTRACE)
    offset = {"flag_bits": 6, "compress_type": 8}[field]
    data = bytearray(path.read_bytes())
    for start in (0, data.index(b"PK\x01\x02") + 2):
        struct.pack_into("<H", data, start + offset, value)
    with pytest.raises(BadInput, match=words):
        replay(written(tmp_path, "odd.zip", bytes(data)), machine)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (CHAMPSIM[:-1], "middle of a record"),
        (b"PK\x03\x04 and no more", "damaged"),
        (b"\x1f\x8b and no more", "damaged"),
        (b"\xfd7zXZ\0 and no more", "damaged"),
        (b"\xff" * 640, "no ChampSim trace"),
        (DRMEMTRACE[:-12], "footer"),
        (LACKEY.encode() + b" L 12", "middle of a record"),
        (LACKEY.encode() + b"what\n", "lackey's lines look like"),
    ],
)
def test_a_damaged_trace_is_refused(tmp_path: Path, machine: ResolvedMachine, data: bytes, words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        replay(written(tmp_path, "odd name; \x1b.champsim", data), machine)
    assert "odd name" in refused.value.message


def test_a_trace_without_a_known_format_is_refused(tmp_path: Path, machine: ResolvedMachine) -> None:
    with pytest.raises(BadInput, match="format"):
        replay(written(tmp_path, "trace", CHAMPSIM), machine)
    assert replay(written(tmp_path, "trace", CHAMPSIM), machine, format="champsim").totals["loads"] == 160
    with pytest.raises(BadInput, match="No such file"):
        replay(tmp_path / "none", machine)
    with pytest.raises(BadInput, match="directory"):
        replay(tmp_path, machine)


def test_the_parts_of_a_trace(tmp_path: Path, machine: ResolvedMachine) -> None:
    path = written(tmp_path, *TRACES["champsim"])
    found = replay(path, machine, skip=3, warmup=32, count=10)
    assert (found.totals["instructions"], found.counters["tlb.data.miss"]) == (10, 0)
    with pytest.raises(BadInput, match="160 instructions"):
        replay(path, machine, skip=1000)
    with pytest.raises(BadInput, match="no pages of 4 MB"):
        replay(path, machine, pages=["4M"])
    with pytest.raises(BadInput, match="neither a size"):
        replay(path, machine, pages=["large"])
    with pytest.raises(Interrupted):
        replay(path, machine, watch=lambda _: False)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, "replay", *arguments], capture_output=True, text=True, check=False, **options)


def test_the_command(tmp_path: Path) -> None:
    path = str(written(tmp_path, *TRACES["champsim"]))
    done = run(path, "-m", "p6-200", "--pages", "0x7f0000000000-0x7f0000400000=4M")
    assert done.returncode == 0, done.stderr
    assert "data TLB misses" in done.stdout
    assert "1 areas of 4 MB lie at other addresses" in done.stderr
    done = run(path, "-m", "ppc603-133", "--json")
    found = json.loads(done.stdout)
    assert found["totals"]["reloads"] == found["counters"]["tlb.data.miss"] + found["counters"]["tlb.instruction.miss"]
    for wrong, words in (
        (["--format", "champsin"], "did you mean 'champsim'?"),
        (["--shared-from", "kernel"], "is no address"),
        (["-m", "ppc604-185x2"], "one processor"),
        (["--set", "tlb.data.entries=3"], "entries"),
    ):
        done = run(path, *wrong)
        assert done.returncode in (2, 126), wrong
        assert words in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    done = run("-", "-m", "p6-200", input=LACKEY)
    assert done.returncode == 0, done.stderr


def test_valgrind_itself(tmp_path: Path) -> None:
    trace = tmp_path / "true.lackey"
    subprocess.run(
        ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={trace}", shutil.which("true") or "true"],
        check=True,
    )
    lines = trace.read_text().splitlines()
    done = run(str(trace), "-m", "p6-200", "--json")
    assert done.returncode == 0, done.stderr
    totals = json.loads(done.stdout)["totals"]
    assert totals["instructions"] == sum(line.startswith("I ") for line in lines)
    assert totals["stores"] == sum(line.startswith((" S ", " M ")) for line in lines)


def test_the_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (home().root / "docs" / "replay.md").read_text(encoding="utf-8")
    block = text.split("```python\n")[1].split("```")[0]
    written(tmp_path, "true.lackey", LACKEY.encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PAGEWALK_RESULTS", str(tmp_path / "results.duckdb"))
    exec(compile(block, "replay.md", "exec"), {})
