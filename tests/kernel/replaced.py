"""Checks the mark REPLACED: every C function that arch_replace() replaces has it, and nothing else has."""

from __future__ import annotations

import re

from suite.places import ROOT

KERNEL = ROOT / "kernel"
_MARKED = re.compile(r"^REPLACED (?:CAUSE\(\w+\) )?[^;{(]*?\b(\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\barch_replace\(\s*\(const void \*\)(\w+),")
_LISTED = re.compile(r"replaced\[\] = \{(.*?)\};", re.DOTALL)
_ASSEMBLY = re.compile(r"^FUNCTION\((\w+)\)", re.MULTILINE)


def replaced_in(text: str) -> set[str]:
    """The functions that a file's calls of arch_replace() replace."""
    if "arch_replace(" not in text:
        return set()
    return set(_CALL.findall(text)) | {
        name for part in _LISTED.findall(text) for name in re.findall(r"\*\)(\w+)", part)
    }


def wrong(sources: dict[str, str]) -> list[str]:
    """What contradicts the mark in these files."""
    marked: set[str] = set()
    replaced: set[str] = set()
    assembly: set[str] = set()
    for file, text in sources.items():
        if file.endswith(".S"):
            assembly |= set(_ASSEMBLY.findall(text))
            continue
        marked |= set(_MARKED.findall(text))
        replaced |= replaced_in(text)
    return [
        *(f"{name} is replaced and has no mark REPLACED" for name in sorted(replaced - marked - assembly)),
        *(f"{name} has the mark REPLACED, and nothing replaces it" for name in sorted(marked - replaced)),
    ]


def check() -> int:
    """Returns the number of functions whose mark is wrong."""
    files = [path for path in sorted(KERNEL.rglob("*")) if path.suffix in (".c", ".S")]
    found = wrong({str(path.relative_to(KERNEL)): path.read_text(encoding="utf-8") for path in files})
    planted = {"a.c": "REPLACED void one(void)\n{\n}\nx = arch_replace((const void *)two, (const void *)three);\n"}
    if len(wrong(planted)) != 2:
        found.append("the check misses a wrong mark")
    for sentence in found:
        print(f"replaced: {sentence}")
    print(f"replaced: {len(files)} files, {len(found)} problems")
    return len(found)
