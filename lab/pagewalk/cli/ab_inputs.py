"""`pagewalk ab --inputs`: what it tries, and what it says of it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from pagewalk import ab, machines
from pagewalk import inputs as machine_inputs
from pagewalk.ab import Plan
from pagewalk.cli import options
from pagewalk.cli.output import err, exact, out, say, table
from pagewalk.cli.sheet import Shown
from pagewalk.errors import WrongOption
from pagewalk.inputs import Variant
from pagewalk.robustness import Robustness, Tried
from pagewalk.workshop import Workshop


def variants(workshop: Workshop, plan: Plan) -> list[Variant]:
    """The variants of the machine, without keys that the person set; WrongOption if there are none.

    A variant that does not go with the person's keys is left out, and named.
    """
    machine = plan.machine
    found = machines.find(machine)
    made = machine_inputs.variants(found, {key for choice in plan.choices for key in choice.keys})
    if len(made) == 1:
        raise WrongOption(
            f"--inputs: {machine} has no table [inputs]"
            if not found.inputs
            else f"--inputs: --set gives every key that {machine} leaves open",
            hint="give the table the values that a key may have, the fastest first: [inputs] bus.read-first = [5, 12]",
        )
    with options.option("--inputs"):
        made, left_out = ab.fitting(workshop, plan, made)
    for name, reason in left_out.items():
        say(err, f"left out: {name}, as {reason}")
    return made


def _percent(share: float) -> str:
    return f"{share:+.1%}"


def _row(tried: Tried) -> list[str | Shown]:
    one, other = statistics.median(tried.first), statistics.median(tried.second)
    return [
        tried.variant.name,
        Shown(one, exact(one)),
        Shown(other, exact(other)),
        Shown(tried.change, _percent(tried.change)),
        tried.answer,
    ]


def sentence(compared: Robustness) -> str:
    """What all the variants say, in a sentence."""
    low, high = map(_percent, compared.change)
    apart = low if low == high else f"{low} to {high}"
    others = len(compared.tried) - 1
    if compared.first == compared.second:
        return f"{others} other choices of the inputs: the cycles change by {apart}"
    about = f"{compared.second} against {compared.first}: {compared.answer}"
    if compared.survives:
        return f"{about}. The answer survives {others} other choices of the inputs ({apart})"
    names = [f"{tried.answer} with {tried.variant.name}" for tried in compared.against]
    return f"{about}. The answer does not survive the inputs ({apart}): {', '.join(names)}"


def print_robustness(compared: Robustness) -> None:
    """The cycles of two combinations on every variant, and whether the answer is the same."""
    alone = compared.first == compared.second
    heads = ["file", "inputs"] if alone else ["first", "second"]
    title = "cycles with other inputs" if alone else f"first: {compared.first}; second: {compared.second}"
    columns = ["inputs of the machine", *(f">{head}" for head in heads), ">change", "answer"]
    out.print(table(title, columns, [_row(tried) for tried in compared.tried]))
    say(out, sentence(compared))


def _record(compared: Robustness) -> dict[str, object]:
    return {
        "survives": compared.survives,
        "answer": compared.answer,
        "change": compared.change,
        "tried": [
            {
                "name": tried.variant.name,
                "keys": tried.variant.keys,
                "first": tried.first,
                "second": tried.second,
                "change": tried.change,
                "answer": tried.answer,
            }
            for tried in compared.tried
        ],
    }


def with_inputs(records: Sequence[Mapping[str, object]], robust: Sequence[Robustness]) -> list[dict[str, object]]:
    """The records of the comparisons, each with what it is on other variants; of one combination, that alone."""
    if not robust:
        return [dict(record) for record in records]
    whole: Sequence[Mapping[str, object]] = records or [{"first": {"label": robust[0].first}}]
    return [{**record, "inputs": _record(compared)} for record, compared in zip(whole, robust, strict=True)]
