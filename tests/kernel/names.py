"""Checks that the static functions and data of the kernel's C files say their subject: each name has two words or more.

A function `clamp` or a counter `objects` says what it is only to who has found its file. In a trace, a profile or a
debugger it stands alone. A file's own subject needs one word: `held` in held.c, `accounts` in account.c.
Static data inside of functions is not looked at: the function's name stands before it.

The linker scripts place functions by their names. A function that got another name would lose its place in silence, so
each name in them must be a function's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from suite.places import ROOT

_IGNORED = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|^#(?:\\\n|[^\n])*", re.DOTALL | re.M
)
_ATTRIBUTE = re.compile(r"\b(?:__attribute__|CAUSE|_Alignas)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_CALLED = re.compile(r"\(\s*\*\s*(?:const\s+)?(\w+)|(\w+)\s*\((?!\s*\*)")
"""The first name that is followed by parentheses: a pointer to a function, or a function."""
_DATA = re.compile(r"(\w+)\s*$")


def _declarations(text: str) -> Iterator[tuple[int, str]]:
    """The line number and the text of each declaration outside of functions, without what stands in braces."""
    text = _IGNORED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    depth, begin, kept = 0, 0, ""
    for at, character in enumerate(text):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif depth == 0:
            kept += character
        if not kept.strip():
            begin, kept = at, ""
        is_body = character == "}" and depth == 0 and kept.rstrip().endswith(")") and "=" not in kept
        if is_body or (character == ";" and depth == 0):
            yield text.count("\n", 0, begin + 1) + 1, kept
            kept = ""


def _static_names(declaration: str) -> list[str]:
    """The names that a declaration makes static."""
    declaration = _ATTRIBUTE.sub(" ", declaration).strip().removesuffix(";")
    if not re.search(r"\bstatic\b", declaration):
        return []
    declared = re.sub(r"\[[^\]]*\]", "", re.sub(r"=[^,]*", "", declaration))
    if called := _CALLED.search(declared):
        return [called[1] or called[2]]
    return [found[1] for part in declared.split(",") if (found := _DATA.search(part.strip()))]


_DEFINED = re.compile(r"^(?:FUNCTION\((\w+)\)|\w(?:[^\n;]*?\W)?(\w+)\([^\n]*[^\n;]$)", re.MULTILINE)
"""A function in assembly; or in C the first line of a definition: not indented, and without a semicolon at its end."""


def _defined(text: str) -> set[str]:
    """The functions that a file defines."""
    text = re.sub(r"^ ", "", _ATTRIBUTE.sub("", _IGNORED.sub("", text)), flags=re.MULTILINE)
    return {found[1] or found[2] for found in _DEFINED.finditer(text)}


def _unplaced() -> list[str]:
    """The names in linker scripts that no function has."""
    kernel = ROOT / "kernel"
    functions = {name for path in kernel.rglob("*.[cS]") for name in _defined(path.read_text(encoding="utf-8"))}
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(kernel.rglob("hot*.lds"))
        for name in re.findall(r"\(?\.text\.(?!cause\b)(\w+)", path.read_text(encoding="utf-8"))
        if name not in functions
    ]


def check() -> int:
    """The number of names of one word and of those in linker scripts that no function has; each is printed."""
    checked = 0
    wrong = []
    for path in sorted((ROOT / "kernel").rglob("*.c")):
        for line, declaration in _declarations(path.read_text(encoding="utf-8")):
            for name in _static_names(declaration):
                checked += 1
                if "_" not in name and name.islower() and name not in (path.stem, path.stem + "s"):
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: {name}")
    for where in wrong:
        print(where)
    print(f"names: {checked} static names, {len(wrong)} of one word that is not their file's subject")
    made = "/* one() */\nint two(int a);\nint three(int a)\n{\n\tfour(a);\n}\nFUNCTION(five)\n"
    if _defined(made) != {"three", "five"}:
        wrong.append(f"names: the check finds {_defined(made)} in {made!r}")
        print(wrong[-1])
    lost = _unplaced()
    for where in lost:
        print(f"{where}: no function has this name")
    print(f"names: {len(lost)} names in linker scripts that no function has")
    return len(wrong) + len(lost)
