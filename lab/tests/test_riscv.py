"""RISC-V machines: the firmware that starts their kernels."""

from dataclasses import replace
from pathlib import Path

import pytest

from pagewalk.architectures import POWERPC, RISCV
from pagewalk.errors import NotBuilt


def test_a_kernel_is_started_by_the_firmware_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "fw").write_bytes(b"code")
    assert replace(RISCV, firmware=tmp_path / "fw").firmware_bytes() == b"code"
    assert POWERPC.firmware_bytes() == b""
    with pytest.raises(NotBuilt, match="none is not there") as error:
        replace(RISCV, firmware=tmp_path / "none").firmware_bytes()
    assert "opensbi" in str(error.value.hint)
