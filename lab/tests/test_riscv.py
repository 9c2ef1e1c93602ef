"""RISC-V machines: the firmware that starts their kernels."""

from dataclasses import replace
from pathlib import Path

import pytest

from pagewalk.architectures import POWERPC, RISCV
from pagewalk.errors import NotBuilt
from pagewalk.paths import home


def test_a_kernel_is_started_by_the_firmware_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "fw").write_bytes(b"code")
    assert replace(RISCV, firmware=tmp_path / "fw").firmware_bytes() == b"code"
    assert POWERPC.firmware_bytes() == b""
    with pytest.raises(NotBuilt, match="none is not there") as error:
        replace(RISCV, firmware=tmp_path / "none").firmware_bytes()
    assert "opensbi" in str(error.value.hint)


def test_what_is_risc_vs_alone_stays_small() -> None:
    folder = home().root / "machine" / "src" / "riscv"
    lines = [line.strip() for path in folder.rglob("*.rs") for line in path.read_text(encoding="utf-8").splitlines()]
    assert 0 < sum(bool(line) and not line.startswith("//") for line in lines) <= 5000
