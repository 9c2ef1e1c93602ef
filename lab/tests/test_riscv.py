"""RISC-V machines: the firmware that starts their kernels."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from pagewalk import images, snapshot
from pagewalk.architectures import POWERPC, RISCV
from pagewalk.cli import options
from pagewalk.cli.guest import say_who_never_ran
from pagewalk.cli.jobs import given
from pagewalk.errors import BadInput, NotBuilt
from pagewalk.paths import home


def test_a_kernel_is_started_by_the_firmware_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "fw").write_bytes(b"code")
    assert replace(RISCV, firmware=tmp_path / "fw").firmware_bytes() == b"code"
    assert POWERPC.firmware_bytes() == b""
    with pytest.raises(NotBuilt, match="none is not there") as error:
        replace(RISCV, firmware=tmp_path / "none").firmware_bytes()
    assert "opensbi" in str(error.value.hint)


def test_an_image_is_taken_as_an_elf_file_is(tmp_path: Path) -> None:
    path = tmp_path / "Image"
    header = b"MZ".ljust(0x38, b"\0") + b"RSC\x05"
    path.write_bytes(header + b"Linux version 6.12.1 (me@here) #1\n\0")
    image = images.read(path)
    assert image.architecture is RISCV
    assert image.version == "6.12.1"
    assert not image.symbols
    assert not image.has_section(".policies")
    images.check(image, RISCV)
    with pytest.raises(BadInput, match="for RISC-V, and the machine is"):
        images.check(image, POWERPC)
    path.write_bytes(b"MZ".ljust(0x40, b"\0"))
    with pytest.raises(BadInput, match="not an ELF file"):
        images.read(path)


def test_the_page_has_the_boots_that_are_tried() -> None:
    script = ast.parse((home().root / "tests" / "linux" / "boots.py").read_text(encoding="utf-8"))
    values = {
        target.id: node.value
        for node in script.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    tried: dict[str, tuple[int, ...]] = ast.literal_eval(values["MACHINES"])
    page = (home().root / "docs" / "riscv.md").read_text(encoding="utf-8")
    kernels = ast.literal_eval(values["KERNELS"])
    assert f"| machine | processors | {' | '.join(kernels)} |" in page
    shown = re.findall(rf"^\| `([\w-]+)` \| (\d) (?:\| yes ){{{len(kernels)}}}\|$", page, re.MULTILINE)
    every = [(machine, str(count)) for machine, counts in tried.items() for count in counts]
    assert shown == every


def test_a_processor_that_never_started_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    machine = mock.Mock(processors=3)
    machine.counters_of_each.return_value = [{"instructions": count} for count in (5, 0, 7)]
    say_who_never_ran(machine)
    assert capsys.readouterr().err == "processor 1 was never started: the kernel went on without it\n"


def test_policies_are_not_for_risc_v() -> None:
    with pytest.raises(BadInput, match="which does not run on u74-1500"):
        options.settings(["tlb.cutoff=20"], "u74-1500")
    assert options.settings(None, "u74-1500") == {}


def test_what_is_risc_vs_alone_stays_small() -> None:
    folder = home().root / "machine" / "src" / "riscv"
    files = [path for path in folder.rglob("*.rs") if "compiler" not in path.relative_to(folder).parts]
    lines = [line.strip() for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert 0 < sum(bool(line) and not line.startswith("//") for line in lines) <= 5000


def test_an_empty_disk_or_firmware_is_refused(tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(b"")
    with pytest.raises(BadInput, match="is empty"):
        given(tmp_path / "disk")
    assert given(None) == b""


def test_entries_of_a_tlb_say_whose_they_are() -> None:
    def row(page: str, asid: int) -> dict[str, object]:
        return {"set": 0, "way": 1, "page": page, "frame": "0x80200000", "bytes": 4096, "asid": asid, "bits": "rwx--ad"}

    rows = [row("0xffffffff80000000", 5), row("0x10000", 5), row("0x10000", 6)]
    state = {"satp": f"{8 << 60 | 5 << 44 | 0x80200:#x}", "tlb": {"data": rows}}
    (entries,) = snapshot.tlbs(state).values()
    assert [entry.whose for entry in entries] == ["kernel", "running", "other"]
    assert entries[0].page == 0xFFFF80000000
    assert snapshot.counts(state) == {"tlb.used": 3, "tlb.kernel": 1}
