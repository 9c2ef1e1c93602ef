#!/usr/bin/env python3
"""Generate code, documentation and the fuzzer's specification from syscalls.tbl.

    generate.py syscalls.tbl --abi NAME --prototypes FILE --table FILE
                [--documentation FILE] [--fuzz FILE] [--fuzz-table FILE]

The prototypes give each call a C function whose argument registers are the ABI's: where a processor's calling
convention puts a 64-bit argument into the same registers as its system-call ABI does (PowerPC's does), the
compiler does that work. The fuzz specification is JSON: for each call its number and, for each argument,
kind, width in registers and first register, and why the fuzzer leaves the call out, if it does. The fuzz table is
the same as a C array, for the program that makes the calls.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

SCALARS = {
    "int": "int",
    "uint": "u32",
    "s32": "s32",
    "u32": "u32",
    "size": "size_t",
    "bool": "bool",
    "s64": "s64",
    "u64": "u64",
    "fd": "int",
    "pid": "s32",
    "id": "u32",
    "mode": "u32",
    "signal": "int",
    "clock": "s32",
    "flags": "u32",
    "address": "uaddr_t",
    "path": "const char *",
}
WIDE = {"s64", "u64"}
POINTED = {"void", "char", "u8", "u16", "u32", "s32", "u64", "s64"}
ATTRIBUTES = {"-", "full", "words"}
ABSENT = -1
POINTER = re.compile(r"(in|out|inout)\((\w+)\)(?:\[(\w*)\])?$")


class TableError(Exception):
    """A line of the table that cannot be understood; the message names file and line."""


@dataclass(frozen=True)
class Abi:
    """How an ABI passes arguments: its registers in order, and two rules for a 64-bit argument.

    With aligned_pairs it begins at the first, third or fifth register; with high_word_first its high word is the first.
    """

    name: str
    registers: list[str]
    aligned_pairs: bool
    high_word_first: bool

    def named(self, place: int, count: int) -> str:
        """The registers of an argument; for a 64-bit one, the register of the high word comes first."""
        if count == 1:
            return self.registers[place]
        first, second = self.registers[place : place + 2]
        return f"{first}:{second}" if self.high_word_first else f"{second}:{first}"


@dataclass
class Argument:
    """One argument: its name, the table's type, and the place of its first register in the ABI's order."""

    name: str
    kind: str
    place: int
    registers: int
    optional: bool
    target: str | None = None
    count: str | None = None

    def c_type(self) -> str:
        """The argument's type in C; a pointer type ends in its star."""
        if self.target is None:
            return SCALARS[self.kind]
        base = self.target if self.target in POINTED else f"struct {self.target}"
        return f"{'const ' if self.kind == 'in' else ''}{base} *"

    def c_declaration(self) -> str:
        """Type and name as a prototype has them."""
        c = self.c_type()
        return f"{c}{self.name}" if c.endswith("*") else f"{c} {self.name}"


@dataclass
class Call:
    """One system call. If its number is ABSENT, the ABI has none for it, but another call may lead to its function."""

    number: int
    name: str
    full: bool
    words: bool
    section: str
    arguments: list[Argument] = field(default_factory=list)
    unfuzzed: str | None = None
    same_as: str | None = None

    def prototype(self) -> str:
        """The C function's prototype."""
        arguments = ", ".join(a.c_declaration() for a in self.arguments) or "void"
        return f"long sys_{self.name}({arguments})"

    def function(self) -> list[str]:
        """The lines of the C function of a call that is the same as another one."""
        return [self.prototype(), "{", f"\treturn sys_{self.same_as};", "}", ""]


def parse_abi(words: list[str]) -> Abi:
    """Parse name, registers, pairs, order of words. Raises ValueError."""
    if len(words) != 4 or words[2] not in ("aligned", "packed") or words[3] not in ("high-first", "low-first"):
        raise ValueError("expected: abi name register,... aligned|packed high-first|low-first")
    return Abi(words[0], words[1].split(","), words[2] == "aligned", words[3] == "high-first")


def parse_argument(text: str, place: int, abi: Abi) -> Argument:
    """Parse name:type; the place is the first that is still free. Raises ValueError."""
    name, colon, kind = text.partition(":")
    if not colon or not name.isidentifier():
        raise ValueError(f"'{text}' is not name:type")
    optional = kind.endswith("?")
    kind = kind.removesuffix("?")
    if kind in WIDE:
        place += place % 2 if abi.aligned_pairs else 0
        return Argument(name, kind, place, 2, optional)
    if kind in SCALARS:
        if optional and kind != "path":
            raise ValueError(f"'{text}': only pointers and paths may be optional")
        return Argument(name, kind, place, 1, optional)
    pointer = POINTER.match(kind)
    if pointer is None:
        raise ValueError(f"'{text}': unknown type; allowed are {', '.join(SCALARS)}, in(T), out(T), inout(T)")
    return Argument(name, pointer[1], place, 1, optional, pointer[2], pointer[3])


def parse_call(words: list[str], abi: Abi, column: int, columns: int, section: str) -> Call:
    """Parse a call's line. Raises ValueError."""
    numbers = words[:columns]
    same_as: str | None = None
    if "=" in words:
        same_as = " ".join(words[words.index("=") + 1 :])
        words = words[: words.index("=")]
        if not re.fullmatch(r"\w+\(.*\)", same_as):
            raise ValueError(f"'{same_as}' is not call(arguments)")
    if len(words) < columns + 2 or words[columns + 1] not in ATTRIBUTES:
        raise ValueError(f"expected: a number for each ABI, name attributes({'|'.join(sorted(ATTRIBUTES))}) arguments")
    if not all(n.isdigit() or n == "-" for n in numbers):
        raise ValueError(f"expected {columns} columns of numbers, each a number or - for an ABI without the call")
    number = ABSENT if numbers[column] == "-" else int(numbers[column])
    call = Call(number, words[columns], words[columns + 1] == "full", words[columns + 1] == "words", section)
    call.same_as = same_as
    place = 0
    for word in words[columns + 2 :]:
        argument = parse_argument(word, place, abi)
        place = argument.place + argument.registers
        call.arguments.append(argument)
    if place > len(abi.registers) and number != ABSENT:
        raise ValueError(f"the arguments need more registers than {', '.join(abi.registers)}")
    names = {a.name for a in call.arguments}
    for a in call.arguments:
        if a.count and not a.count.isdigit() and a.count not in names:
            raise ValueError(f"[{a.count}] is no argument of {call.name}")
    return call


class Table:
    """The lines read so far: every ABI, and the calls with their numbers in the wanted ABI."""

    def __init__(self, abi: str) -> None:
        """Begin with no ABI known."""
        self.wanted = abi
        self.abis: list[Abi] = []
        self.calls: list[Call] = []
        self.names: set[str] = set()
        self.section = ""

    def read(self, line: str) -> None:
        """Take in one line. Raises ValueError for a line that is not understood or repeats another."""
        words = line.split()
        if line.startswith("["):
            self.section = line.strip("[]")
        elif words[0] == "abi":
            self.abis.append(parse_abi(words[1:]))
        elif words[0] == "unfuzzed":
            self._leave_out(words[1:])
        else:
            self._add(words)

    def column(self) -> int:
        """The column of the wanted ABI's numbers. Raises ValueError for an ABI that no line names."""
        names = [a.name for a in self.abis]
        if self.wanted not in names:
            raise ValueError(f"no ABI '{self.wanted}'; there are: {', '.join(names) or 'none'}")
        return names.index(self.wanted)

    def _add(self, words: list[str]) -> None:
        column = self.column()
        call = parse_call(words, self.abis[column], column, len(self.abis), self.section)
        self.names.add(words[len(self.abis)])
        same = next((c for c in self.calls if c.number == call.number), None)
        if same is not None and call.number != ABSENT:
            raise ValueError(f"number {call.number} is already {same.name}")
        self.calls.append(call)

    def _leave_out(self, words: list[str]) -> None:
        """Note why the fuzzer never makes a call."""
        if len(words) < 2:
            raise ValueError("expected: unfuzzed name reason")
        if words[0] not in self.names:
            raise ValueError(f"unfuzzed: '{words[0]}' is no call named above")
        for call in (c for c in self.calls if c.name == words[0]):
            if call.unfuzzed is not None:
                raise ValueError(f"unfuzzed: '{words[0]}' is left out already")
            call.unfuzzed = " ".join(words[1:])


def parse(path: Path, abi: str) -> tuple[Abi, list[Call]]:
    """Read an ABI's calls. Raises TableError for a line that is not understood, repeats another or is too long."""
    table = Table(abi)
    for number, text in enumerate(path.read_text().splitlines(), 1):
        line = text.partition("#")[0].strip()
        try:
            if line:
                table.read(line)
        except ValueError as error:
            raise TableError(f"{path}:{number}: {error}") from None
    try:
        return table.abis[table.column()], sorted(table.calls, key=lambda c: c.number)
    except ValueError as error:
        raise TableError(f"{path}: {error}") from None


def present(calls: list[Call]) -> list[Call]:
    """The calls that the ABI has."""
    return [c for c in calls if c.number != ABSENT]


def prototypes(_: Abi, calls: list[Call]) -> str:
    """The header: a prototype for each call, with a number or not, and the number of table entries."""
    structs = sorted({a.target for c in calls for a in c.arguments if a.target and a.target not in POINTED})
    lines = ["/* Made by syscall/generate.py from syscall/syscalls.tbl. */"]
    lines += ["#ifndef SYSCALL_PROTOTYPES_H", "#define SYSCALL_PROTOTYPES_H", "", "#include <types.h>", ""]
    lines += [f"struct {s};" for s in structs]
    lines += ["", f"#define SYSCALL_COUNT {calls[-1].number + 1}u"]
    lines += [f"#define SYSCALL_{c.name.upper()} {c.number}u" for c in present(calls)] + [""]
    lines += [f"{c.prototype()};" for c in calls]
    lines += ["/* Every number without a call has this one. */", "long sys_unknown(void);"]
    lines += ["", "#endif", ""]
    return "\n".join(lines)


def table(abi: Abi, calls: list[Call]) -> str:
    """The C source of the dispatch table and of the two tables of attributes."""
    by_number = {c.number: c for c in calls}
    count = calls[-1].number + 1
    lines = ["/* Made by syscall/generate.py from syscall/syscalls.tbl. */"]
    lines += [f"#include <{header}>" for header in ("abi/fcntl.h", "abi/fs.h", "abi/time.h", "syscall.h")] + [""]
    lines += [line for c in calls if c.same_as for line in c.function()]
    first, last = abi.registers[0], abi.registers[-1]
    lines += [f"/* Each function takes the registers {first}..{last}, whatever types its parameters have. */"]
    lines += ['#pragma GCC diagnostic ignored "-Wcast-function-type"', ""]
    lines.append("const syscall_fn syscall_table[SYSCALL_COUNT] = {")
    for n in range(count):
        name = by_number[n].name if n in by_number else "unknown"
        lines.append(f"\t(syscall_fn)sys_{name},")
    lines += ["};", "", "const u8 syscall_needs_full_regs[SYSCALL_COUNT] = {"]
    lines += [f"\t[{c.number}] = 1," for c in calls if c.full]
    lines += ["};", "", "const u8 syscall_returns_words[SYSCALL_COUNT] = {"]
    lines += [f"\t[{c.number}] = 1," for c in calls if c.words]
    lines += ["};", ""]
    return "\n".join(lines)


def documentation(abi: Abi, calls: list[Call]) -> str:
    """The table as a Markdown page, by section."""
    lines = ["# System calls", "", "Made from `kernel/syscall/syscalls.tbl`. Any other number gives ENOSYS.", ""]
    for section in dict.fromkeys(c.section for c in calls):
        lines += [f"## {section.capitalize()}", "", "| number | call | arguments |", "| --- | --- | --- |"]
        for c in (c for c in calls if c.section == section):
            arguments = ", ".join(
                f"{a.name}: {a.c_type().strip()}{f'[{a.count}]' if a.count is not None else ''}"
                f"{' or NULL' if a.optional else ''} ({abi.named(a.place, a.registers)})"
                for a in c.arguments
            )
            lines.append(f"| {c.number} | `{c.name}` | {arguments} |")
        lines.append("")
    return "\n".join(lines)


def fuzz(abi: Abi, calls: list[Call]) -> str:
    """The fuzzer's specification as JSON."""
    return json.dumps(
        [
            {
                "number": c.number,
                "name": c.name,
                "section": c.section,
                "unfuzzed": c.unfuzzed,
                "arguments": [
                    {
                        "name": a.name,
                        "kind": a.kind,
                        "register": abi.registers[a.place],
                        "registers": a.registers,
                        "optional": a.optional,
                        "target": a.target,
                        "count": a.count,
                    }
                    for a in c.arguments
                ],
            }
            for c in calls
        ],
        indent=1,
    )


def fuzz_table(_: Abi, calls: list[Call]) -> str:
    """The calls as C, for tests/fuzz: number, name and the kind of each argument."""
    lines = ["/* Made by syscall/generate.py from syscall/syscalls.tbl. */", '#include "fuzz.h"', ""]
    lines.append("const struct fuzz_call fuzz_calls[] = {")
    for c in (c for c in calls if c.unfuzzed is None):
        lines.append(f'\t{{ "{c.name}", {c.number}, {int(c.full)}, {len(c.arguments)}, {{')
        lines += [
            f"\t\t{{ FUZZ_{'POINTER' if a.target else a.kind.upper()}, {a.place}, {a.registers} }}, /* {a.name} */"
            for a in c.arguments
        ]
        lines.append("\t} },")
    lines += ["};", ""]
    lines += ["const unsigned fuzz_call_count = sizeof(fuzz_calls) / sizeof(fuzz_calls[0]);", ""]
    return "\n".join(lines)


def main() -> int:
    """Exit status 0, or 1 when the table cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--abi", required=True, metavar="NAME")
    outputs = {
        "prototypes": prototypes,
        "table_out": table,
        "documentation": documentation,
        "fuzz": fuzz,
        "fuzz_table": fuzz_table,
    }
    parser.add_argument("--prototypes", type=Path, metavar="FILE")
    parser.add_argument("--table", type=Path, metavar="FILE", dest="table_out")
    parser.add_argument("--documentation", type=Path, metavar="FILE")
    parser.add_argument("--fuzz", type=Path, metavar="FILE")
    parser.add_argument("--fuzz-table", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    try:
        abi, calls = parse(arguments.table, arguments.abi)
    except (TableError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, make in outputs.items():
        output: Path | None = getattr(arguments, name)
        if output is not None:
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(make(abi, calls if make is prototypes else present(calls)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
