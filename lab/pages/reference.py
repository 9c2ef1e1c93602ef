"""The reference pages of the site, made from the code that they describe; mkdocs-gen-files runs this script."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import mkdocs_gen_files
import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from pagewalk import claims, experiments, machines, policies
from pagewalk.cli.app import whole
from pagewalk.paths import home

STYLE = """.md-grid { max-width: 70rem; }
.md-typeset table:not([class]) :is(th, td) { min-width: 0; padding: .5em .3em; }
.md-typeset table:not([class]) td:nth-last-child(-n+4) { min-width: 5em; overflow-wrap: anywhere; }
.md-typeset table:not([class]) td code { white-space: nowrap; font-size: .78em; padding: 0 .1em; }
@media print, (max-width: 87.4em) {
  .md-typeset table:not([class]) td:nth-last-child(-n+4) { min-width: 0; }
  .md-typeset table:not([class]) { table-layout: auto; }
  .md-typeset table:not([class]) td code { white-space: normal; }
  .md-typeset table:not([class]) :is(th, td) { padding: .4em .3em; }
  .md-typeset table:not([class]) td { overflow-wrap: anywhere; }
}
@media screen and (max-width: 45em) {
  .md-typeset table:not([class]) :is(th, td) { overflow-wrap: anywhere; padding: .3em .15em; font-size: .5rem; }
}
@media print, (max-width: 45em) { .md-typeset pre > code { white-space: pre-wrap; } }
"""
"""No table is wider than its page, since a verdict stands in its last column: keys are broken where there is no room,
and the names of counters in its last columns are.
Long commands are broken on paper and on a phone."""
GENERATED = "Made from {} when the site is built."


def _cell(text: object) -> str:
    """Text within a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    names = list(heads)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines) + "\n"


def command() -> str:
    """Every command with its options, as `--help` has them."""
    top = get_command(whole())
    return get_docs_for_click(obj=top, ctx=typer.Context(top, info_name="pagewalk"), name="pagewalk")


def python() -> str:
    """The Python API; mkdocstrings fills it in."""
    return f"# Python\n\n{GENERATED.format('`lab/pagewalk/api.py` and `observe.py`')}\n\n" + "".join(
        f"::: pagewalk.{name}\n\n" for name in ("api.Laboratory", "api.Result", "api.Benchmark", "observe.Observer")
    )


# The words of the configuration's structures in Rust.
_STRUCT = re.compile(r"((?:^///[^\n]*\n)*)(?:^#\[[^\n]*\n)*^pub struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"((?:^ +///.*\n)*)(?:^ +#\[.*\]\n)*^ +pub (\w+): ([^\n]+),$", re.MULTILINE)


def _words(comment: str) -> str:
    return " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())


def structures() -> dict[str, list[tuple[str, str, str]]]:
    """Each structure of a machine's configuration: its fields with name, type and comment.

    A field without a comment has its structure's.
    """
    found = {}
    for path in sorted((home().root / "machine" / "src" / "config").glob("*.rs")):
        for about, name, body in _STRUCT.findall(path.read_text(encoding="utf-8")):
            found[name] = [
                (field.replace("_", "-"), re.sub(r"^Option<(.*)>$", r"\1", kind), _words(comment) or _words(about))
                for comment, field, kind in _FIELD.findall(body)
            ]
    return found


def key_words() -> Mapping[str, str]:
    """What each key of a machine file means, where the code has a comment on it."""
    known = structures()

    def walk(name: str, prefix: str) -> Iterator[tuple[str, str]]:
        for field, kind, comment in known[name]:
            if kind in known:
                yield from walk(kind, f"{prefix}{field}.")
            yield prefix + field, comment

    return dict(walk("MachineConfig", ""))


def _values(raw: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from _values(value, f"{prefix}{key}.")
        else:
            text = hex(value) if key == "pvr" else str(value)
            yield prefix + key, text.lower() if isinstance(value, bool) else text


def machine_keys() -> str:
    """Every key of the machine files, with its meaning and its values."""
    about = key_words()
    values: dict[str, dict[str, list[str]]] = {}
    for name in machines.names():
        raw = tomllib.loads((home().machines / f"{name}.toml").read_text(encoding="utf-8"))
        for key, value in _values(raw):
            values.setdefault(key, {}).setdefault(value, []).append(name)
    named = {*values, *about}
    for key in about:
        if not any(other.startswith(f"{key}.") for other in named):
            values.setdefault(key, {})
    del values["description"]
    text = f"# Machine keys\n\n{GENERATED.format('`machine/src/config` and `machines/*.toml`')}\n"
    text += "A comment beside each key in the machine file names the source of its value.\n"
    groups: dict[str, list[str]] = {}
    for key in values:
        groups.setdefault(key.split(".", 1)[0] if "." in key else "At the top of the file", []).append(key)
    for group, keys in groups.items():
        rows = (
            (
                f"`{key}`",
                about.get(key, "") or about.get(key.rsplit(".", 1)[0], ""),
                "; ".join(
                    value if len(values[key]) == 1 else f"{value}: {', '.join(names)}"
                    for value, names in values[key].items()
                )
                or "in no file that ships",
            )
            for key in keys
        )
        text += f"\n## {group}\n\n{table(('key', 'meaning', 'values'), rows)}"
    return text


_COUNTER = re.compile(r"((?:^ +///.*\n)*)(?:^ +#\[.*\]\n)*^ +\w+ = \"([^\"]+)\",$", re.MULTILINE)
_LISTS = (
    (
        "Event",
        "Events split by mode and cost category",
        "Each gives a total under its name, `.user` and `.kernel` by mode, and `.cause.<category>`.",
    ),
    ("Plain", "Events without a split", ""),
)


def counters() -> str:
    """Every counter of the machine, with its meaning."""
    source = (home().root / "machine" / "src" / "account" / "counters.rs").read_text(encoding="utf-8")
    interfaces = (home().root / "docs" / "interfaces.md").read_text(encoding="utf-8")
    text = f"# Counters\n\n{GENERATED.format('`machine/src/account/counters.rs` and `docs/interfaces.md`')}\n"
    causes = re.findall(r"^\| \d+ \| (\w+) \| (.+) \|$", interfaces, re.MULTILINE)
    assert len(causes) > 10, "interfaces.md has no list of causes"
    words = "The last part of a counter's name, after `.cause.`. A guest can name further ones."
    rows = ((f"`{name}`", about) for name, about in causes)
    text += f"\n## Cost categories\n\n{words}\n\n{table(('name', 'set by'), rows)}"
    for name, title, words in _LISTS:
        found = re.search(rf"    {name}, [A-Z]+ \{{\n(.*?)^    \}}", source, re.MULTILINE | re.DOTALL)
        assert found, f"counters.rs has no list {name}"
        rows = ((f"`{counter}`", _words(comment).replace("\\", "")) for comment, counter in _COUNTER.findall(found[1]))
        text += f"\n## {title}\n\n{words}\n\n{table(('name', 'what is counted'), rows)}"
    exceptions = (home().root / "machine" / "src" / "powerpc" / "exception.rs").read_text(encoding="utf-8")
    vectors = re.findall(r'^    \w+ 0x([0-9a-f]{4}) "[^"]+" "([^"]+)",$', exceptions, re.MULTILINE)
    rows = ((f"`exception.{name}`", f"0x{vector}") for vector, name in vectors)
    return text + f"\n## Exceptions\n\n{table(('name', 'vector'), rows)}"


def policy_list() -> str:
    """Every policy with its choices."""
    text = f"# Policies\n\n{GENERATED.format('the kernel image and `lab/pagewalk/policies.toml`')}\n"
    text += "The first choice is the plain or original form. [More about them](../policies.md).\n\n"
    rows = (
        (
            f"`{policy.name}`",
            ", ".join(f"`{choice}`" for choice in policy.choices),
            f"`{policy.default}`",
            policy.when,
            f"{policy.about.document} {policy.about.section}",
            policy.about.summary,
        )
        for policy in policies.all_policies().values()
    )
    return text + table(("policy", "choices", "default", "may change", "paper", "what it decides"), rows)


def _figures(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def claim_list() -> str:
    """Every published figure."""
    text = f"# Claims\n\n{GENERATED.format('`lab/pagewalk/published/*.toml`')}\n"
    for document in sorted(claims.documents()):
        listed = claims.of_document(document)
        rows = (
            (f"`{c.id}`", c.section, c.metric or c.unit, c.unit, _figures(c.baseline), _figures(c.value), c.kind)
            for c in listed
        )
        heads = ("id", "section", "what", "unit", "before", "after", "kind")
        text += f"\n## {document}\n\n{listed[0].document.citation}\n\n{table(heads, rows)}"
    return text


def experiment_list() -> str:
    """Every experiment."""
    found = [experiment for name in experiments.names() for experiment in experiments.find(name)]
    rows = ((f"`{e.name}`", f"{e.document} {e.section}", e.title, ", ".join(e.machines)) for e in found)
    text = f"# Experiments\n\n{GENERATED.format('`experiments/*.toml`')} `pagewalk run NAME` runs one.\n\n"
    return text + table(("name", "paper", "title", "machines"), rows)


def moved(path: str, place: str) -> str:
    """A page of the checkout outside of `docs/`, with the links that it needs at its place on the site."""
    text = (home().root / path).read_text(encoding="utf-8")
    up = "../" * (place.count("/") + 1)
    folder = str(Path(path).parent)
    base = up if folder == "." else f"{up}{folder}/"
    return re.sub(r"(?<=\]\()(?![a-z]+:|#)([^()\s]+)(?=\))", lambda link: _short(base + link[1], place), text)


def _short(path: str, place: str) -> str:
    """A link from a moved page: into `docs/` it is relative to the page."""
    parts: list[str] = []
    for part in ("docs/" + str(Path(place).parent) + "/" + path).split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    whole = "/".join(parts)
    up = "../" * place.count("/")
    return up + whole.removeprefix("docs/") if whole.startswith("docs/") else f"{up}../{whole}"


def pages() -> dict[str, str]:
    """Every generated page by its place below `docs/`, and the style sheet."""
    return {
        "site.css": STYLE,
        "reference/command.md": command(),
        "reference/python.md": python(),
        "reference/machine-keys.md": machine_keys(),
        "reference/counters.md": counters(),
        "reference/policies.md": policy_list(),
        "reference/claims.md": claim_list(),
        "reference/experiments.md": experiment_list(),
        "reference/benchmarks.md": moved("user/bench/README.md", "reference/benchmarks.md"),
        "project/changelog.md": moved("CHANGELOG.md", "project/changelog.md"),
        "project/contributing.md": moved("CONTRIBUTING.md", "project/contributing.md"),
    }


if __name__ == "<run_path>":
    for place, text in pages().items():
        with mkdocs_gen_files.open(place, "w") as stream:
            stream.write(text)
