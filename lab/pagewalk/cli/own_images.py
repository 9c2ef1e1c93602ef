"""`--image ROLE=PATH`: the kernels that a person has for an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pagewalk import images
from pagewalk.cli import options
from pagewalk.cli.output import err, say
from pagewalk.errors import BadInput, WrongOption
from pagewalk.experiment_file import Wanted
from pagewalk.experiments import Experiment, Row

if TYPE_CHECKING:
    from pagewalk.images import Image

Images = Annotated[
    list[str] | None,
    typer.Option(
        "--image", help="A kernel image of your own by its role in the experiment, ROLE=PATH; may be given again."
    ),
]
Configurations = Annotated[
    list[str] | None,
    typer.Option(
        "--image-config", help="The .config that an image was built with, ROLE=PATH; the result keeps facts of it."
    ),
]


def chosen(found: Sequence[Experiment], words: list[str] | None, configurations: list[str] | None) -> dict[str, Image]:
    """The images by their roles, each of which some of the experiments must know and take."""
    wanted = {role: entry for experiment in found for role, entry in experiment.images.items()}
    with options.option("--image"):
        named = images.from_words(words or [], configurations or [], wanted)
    for role, image in named.items():
        for experiment in found:
            if role in experiment.images and (problem := images.wrong(image, experiment.images[role])):
                raise BadInput(f"the image for {role} of {experiment.name}: {problem}")
        if wanted[role].recorded and not image.configuration:
            say(err, f"{role}: its configuration is not known: --image-config {role}=PATH names its .config")
    _check_pairs(found, named)
    return named


def _check_pairs(found: Sequence[Experiment], named: Mapping[str, Image]) -> None:
    for experiment in found:
        for role, wanted in experiment.images.items():
            if wanted.pair is None or role not in named or wanted.pair not in named:
                continue
            if problem := images.differ(named[role], named[wanted.pair]):
                raise BadInput(
                    f"{role} and {wanted.pair} of {experiment.name} must differ in one switch alone: {problem}",
                    hint="build both from one source and one .config, with the switch changed",
                )


def _line(role: str, wanted: Wanted) -> str:
    needs = ", ".join(f"{option}={value}" for option, value in wanted.options.items())
    return f"--image {role}=PATH  {wanted.kernel}" + (f"; {needs}" if needs else "")


def needed(experiment: Experiment) -> str:
    """Which images the experiment wants, as lines."""
    lines = "\n    ".join(_line(role, wanted) for role, wanted in experiment.images.items())
    return f"name ELF images with symbols (vmlinux), all or some of these:\n    {lines}"


def runnable(
    experiment: Experiment, rows: Sequence[Row] | None, named: Mapping[str, Image], *, asked: bool
) -> Sequence[Row] | None:
    """The rows whose images are there; None for all rows of the experiment.

    Without any, an experiment that was asked for by its name is an error, and another is left out: an empty sequence.
    """
    if not experiment.images:
        return rows
    whole = experiment.rows if rows is None else rows
    left = [row for row in whole if set(row.images) <= set(named)]
    if not left and asked:
        raise WrongOption(f"{experiment.name} runs kernels that you must have: no image was named for its rows",
                          hint=needed(experiment))  # fmt: skip
    if len(left) < len(whole):
        missing = ", ".join(dict.fromkeys(role for row in whole for role in row.images if role not in named))
        say(err, f"{experiment.name}: {len(whole) - len(left)} of {len(whole)} rows are left out, without {missing}")
    return rows if len(left) == len(whole) else left
