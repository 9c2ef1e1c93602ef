"""The kernel's policies: names and choices from the kernel image, and what each should move from `policies.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from pagewalk import architectures, kernel_image
from pagewalk.architectures import POWERPC, Architecture
from pagewalk.errors import BadInput, NotBuilt, nearest, unknown


@dataclass(frozen=True)
class Description:
    """What a person needs to know about a policy.

    `causes` are the causes of cycles that it acts on, `rows` the benchmark rows that it should move. `values` are
    numbers printed by the guest that tell what it did: their names, to be summed, by the words for them.
    """

    document: str = ""
    section: str = ""
    summary: str = ""
    causes: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(entry: Mapping[str, Any]) -> Description:
        """The description that a table of `policies.toml` holds. TypeError if it has a key that is none of these.

        The file is the package's, so no model checks it: a test does.
        """
        lists = {key: tuple(entry[key]) for key in ("causes", "rows") if key in entry}
        values = {words: tuple(names) for words, names in entry.get("values", {}).items()}
        return Description(**{**entry, **lists, "values": values})


@dataclass(frozen=True)
class Policy:
    """One kernel policy; the first choice is the original kernel's, `default` is often the same.

    A choice is a word, or ends in a name in angle brackets (`<pages>`, `scatter:<multiplier>`), which
    stands for a whole number.
    """

    name: str
    choices: tuple[str, ...]
    when: str
    counter: str
    about: Description
    default: str

    def accepts(self, value: str) -> bool:
        """Whether `value` is one of the choices."""
        return any(re.fullmatch(re.sub(r"<[a-z]+>", "[0-9]+", re.escape(choice)), value) for choice in self.choices)

    def check(self, value: str) -> str:
        """`value` if it is one of the choices; else BadInput with the choices."""
        if self.accepts(value):
            return value
        close = nearest(value, self.choices)
        raise BadInput(
            f"policy {self.name} has no choice {value!r}",
            hint=(f"did you mean {close!r}? " if close else "") + "choices: " + ", ".join(self.choices),
        )


@cache
def descriptions() -> Mapping[str, Description]:
    """What is said about each policy, by its name."""
    text = resources.files("pagewalk").joinpath("policies.toml").read_text(encoding="utf-8")
    return {name: Description.of(entry) for name, entry in tomllib.loads(text).items()}


@cache
def all_policies(architecture: Architecture = POWERPC) -> Mapping[str, Policy]:
    """Every policy of the kernel that the build has made for an architecture, by its name."""
    image = architecture.built(architecture.kernel, "the kernel").read_bytes()
    about = descriptions()
    return {
        found.name: Policy(
            found.name, found.choices, found.when, found.counter, about.get(found.name, Description()), found.default
        )
        for found in kernel_image.policies(image)
    }


def _has(architecture: Architecture, name: str) -> bool:
    try:
        return name in all_policies(architecture)
    except NotBuilt:
        return False


def policy(name: str, architecture: Architecture = POWERPC) -> Policy:
    """The policy of that name of an architecture's kernel; an unknown one is refused with the nearest suggested."""
    known = all_policies(architecture)
    if name in known:
        return known[name]
    for other in architectures.ALL:
        if _has(other, name):
            raise BadInput(
                f"policy {name} is one of the kernel for {other.name}, and not of that for {architecture.name}",
                hint="pagewalk policies -m MACHINE lists what a machine's kernel has",
            )
    raise unknown("policy", name, known, listing="pagewalk policies")


def checked(settings: Mapping[str, str], architecture: Architecture = POWERPC) -> dict[str, str]:
    """The settings, each name and value checked, in the order given."""
    return {name: policy(name, architecture).check(value) for name, value in settings.items()}


NAMED = "set"
"""What stands in settings for a named set: its name is the value."""


@cache
def named_sets() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """The named sets of policies: for each name, the policies of each core."""
    sets: dict[str, dict[str, dict[str, str]]] = tomllib.loads(
        resources.files("pagewalk").joinpath("policy_sets.toml").read_text(encoding="utf-8")
    )
    return {
        name: {core: policies for cores, policies in tables.items() for core in cores.split()}
        for name, tables in sets.items()
    }


def expanded(settings: Mapping[str, str], core: str) -> dict[str, str]:
    """The settings with the policies of a named set in the set's place; what is set by itself wins."""
    if NAMED not in settings:
        return dict(settings)
    name = settings[NAMED]
    if name not in named_sets():
        raise unknown("named set of policies", name, named_sets())
    if core not in named_sets()[name]:
        raise BadInput(f"the set {name!r} has no policies for the core {core}")
    return {**named_sets()[name][core], **{key: value for key, value in settings.items() if key != NAMED}}


def parse_words(words: Iterable[str], architecture: Architecture = POWERPC) -> dict[str, str]:
    """Policies from `name=value` words, checked; a word alone is a named set, whose policies depend on the core."""
    settings: dict[str, str] = {}
    chosen: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            settings[name] = value
        elif name in named_sets():
            chosen = {NAMED: name}
        else:
            raise BadInput(
                f"{word!r} is not a policy setting",
                hint=f"write name=value, as in tlb.cutoff=20, or a named set: {', '.join(named_sets())}",
            )
    return {**chosen, **checked(settings, architecture)}
