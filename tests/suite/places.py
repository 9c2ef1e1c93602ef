"""The files that the suite needs, and how to build or install missing ones."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
USER = BUILD / "user"
PROGRAMS = BUILD / "programs"
CASES = ROOT / "tests" / "cases"


class Missing(RuntimeError):
    """Something must be built or installed first; the message says how."""


def wanted(path: Path, how: str) -> Path:
    """`path`, or an error that says how to make it."""
    if not path.exists():
        raise Missing(f"{path} is missing: {how}")
    return path


def program(libc: str, name: str, script: str = "build") -> Path:
    """A program that a script of tests/programs builds from Debian's sources with this C library (glibc, musl)."""
    return wanted(PROGRAMS / "bin" / libc / name, f"run tests/programs/{script}.sh")
