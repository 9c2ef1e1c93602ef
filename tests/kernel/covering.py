"""Covering arrays: rows of choices in which every pair of choices occurs. All combinations would be too many rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

Choices = dict[str, list[str]]

# The names and values of two factors. Each policy is a factor, and so is the machine.
Pair = frozenset[tuple[str, str]]
MACHINE = "machine"

# How many starting pairs are tried for a row on each machine; the best row is kept. More would not save a row.
STARTS = 8


def covering(machines: dict[str, Choices]) -> list[dict[str, str]]:
    """Rows, each with a machine and one choice for each policy, by name. The first row has the first machine's first
    choices. Two choices of different policies occur together in a row if some machine has both. Each machine occurs
    with each of its own choices.

    `machines`: the choices of each machine; all machines have the same policies.
    """
    factors = [{MACHINE: [name], **choices} for name, choices in machines.items()]
    left = set().union(*map(_pairs, factors))
    rows = [{name: values[0] for name, values in factors[0].items()}]
    while left := left - _held(rows[-1]):
        candidates = [row for values in factors for row in _rows(values, left)]
        rows.append(max(candidates, key=lambda row: len(_held(row) & left)))
    return rows


def _rows(factors: Choices, left: set[Pair]) -> Iterator[dict[str, str]]:
    """Rows that each start with a pair of `left`. Each value added is the one that forms the most new pairs."""
    pairs = sorted(map(sorted, left & _pairs(factors)))
    for pair in pairs[:: max(1, len(pairs) // STARTS)]:
        row = dict(pair)
        for name, values in factors.items():
            if name not in row:
                row = max(({**row, name: value} for value in values), key=lambda row: len(_held(row) & left))
        yield {name: row[name] for name in factors}


def _held(row: dict[str, str]) -> set[Pair]:
    return {frozenset(pair) for pair in combinations(row.items(), 2)}


def _pairs(factors: Choices) -> set[Pair]:
    values = [(name, value) for name, values in factors.items() for value in values]
    return {frozenset(pair) for pair in combinations(values, 2) if pair[0][0] != pair[1][0]}
