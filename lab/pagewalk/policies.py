"""The kernel's policies as the lab knows them: names, choices, and what each should move.

The kernel is the authority on what it accepts; `policies.toml` adds the words a person needs, and
lets a misspelt policy be refused before anything boots.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pagewalk.errors import BadInput, unknown


@dataclass(frozen=True)
class Policy:
    """One kernel policy.

    A choice is a word, or a pattern: `<pages>` and `scatter:<multiplier>` stand for a positive
    whole number in the place of the angle brackets.
    """

    name: str
    choices: tuple[str, ...]
    document: str
    section: str
    summary: str
    causes: tuple[str, ...]
    rows: tuple[str, ...]

    def check(self, value: str) -> str:
        """`value` if it is one of the choices; else BadInput with the choices."""
        for choice in self.choices:
            pattern = re.sub(r"<[a-z\\-]+>", "[1-9][0-9]*", re.escape(choice))
            if re.fullmatch(pattern, value):
                return value
        raise BadInput(f"policy {self.name} has no choice {value!r}", hint="choices: " + ", ".join(self.choices))


@cache
def all_policies() -> Mapping[str, Policy]:
    """Every policy by its name, in the documents' order."""
    text = resources.files("pagewalk").joinpath("policies.toml").read_text(encoding="utf-8")
    return {
        entry["name"]: Policy(
            name=entry["name"],
            choices=tuple(entry["choices"]),
            document=entry["document"],
            section=entry["section"],
            summary=entry["summary"],
            causes=tuple(entry["causes"]),
            rows=tuple(entry["rows"]),
        )
        for entry in tomllib.loads(text)["policy"]
    }


def policy(name: str) -> Policy:
    """The policy of that name; an unknown one is refused with the nearest suggested."""
    known = all_policies()
    if name not in known:
        raise unknown("policy", name, known, listing="pagewalk policies")
    return known[name]


def checked(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings, each name and value checked, in the order given."""
    return {name: policy(name).check(value) for name, value in settings.items()}


def parse_words(words: Iterable[str]) -> dict[str, str]:
    """Policies from `name=value` words, checked."""
    settings: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadInput(f"{word!r} is not a policy setting", hint="write name=value, as in tlb.cutoff=20")
        settings[name] = value
    return checked(settings)
