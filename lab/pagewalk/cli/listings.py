"""`pagewalk machines | policies | experiments | claims`: the listings."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pagewalk import claims, claims_overview, experiments, machines, policies, programs, results_file, writing
from pagewalk import claims_page as claims_markdown
from pagewalk.claims import Claim
from pagewalk.cli import options
from pagewalk.cli.output import Json, err, out, print_json, say, table
from pagewalk.errors import BadInput, unknown
from pagewalk.paths import check_writable, home
from pagewalk.published_range import digits
from pagewalk.store import Store
from pagewalk.verdict import in_order

claims_app = typer.Typer(
    help="The published figures: list them, explain one, count what is reproduced.", no_args_is_help=True
)


def show_machines(as_json: Json = False) -> None:
    """List the simulated machines.

    Example: `pagewalk machines`
    """
    listed = machines.all_machines()
    if as_json:
        print_json(listed)
        return
    out.print(
        table(
            "Machines",
            ["name", "core", ">clock, MHz", "what it is"],
            ([m.name, m.core, f"{m.clock / 1e6:g}", m.description] for m in listed),
        )
    )


def show_programs(machine: options.Machine = options.DEFAULT_MACHINE, as_json: Json = False) -> None:
    """List the programs that are built already for a machine: `exec`, `profile` and `sweep` take them by name.

    Example: `pagewalk programs`, then `pagewalk exec -- hello`
    """
    listed = programs.names(machines.find(machine).architecture)
    if as_json:
        print_json(listed)
        return
    out.print(table("Programs", ["name"], ([name] for name in listed)))
    about = home().root / "user" / "bench" / "README.md"
    say(err, f"what each measures, and its arguments: {about}")


def _marked(policy: policies.Policy) -> list[str]:
    """The choices, the default marked where it is not the first."""
    first = policy.choices[0]
    return [f"{c} (default)" if c == policy.default != first else c for c in policy.choices]


def show_policies(machine: options.Machine = options.DEFAULT_MACHINE, as_json: Json = False) -> None:
    """List the policies of a machine's kernel, their choices and what each does.

    Examples: `pagewalk policies`, `pagewalk policies -m i486dx-50`
    """
    architecture = machines.find(machine).architecture
    listed = list(policies.all_policies(architecture).values())
    if as_json:
        print_json(listed)
        return
    out.print(
        table(
            f"Policies, {architecture.name}",
            ["name", "choices", "paper", "what it decides"],
            ([p.name, "\n".join(_marked(p)), f"{p.about.document} {p.about.section}", p.about.summary] for p in listed),
        )
    )


def show_experiments(as_json: Json = False) -> None:
    """List the experiments: each reproduces a published table or section.

    Example: `pagewalk experiments`
    """
    listed = [experiment for name in experiments.names() for experiment in experiments.find(name)]
    if as_json:
        print_json(
            [
                {
                    "name": e.name,
                    "title": e.title,
                    "document": e.document,
                    "section": e.section,
                    "machines": e.machines,
                    "claims": e.claims,
                }
                for e in listed
            ]
        )
        return
    out.print(
        table(
            "Experiments",
            ["name", "section", "title", ">claims", "machines"],
            ([e.name, e.section, e.title, str(len(e.claims)), ", ".join(e.machines)] for e in listed),
        )
    )


def _figures(numbers: tuple[float, ...]) -> str:
    return ", ".join(map(digits, numbers))


@claims_app.command("list")
def list_claims(
    document: Annotated[str | None, typer.Argument(help="Only the figures of this paper, as in osdi99.")] = None,
    as_json: Json = False,
) -> None:
    """List the published figures.

    Example: `pagewalk claims list osdi99`
    """
    listed = claims.of_document(document) if document else list(claims.all_claims().values())
    if as_json:
        print_json(listed)
        return
    out.print(
        table(
            "Claims",
            ["id", "section", "what", ">without", ">with", ">ratio", "kind"],
            (
                [
                    c.id,
                    c.section,
                    c.metric or c.unit,
                    _figures(c.baseline),
                    _figures(c.value),
                    "" if c.ratio is None else f"{c.ratio:g}",
                    c.kind,
                ]
                for c in listed
            ),
        )
    )


def _held_by(claim: Claim) -> list[str]:
    found = [experiment for name in experiments.names() for experiment in experiments.find(name)]
    return [experiment.name for experiment in found if claim.id in experiment.claims]


@claims_app.command("explain")
def explain_claim(
    claim_id: Annotated[
        str, typer.Argument(help="A claim's id, as in osdi99.table2.604-185.", autocompletion=options.complete_claim)
    ],
    as_json: Json = False,
) -> None:
    """Explain a published figure: what it measures, where it is printed, which experiment reproduces it.

    Example: `pagewalk claims explain osdi99.table2.604-185`
    """
    claim = claims.claim(claim_id)
    held = _held_by(claim)
    if as_json:
        print_json({"claim": claim, "experiments": held})
        return
    kinds = {
        "measured": "the authors' own measurement; an experiment reproduces it",
        "constant": "a hardware cost that the paper states; the machine is calibrated with it",
        "open": "a question that the paper leaves open; an experiment answers it",
    }
    lines = [
        ("claim", claim.id),
        ("paper", claim.document.citation),
        ("section", claim.section),
        ("machine", claim.machine),
        ("workload", claim.workload),
        ("measured", claim.metric),
        ("policy", claim.policy),
        ("against", claim.against),
        ("unit" if not claim.is_row else "columns", claim.unit),
        ("without it", _figures(claim.baseline)),
        ("with it", _figures(claim.value)),
        ("ratio", "" if claim.ratio is None else f"{claim.ratio:g}"),
        ("kind", f"{claim.kind}: {kinds[claim.kind]}"),
        ("recalled", "from memory of the paper; no copy at hand confirms the figures" if claim.recalled else ""),
        ("note", claim.note),
        ("experiments", ", ".join(held) or "none"),
    ]
    out.print(table("", ["", ""], ([name, text] for name, text in lines if text)))


def _draw(store: Store, papers: Sequence[str], path: Path) -> None:
    from pagewalk.report import plots  # noqa: PLC0415 - the plots are slow to import

    ours = [cell for paper in papers for _, cell in claims_markdown.measured_rows(store, paper)]
    plots.of_claims(ours, [row for paper in papers for _, row in claims_markdown.own_rows(paper)]).save(path)
    say(err, f"wrote {path}")


@claims_app.command("count")
def count_claims(
    document: Annotated[str | None, typer.Argument(help="Only this paper, as in osdi99.")] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            help="Leave out rows on this machine, and claims of such rows alone; * and ? are wildcards; "
            "may be given again.",
            autocompletion=options.complete_machine,
        ),
    ] = None,
    plot: options.Plot = None,
    as_json: Json = False,
) -> None:
    """Count the claims, and the published figures, by the class of their verdicts.

    A claim may hold several figures. It is reproduced in part if some of its rows are reproduced and others are not.
    The second table takes the stronger class of our kernel and of the papers' own kernels, where these were measured.

    With --plot, a line for each published change: how much of it our kernel shows, and the paper's own kernel.

    Examples: `pagewalk claims count osdi99`, `pagewalk claims count --without 'ppc970*'`,
    `pagewalk claims count osdi99 --plot osdi99.svg`
    """
    known = machines.names()
    for pattern in without or ():
        if not any(fnmatchcase(name, pattern) for name in known):
            raise unknown("machine", pattern, known)
    papers = [document] if document else list(dict.fromkeys(c.document.id for c in claims.all_claims().values()))
    with results_file.opened(read_only=True, notify=partial(say, err)) as store, store.reading():
        counts = {paper: claims_markdown.count(store, paper, without or ()) for paper in papers}
        if plot is not None:
            _draw(store, papers, plot)
    if as_json:
        print_json(
            {
                p: {
                    "claims": dict(c.claims),
                    "shown": dict(c.shown),
                    "figures": dict(c.figures),
                    "placements": c.placements,
                    "without": without or [],
                }
                for p, c in counts.items()
            }
        )
        return
    for title, parts in (
        ("Claims by class, our kernel", {paper: dict(c.claims) for paper, c in counts.items()}),
        ("Claims by class, our kernel or the papers' own", {paper: dict(c.shown) for paper, c in counts.items()}),
        ("Published figures by class", {paper: dict(c.figures) for paper, c in counts.items()}),
    ):
        lines = (
            [
                name,
                *(str(part.get(name, 0)) for part in parts.values()),
                str(sum(p.get(name, 0) for p in parts.values())),
            ]
            for name in in_order(name for part in parts.values() for name in part)
        )
        out.print(table(title, ["class", *(f">{paper}" for paper in papers), ">all"], lines))


@claims_app.command("page")
def claims_page(
    document: Annotated[
        str | None, typer.Argument(help="The page: a paper, as in osdi99; all; or pagewalk for our own experiments.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write instead.")] = None,
    as_json: Json = False,
) -> None:
    """Write a paper's page in Markdown: every claim with our result. Without an argument, list the pages.

    Example: `pagewalk claims page osdi99 -o docs/osdi99.md`
    """
    if document is None:
        known = claims_markdown.documents()
        if as_json:
            print_json(known)
        else:
            out.print(table("Pages", ["document", "title"], ([name, title] for name, title in known.items())))
        return
    with results_file.opened(read_only=True, notify=partial(say, err)) as store, store.reading():
        whole = document == claims_markdown.ALL
        page = claims_overview.build(store) if whole else claims_markdown.build(store, document)
    if output is not None:
        writing.write(output, page)
    if as_json:
        print_json({"document": document, "page": page})
    elif output is None:
        print(page, end="")


@claims_app.command("pages")
def claims_pages(
    folder: Annotated[Path, typer.Argument(help="The folder that gets the pages and pictures, as in docs.")],
    readme: Annotated[
        Path | None, typer.Option("--readme", help="Also renew the line with the counts in this file.")
    ] = None,
) -> None:
    """Write every page that is made from results, and the pictures in them, all from the same results.

    Example: `pagewalk claims pages docs --readme README.md`
    """
    from pagewalk import pages  # noqa: PLC0415 - the plots are slow to import

    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder", hint="make it first")
    with results_file.opened(read_only=True, notify=partial(say, err)) as store, store.reading():
        if readme is not None:
            check_writable(readme)
            pages.count_in(readme, store)
        written = pages.write(store, folder)
    say(out, f"wrote {len(written)} files in {folder}")


def register(app: typer.Typer) -> None:
    """Adds the listing commands."""
    app.command("machines")(show_machines)
    app.command("policies")(show_policies)
    app.command("programs")(show_programs)
    app.command("experiments")(show_experiments)
    app.add_typer(claims_app, name="claims")
