"""Checks that each short file of a policy names the files that hold the code of its choices, and that these exist.

A policy that only binds what lies elsewhere is read in two places. Its comment ends with "Forms:" and the names of the
files, from the kernel's folder, or from that of the architecture or of the policy. Where they name a file of hash32,
they name that of hash64 too, if there is one.
"""

from __future__ import annotations

import re
from pathlib import Path

from suite.places import ROOT

KERNEL = ROOT / "kernel"
SHORT = 45
"""Lines: a longer file has code of its own to read."""
_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_FORMS = re.compile(r"Forms:(.*)$", re.DOTALL)


def named(text: str) -> list[str]:
    """The files that the first comment of a policy's file names behind "Forms:"."""
    comment = _COMMENT.search(text)
    forms = comment and _FORMS.search(comment[1])
    return re.findall(r"[\w/]+\.[chS]\b", forms[1]) if forms else []


def wrong(path: Path, text: str, files: set[str]) -> list[str]:
    """What a policy's file lacks, or names in vain. `files` has the paths of all files below the kernel's folder."""
    forms = named(text)
    if not forms and len(text.splitlines()) <= SHORT and "POLICY(" in text and "for_several" not in text:
        return [f'{path} only binds its choices: name the files that hold them behind "Forms:"']
    lost = [form for form in forms if not any(file == form or file.endswith(f"/{form}") for file in files)]
    short = [form.removeprefix("arch/ppc/") for form in forms]
    twins = [form.replace("hash32/", "hash64/") for form in short if form.startswith("hash32/")]
    lacking = [twin for twin in twins if f"arch/ppc/{twin}" in files and twin not in short]
    return [f"{path} names {form}, which does not exist" for form in lost] + [
        f"{path} names a file of hash32: name {twin} too" for twin in lacking
    ]


def check() -> int:
    """Returns the number of problems; each is printed."""
    files = {str(path.relative_to(KERNEL)) for path in KERNEL.rglob("*") if path.suffix in (".c", ".h", ".S")}
    policies = sorted(path for path in KERNEL.rglob("policy/*.c") if path.parent != KERNEL / "policy")
    found = [
        fault for path in policies for fault in wrong(path.relative_to(KERNEL), path.read_text(encoding="utf-8"), files)
    ]
    outside = [
        str(path.relative_to(KERNEL))
        for path in sorted(KERNEL.rglob("*.c"))
        if path.parent.name != "policy" and "one" not in path.parts and re.search(r"^POLICY\(", path.read_text(), re.M)
    ]
    found += [f'{path} declares a policy: it needs a file of its own in a folder "policy"' for path in outside]
    if len(wrong(Path("a.c"), "/* a: b. Forms: nowhere.S. */\nPOLICY(a)\n", files)) != 1:
        found.append("the check misses a file that does not exist")
    for folder in ("", "arch/ppc/"):
        if len(wrong(Path("a.c"), f"/* a: b. Forms: {folder}hash32/note.c. */\nPOLICY(a)\n", files)) != 1:
            found.append(f"the check misses the file of hash64 beside one of {folder}hash32")
    for fault in found:
        print(f"forms: {fault}")
    print(f"forms: {len(policies)} files of policies, {len(found)} problems")
    return len(found)
