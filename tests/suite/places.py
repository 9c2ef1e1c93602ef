"""Where the checkout keeps what the suite needs, and what to do when it is not there."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
USER = BUILD / "user"
PROGRAMS = BUILD / "programs"
CASES = ROOT / "tests" / "cases"


class Missing(RuntimeError):
    """Something that has to be built or installed first; the message says how."""


def wanted(path: Path, how: str) -> Path:
    """`path`, or an error that tells how it is made."""
    if not path.exists():
        raise Missing(f"{path} is missing: {how}")
    return path


def program(libc: str, name: str, script: str = "build") -> Path:
    """A program that a script of tests/programs builds from Debian's sources with this C library (glibc, musl)."""
    return wanted(PROGRAMS / "bin" / libc / name, f"run tests/programs/{script}.sh")
