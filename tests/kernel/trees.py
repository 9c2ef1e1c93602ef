"""Damaged device trees for the kernel's reader (lib/fdt.c), which the host's compiler builds with sanitizers."""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import TypeAlias

from suite.places import ROOT

_SEED = os.environ.get("PAGEWALK_SEED", "1")
_TREES = os.environ.get("PAGEWALK_MUTATIONS", "100000")
_HERE = Path(__file__).parent
_COMPILER = (
    *("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
)
# What lib/fdt.c takes from the kernel's own headers.
_HEADERS = {
    "types.h": "#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\ntypedef uint32_t u32;\n",
    "lib.h": "#define _GNU_SOURCE\n#include <string.h>\n",
}
_CPU = {"reg": bytes(4), "timebase-frequency": struct.pack("I", 16625000)}
_Node: TypeAlias = "tuple[str, dict[str, bytes], tuple[_Node, ...]]"
_ROOT: _Node = (
    "",
    {"compatible": b"pagewalk,prep\0", "#address-cells": struct.pack("I", 1)},
    (
        ("cpus", {}, (("cpu@0", _CPU, ()), ("cpu@1", _CPU, ()))),
        (
            "interrupt-controller@80040000",
            {"device_type": b"open-pic\0", "reg": struct.pack("II", 0x80040000, 0x40000)},
            (),
        ),
        (
            "isa",
            {},
            (
                ("pagewalk@f00", {"compatible": b"pagewalk\0"}, ()),
                ("interrupt-controller", {"interrupts": struct.pack("II", 0, 1)}, ()),
            ),
        ),
    ),
)


def _padded(text: bytes) -> bytes:
    return text + bytes(-len(text) % 4)


def _structure(node: _Node, strings: bytearray) -> bytes:
    name, properties, children = node
    blob = struct.pack("I", 1) + _padded(name.encode() + b"\0")
    for key, value in properties.items():
        blob += struct.pack("3I", 3, len(value), len(strings)) + _padded(value)
        strings += key.encode() + b"\0"
    return blob + b"".join(_structure(child, strings) for child in children) + struct.pack("I", 2)


def _tree() -> bytes:
    """The nodes that the kernel reads as a blob in the host's byte order, with its strings at the end."""
    strings = bytearray()
    structure = _structure(_ROOT, strings) + struct.pack("I", 9)
    head = 40
    total = head + len(structure) + len(strings)
    words = (0xD00DFEED, total, head, head + len(structure), head, 17, 16, 0, len(strings), len(structure))
    return struct.pack("10I", *words) + structure + strings


def check() -> int:
    """Returns 1 if a tree was read beyond its bounds, and 0 otherwise."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for header, text in _HEADERS.items():
            (folder / header).write_text(text, encoding="utf-8")
        (folder / "fdt.h").write_bytes((ROOT / "kernel" / "include" / "fdt.h").read_bytes())
        (folder / "tree").write_bytes(_tree())
        program = folder / "trees"
        sources = (_HERE / "trees.c", ROOT / "kernel" / "lib" / "fdt.c")
        subprocess.run([*_COMPILER, f"-I{folder}", "-o", program, *sources], check=True)
        done = subprocess.run(
            [program, folder / "tree", _SEED, _TREES], capture_output=True, text=True, errors="replace", check=False
        )
    print(f"trees: {'passed' if done.returncode == 0 else 'FAILED'}: {done.stdout.strip()}")
    if done.returncode:
        print(done.stderr[-3000:])
    return int(done.returncode != 0)
