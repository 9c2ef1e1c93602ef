from pathlib import Path

import pytest

from pagewalk.architectures import X86
from pagewalk.errors import BadInput
from pagewalk.programs import check_executable


def elf(*, size: int = 1, order: int = 2, machine: int = 20, kind: int = 2, segments: tuple[int, ...] = (1,)) -> bytes:
    byteorder = "big" if order == 2 else "little"

    def field(value: int, length: int) -> bytes:
        return value.to_bytes(length, byteorder)  # type: ignore[arg-type]

    head = b"\x7fELF" + bytes([size, order, 1]) + bytes(9) + field(kind, 2) + field(machine, 2) + bytes(8)
    head += field(52, 4) + bytes(10) + field(32, 2) + field(len(segments), 2) + bytes(6)
    return head + b"".join(field(segment, 4) + bytes(28) for segment in segments)


def test_a_static_executable_passes() -> None:
    check_executable(Path("prog"), elf())


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (elf(segments=(1, 3)), "dynamically linked"),
        (elf(order=1), "little-endian"),
        (elf(order=1, machine=62, size=2), "x86-64"),
        (elf(machine=21, size=2), "64-bit PowerPC"),
        (elf(kind=3), "not an executable at fixed addresses"),
        (b"#!/bin/sh\n", "is a script"),
        (b"text", "not an ELF executable"),
        (b"", "not an ELF executable"),
    ],
)
def test_anything_else_is_refused_with_the_reason(data: bytes, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint) as error:
        check_executable(Path("prog"), data)
    assert error.value.hint is not None
    assert "powerpc-linux-gnu-gcc -static" in error.value.hint


def test_an_x86_takes_an_i386s_executables() -> None:
    check_executable(Path("prog"), elf(order=1, machine=3), X86)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (elf(), r"prog is big-endian \(PowerPC\); the machine is little-endian x86"),
        (elf(order=1, machine=62, size=2), "prog is for x86-64, 64 bits; the kernel runs programs of 32-bit x86"),
        (elf(order=1, machine=3, segments=(1, 3)), "dynamically linked"),
        (elf(order=1, machine=3, kind=3), "not an executable at fixed addresses"),
    ],
)
def test_an_x86_refuses_anything_else(data: bytes, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint) as error:
        check_executable(Path("prog"), data, X86)
    assert "musl-gcc" in (error.value.hint or "")
