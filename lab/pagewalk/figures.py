"""How a figure of a table is computed from what a run measured.

A figure is an arithmetic expression (`+ - * /`, parentheses, numbers) over

- `us`, `ms`: the region's time divided by its iterations, in microseconds and milliseconds;
- `mb_s`: the bytes that the benchmark moved divided by the region's time, in 10^6 bytes a second;
- `iterations`, `bytes`: what the benchmark itself reported, for the whole region;
- `count("tlb.*.miss.*")`: the sum of the region's counters whose names match;
- `each("cycles.cause.flush")`: the same, divided by the iterations;
- `run("hash.miss")`: the sum over the whole run instead of the region;
- `value("evict-ratio")`: a number that the guest printed (`@value name=... value=...`), or the sum of those that match;
- `mean("tlb.kernel")`, `most("tlb.kernel")`: mean and maximum of this count over the run's samples;
- `evictions("walk")`: data-cache misses of other cost categories on lines that this one evicted;
- `victims("walk")`: data-cache misses of this cost category on lines that others evicted.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache

from pagewalk import _machine, architectures
from pagewalk.architectures import Architecture
from pagewalk.errors import BadInput, unknown
from pagewalk.runner import Sample

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_NAMES = ("us", "ms", "mb_s", "iterations", "bytes")
_OF_COUNTERS = ("count", "each", "run")
_OF_CAUSES = ("evictions", "victims")
_OF_GUEST = ("value", "mean", "most")
_FUNCTIONS = ("count", "each", "run", "value", "mean", "most", "evictions", "victims")


def pollution(counters: Mapping[str, int], array: str) -> dict[tuple[str, str], int]:
    """The pollution matrix of an array, such as `cache.data`: misses by evictor and victim."""
    cells: dict[tuple[str, str], int] = {}
    for name, count in counters.items():
        parts = name.removeprefix("pollution.").rsplit(".", 2)
        if name.startswith("pollution.") and len(parts) == 3 and parts[0] == array:
            cells[parts[1], parts[2]] = count
    return cells


@cache
def _names_of(architecture: str) -> frozenset[str]:
    """Every counter of a machine of that architecture."""
    return frozenset(_machine.counter_names(architecture))


@cache
def known_counters() -> frozenset[str]:
    """The names of all counters of all machines."""
    return frozenset().union(*(_names_of(architecture.name) for architecture in architectures.KNOWN))


@cache
def _causes() -> frozenset[str]:
    """The causes that evict and are evicted from."""
    return frozenset(evictor for evictor, _ in pollution(dict.fromkeys(known_counters(), 0), "cache.data"))


@cache
def _matches(pattern: str, names: frozenset[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names) if "*" in pattern else pattern in names


def total(counters: Mapping[str, int], pattern: str) -> int:
    """The sum of the counters whose name matches the pattern (`*` matches across dots)."""
    if "*" not in pattern:
        return counters.get(pattern, 0)
    return sum(number for name, number in counters.items() if fnmatchcase(name, pattern))


@dataclass(frozen=True)
class Measured:
    """The numbers of one region of one run that a figure is computed from.

    `clock` is in Hz, cycles are core cycles. `iterations` and `bytes` are of the whole region, `counters` are the
    region's, `run_counters` the whole run's. `values` are what the guest printed by `@value`, `samples` looks at TLB
    and hash table.
    """

    clock: int
    iterations: int
    bytes: int
    counters: Mapping[str, int]
    run_counters: Mapping[str, int]
    values: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Sample] = ()

    @property
    def seconds(self) -> float:
        """The region's time on the simulated machine, in seconds: not the cycles of several processors in sum."""
        return self.counters.get("elapsed", self.counters.get("cycles", 0)) / self.clock

    def _name(self, name: str) -> float:
        match name:
            case "us":
                return self.seconds * 1e6 / self.iterations
            case "ms":
                return self.seconds * 1e3 / self.iterations
            case "mb_s":
                return self.bytes / 1e6 / self.seconds
            case "iterations":
                return float(self.iterations)
            case _:
                return float(self.bytes)

    def _call(self, function: str, argument: str) -> float:
        match function:
            case "count":
                return float(total(self.counters, argument))
            case "each":
                return total(self.counters, argument) / self.iterations
            case "run":
                return float(total(self.run_counters, argument))
            case "evictions" | "victims":
                return float(self._polluted(argument, by=function == "evictions"))
            case "mean" | "most":
                return self._sampled(argument, function)
            case _:
                found = [value for name, value in self.values.items() if fnmatchcase(name, argument)]
                if not found and not self.values:
                    raise BadInput(
                        f"the guest printed no value, and so none of the name {argument!r}",
                        hint=f"every row has {', '.join(_NAMES)}, and each(...) of a counter",
                    )
                if not found:
                    raise unknown("value printed by the guest", argument, self.values)
                return sum(found)

    def _polluted(self, cause: str, *, by: bool) -> int:
        pairs = pollution(self.counters, "cache.data").items()
        return sum(
            count for (by_whom, whose), count in pairs if by_whom != whose and cause == (by_whom if by else whose)
        )

    def _sampled(self, name: str, function: str) -> float:
        counts = [sample.counts[name] for sample in self.samples if name in sample.counts]
        if not counts:
            raise unknown("count of the run's samples", name, {key for s in self.samples for key in s.counts})
        return float(max(counts)) if function == "most" else sum(counts) / len(counts)

    def compute(self, figure: Figure) -> float | None:
        """The figure; None if it divides by 0. BadInput if it names a value or a sample that the run does not have."""
        try:
            return self._evaluate(figure.tree)
        except ZeroDivisionError:
            return None

    def explaining(self, figure: Figure) -> Measured:
        """The numbers whose counters explain the figure: the whole run's, if it is of the run alone."""
        return replace(self, counters=self.run_counters, iterations=1) if figure.of_run else self

    def _evaluate(self, node: ast.expr) -> float:
        match node:
            case ast.Constant(value=number):
                return float(number)  # type: ignore[arg-type]
            case ast.Name(id=name):
                return self._name(name)
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=argument)]):
                return self._call(function, str(argument))
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self._evaluate(left), self._evaluate(right))
            case ast.UnaryOp(operand=operand):
                return -self._evaluate(operand)
        raise AssertionError(f"unchecked node {ast.dump(node)}")


@dataclass(frozen=True)
class Figure:
    """A parsed and checked expression: `text` as it was written, `tree` as Python parses it."""

    text: str
    tree: ast.expr

    @property
    def needs_guest(self) -> bool:
        """Whether it names what only a run tells to be there: a value that the guest prints, or a count of samples."""
        return any(function in _OF_GUEST for function, _ in _calls(self.tree))

    @property
    def of_run(self) -> bool:
        """Whether it is of the whole run, and of no region."""
        called = {function for function, _ in _calls(self.tree)}
        named = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        return called == named == {"run"}

    def check(self, architecture: Architecture) -> None:
        """Raises BadInput if it names a counter that no machine of the architecture has, which would be 0."""
        for function, name in _calls(self.tree):
            if function in _OF_COUNTERS and not _matches(name, _names_of(architecture.name)):
                raise BadInput(f"figure {self.text!r}: a machine of {architecture.name} has no counter {name!r}")

    @classmethod
    def parse(cls, text: str) -> Figure:
        """The expression that `text` holds; BadInput if it is none, or names something that is not allowed."""
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise BadInput(f"figure {text!r} is not an expression: {error.msg}") from None
        _check(text, tree)
        return cls(text, tree)


def _calls(tree: ast.expr) -> Iterator[tuple[str, str]]:
    """The functions of a checked expression, and what each is of."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(argument))]):
                yield function, argument


def _check_name(text: str, function: str, name: str) -> None:
    """Raises if the function is of counters, or of a cause, and there is none of that name: its figure would be 0."""
    if function in _OF_COUNTERS and not _matches(name, known_counters()):
        raise unknown(f"counter in figure {text!r}:", name, known_counters())
    if function in _OF_CAUSES and name not in _causes():
        raise unknown(f"cause in figure {text!r}:", name, _causes())


def _check(text: str, node: ast.expr) -> None:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float()):
            return
        case ast.Name(id=name):
            if name not in _NAMES:
                raise unknown(f"name in figure {text!r}:", name, _NAMES)
            return
        case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(argument))], keywords=[]):
            if function not in _FUNCTIONS:
                raise unknown(f"function in figure {text!r}:", function, _FUNCTIONS)
            _check_name(text, function, argument)
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(text, left)
            _check(text, right)
            return
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(text, operand)
            return
    raise BadInput(
        f"figure {text!r}: {ast.unparse(node)!r} is not allowed",
        hint=f"write + - * / over numbers, {', '.join(_NAMES)}, "
        + ", ".join(f'{function}("...")' for function in _FUNCTIONS),
    )
