#!/usr/bin/env python3
"""Check that no data makes the kernel call itself without bound, and that the deepest path fits its stack.

    stack.py ARCH GRAPH... [--path FUNCTION] [--unresolved]

Reads the call graphs that gcc leaves beside the objects (-fcallgraph-info=su). A call through a pointer goes to every
function that the sources store in a member of that name, or pass where the caller's parameter gets it; a table without
member names is not seen. A function that comes to call itself is an error unless RECURSIVE names it, with what bounds
it; so is a path that needs more than the stack has.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

KERNEL = Path(__file__).resolve().parents[1]

# Functions through which the kernel comes to call itself: how often one may be on the stack, and why no more.
RECURSIVE = {
    "fs/epoll.c:levels_below": (5, "epolls nest at most five levels deep"),
    "fs/epoll.c:levels_above": (5, "epolls nest at most five levels deep"),
    "fs/epoll.c:count_paths": (5, "epolls nest at most five levels deep"),
    "fs/epoll.c:paths_fit": (5, "epolls nest at most five levels deep"),
    "fs/epoll.c:epoll_poll": (5, "epolls nest at most five levels deep"),
    "fs/epoll.c:epoll_wake": (5, "epolls nest at most five levels deep"),
    "ipc/rights.c:close_dropped": (1, "the outermost call closes what the nested ones leave on the list"),
    "socket_release": (2, "a socket that waits to be accepted has no queue of its own"),
    "fs/page.c:page_tree_prune": (4, "a tree of pages has four levels: six bits of a page number each"),
    "fs/page.c:next_below": (4, "a tree of pages has four levels: six bits of a page number each"),
    "mm/area.c:survey_stale": (16, "a path of a balanced tree of areas"),
    "task/signal.c:cancel_opposites": (2, "the parent is told by SIGCHLD, which neither stops nor continues"),
    "task_free": (2, "a task's stack is released only once"),
    "process_release": (2, "only a process's last task releases the process"),
    "test/areas.c:fault_after_sleep": (1, "it calls the operation that it has replaced"),
    "fs/async.c:async_wake": (1, "sending a signal makes no file ready that announces readiness by a signal"),
}


@dataclass(frozen=True)
class Arch:
    """What an exception enters while a function runs, and the bytes that it saves (FRAME_SIZE of offsets.c)."""

    frame: int
    interrupts: tuple[str, ...]
    fault: str


ARCHES = {
    "ppc": Arch(192, ("exception_decrementer", "exception_external"), "exception_data_fault"),
    "x86": Arch(64, ("exception_interrupt",), "exception_page_fault"),
}
INTERRUPTED = ("interrupt_window",)
FAULTING = ("user_copy", "user_clear", "user_string", "user_string_length", "user_exchange")

# What ends the kernel; and the overflow made on purpose.
ENDS = ("panic", "panic_regs", "fatal", "test/inject.c:use_stack")

# The type of the table of operations, by what the sources call the object, where several types have such a member.
OWNERS = (
    (re.compile(r"\b(?:socket|new|from|embryo|listener)->ops$"), "struct socket_ops"),
    (re.compile(r"\b(?:i|inode)->ops$"), "struct inode_ops"),
    (re.compile(r"->ops$"), "struct file_ops"),
    (re.compile(r"\bsink$"), "struct dir_sink"),
)


@dataclass
class Function:
    """A node of the graph: the stack that it needs by itself, and where it calls."""

    name: str
    frame: int = 0
    calls: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)  # of calls through pointers: file:line:column

    @property
    def file(self) -> str:
        """Where a static function is; empty for the others."""
        return self.name.rpartition(":")[0]

    @property
    def short(self) -> str:
        """Its name in the source."""
        return self.name.rpartition(":")[2].partition(".")[0]


def room(arch: str) -> int:
    """Bytes of a kernel stack below the frame of the program's registers and above the red zone."""
    text = (KERNEL / "arch" / arch / "include/arch/task.h").read_text()
    defined = dict(re.findall(r"#define (\w+)\s+(\d+)u", text))
    return int(defined["KERNEL_STACK_SIZE"]) - int(defined["STACK_RED_ZONE"]) - ARCHES[arch].frame


def read_graphs(paths: list[Path]) -> dict[str, Function]:
    """All functions, by the name that gcc gives them: file:name for static ones."""
    functions: dict[str, Function] = {}
    node = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \(')
    edge = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"(?: label: "([^"]+)")?')
    for path in paths:
        for line in path.read_text().splitlines():
            if found := node.match(line):
                functions.setdefault(found[1], Function(found[1])).frame = int(found[2])
            elif found := edge.match(line):
                function = functions.setdefault(found[1], Function(found[1]))
                if found[2] == "__indirect_call":
                    function.places.add(found[3])
                else:
                    function.calls.add(found[2])
    return functions


class Sources:
    """The kernel's C files, as far as calls through pointers need them."""

    def __init__(self, functions: dict[str, Function]) -> None:
        self.text = {str(path.relative_to(KERNEL)): path.read_text() for path in KERNEL.rglob("*.[ch]")}
        self.lines = {name: text.splitlines() for name, text in self.text.items()}
        self.global_names = {f.short: f.name for f in functions.values() if not f.file}
        self.static_names = {(f.file, f.short): f.name for f in functions.values() if f.file}
        self.members: dict[str, dict[str, set[str]]] = {}  # member: the table's name or type: functions
        self.passed: dict[str, set[str]] = {}  # function: functions that it is called with
        for name, text in self.text.items():
            self._read(name, text)

    def _function(self, file: str, word: str) -> str | None:
        return self.static_names.get((file, word)) or self.global_names.get(word)

    def _store(self, member: str, kind: str, function: str) -> None:
        self.members.setdefault(member, {}).setdefault(kind, set()).add(function)

    def _read(self, file: str, text: str) -> None:
        table = re.compile(r"struct (\w+) (\w+)(?:\[\w*\])? = \{(.*?)\n?\};", re.DOTALL)
        for found in table.finditer(text):
            for member, word in re.findall(r"\.(\w+)\s*=\s*&?(\w+)", found[3]):
                if function := self._function(file, word):
                    self._store(member, f"struct {found[1]}", function)
                    self._store(member, found[2], function)
        for owner, member, word in re.findall(r"(\w*)\]?(?:->|\.)(\w+)\s*=\s*&?(\w+)\s*[;,}]", text):
            if function := self._function(file, word):
                self._store(member, owner, function)
        for callee, arguments in re.findall(r"\b(\w+)\(([^();{}]*)\)", text):
            for word in re.findall(r"\w+", arguments):
                if function := self._function(file, word):
                    self.passed.setdefault(callee, set()).add(function)

    def targets(self, function: Function, place: str) -> set[str]:
        """Where a call through a pointer may go."""
        file, line, column = place.split(":")[:3]
        if file not in self.lines:
            return set()
        text = self.lines[file][int(line) - 1]
        calls = [c for c in re.finditer(r"((?:[\w\[\].]|->)*?)(?:->|\.)?\b(\w+)\(", text) if c.end() > int(column)]
        found = next((c for c in calls if c[2] in self.members or c[2] in text), None)
        if not found:
            return set()
        owner, member = found[1], found[2]
        if not owner:
            return self.passed.get(function.short, set())
        kinds = self.members.get(member, {})
        for pattern, kind in (*OWNERS, (re.compile(""), re.split(r"\W+", owner)[-1])):
            if pattern.search(owner) and kind in kinds:
                return kinds[kind]
        return set().union(*kinds.values())


def cycles(functions: dict[str, Function]) -> list[list[str]]:
    """The groups of functions that reach themselves."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for callee in sorted(functions[name].calls):
            if callee not in number:
                visit(callee)
                low[name] = min(low[name], low[callee])
            elif callee in stack:
                low[name] = min(low[name], number[callee])
        if low[name] == number[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1 or name in functions[name].calls:
                groups.append(group)

    for name in sorted(functions):
        if name not in number:
            visit(name)
    return groups


class Deepest:
    """The most stack below a function. One that recurses, within its bound, counts that often."""

    def __init__(self, functions: dict[str, Function]) -> None:
        self.functions = functions
        self.known: dict[str, tuple[int, tuple[str, ...]]] = {}

    def below(self, name: str) -> tuple[int, tuple[str, ...]]:
        """Bytes, and the path that needs them."""
        if name not in self.known:
            function = self.functions[name]
            most = max((self.below(callee) for callee in function.calls), default=(0, ()))
            self.known[name] = (most[0] + function.frame, (name, *most[1]))
        return self.known[name]


def unroll(functions: dict[str, Function]) -> list[str]:
    """Takes the bounded cycles out of the graph. The stack of such a cycle is that of the paths from each of its
    functions in RECURSIVE to the next, as often as that may be there. Returns what cannot be bounded."""
    errors = []
    for group in cycles(functions):
        heads = [name for name in group if plain(name) in RECURSIVE]
        rest = {
            name: Function(name, functions[name].frame, functions[name].calls & (set(group) - set(heads)))
            for name in group
        }
        if cycles(rest):
            errors.append("calls itself: " + " -> ".join(cycles(rest)[0]))
            continue
        again = f"{group[0]} and so on"
        outside = set().union(*(functions[name].calls for name in group)) - set(group)
        deepest = Deepest(rest)
        size = sum(deepest.below(name)[0] * RECURSIVE[plain(name)][0] for name in heads)
        functions[again] = Function(again, size, outside)
        for name in group:
            functions[name].calls = (functions[name].calls - set(heads)) | {again}
    return errors


def plain(name: str) -> str:
    """Without what the compiler appends to a copy of a function."""
    head, colon, tail = name.rpartition(":")
    return head + colon + tail.partition(".")[0]


def main() -> int:
    """Exit status 0: every path is bounded and fits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arch", choices=sorted(ARCHES))
    parser.add_argument("graphs", type=Path, nargs="+", help="files of gcc's -fcallgraph-info=su")
    parser.add_argument("--path", metavar="FUNCTION", help="show the deepest path from here")
    parser.add_argument("--unresolved", action="store_true", help="list calls through pointers that lead nowhere known")
    arguments = parser.parse_args()
    functions = read_graphs(arguments.graphs)
    sources = Sources(functions)
    sources.members["fire"] = {"": sources.passed["timer_init"]}
    for function in functions.values():
        for place in function.places:
            targets = sources.targets(function, place)
            function.calls |= targets
            if not targets and arguments.unresolved:
                print(place, function.name)
    for name in {callee for f in functions.values() for callee in f.calls} - set(functions):
        functions[name] = Function(name)
    for name in ENDS:
        functions[name].calls.clear()
    arch = ARCHES[arguments.arch]
    for name in (*INTERRUPTED, *FAULTING):
        functions[name].frame += arch.frame
        functions[name].calls.update(arch.interrupts if name in INTERRUPTED else [arch.fault])
    sys.setrecursionlimit(100_000)
    errors = unroll(functions)
    if not errors:
        deepest = Deepest(functions)
        size, path = max(deepest.below(name) for name in functions)
        if arguments.path:
            size, path = deepest.below(arguments.path)
            print("\n".join(f"{functions[name].frame:6} {name}" for name in path))
        print(f"kernel: stack {size} of {room(arguments.arch)} bytes at most, from {path[0]}")
        if size > room(arguments.arch):
            errors.append("more stack than there is: " + " -> ".join(path))
    for error in errors:
        print(f"stack.py: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
