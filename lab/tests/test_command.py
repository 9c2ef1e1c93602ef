"""The command as a person uses it: what it prints, and its exit status."""

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.main import get_command
from typer.testing import CliRunner

from pagewalk.cli.app import PARTS, whole
from pagewalk.cli.next_steps import quoted
from pagewalk.cli.output import digits
from pagewalk.cli.sheet import Sheet, Shown

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


def pagewalk(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


COMMANDS = tuple(name for commands in PARTS.values() for name in commands)
LOADED = """
import sys
sys.argv = ["pagewalk", *sys.argv[1:]]
from pagewalk.entry import main
try:
    main()
finally:
    from pagewalk.later import waits
    print(*(name for name in sys.modules if not waits(name)), file=sys.stderr)
"""
HEAVY = {
    "asyncio", "distributed", "duckdb", "elftools", "jinja2", "perfetto", "textual", "vl_convert",
    "pagewalk.report", "pagewalk.results_file",
}  # fmt: skip
"""What no command needs to say what it can do."""
OF_TABLES = {"pydantic", "rich.console", "rich.markdown", "rich.progress"}
OF_LAB = {
    "pagewalk.claims", "pagewalk.execute", "pagewalk.experiments", "pagewalk.place", "pagewalk.subjects",
    "pagewalk.sweep",
}  # fmt: skip


def told(*words: str, **environment: str) -> tuple[set[str], set[str]]:
    """The words that the command prints, and the modules that it has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return set(done.stdout.split()), set(done.stderr.splitlines()[-1].split())


def loaded(*words: str, **environment: str) -> set[str]:
    """The modules that the command has loaded at its end."""
    return told(*words, **environment)[1]


def _commands(app: typer.Typer) -> dict[str, Any]:
    group: Any = get_command(app)
    return dict(group.commands)


def test_the_help_lists_every_command_as_it_names_itself() -> None:
    listed = {command.name: command for command in _commands(whole()).values()}
    sentences = {name: text for commands in PARTS.values() for name, text in commands.items()}
    own = {name: " ".join((command.help or "").split("\n\n")[0].split()) for name, command in listed.items()}
    assert sentences == own


@pytest.mark.parametrize("module", PARTS)
def test_a_module_registers_the_commands_that_are_looked_up_in_it(module: str) -> None:
    assert set(_commands(whole(module))) == set(PARTS[module])


@pytest.mark.parametrize("words", [["--version"], ["--help"], [], ["nothing"]])
def test_a_line_without_a_command_loads_none(words: list[str]) -> None:
    found = loaded(*words)
    assert not found & (HEAVY | OF_LAB | {"rich.progress", "pagewalk.cli.guest", "pagewalk.cli.options"})
    if words == ["--version"]:
        assert not found & OF_TABLES


@pytest.mark.parametrize("module", PARTS)
def test_the_help_of_a_command_loads_nothing_heavy(module: str) -> None:
    assert not loaded(next(iter(PARTS[module])), "--help") & HEAVY


@pytest.mark.built
def test_a_run_loads_what_it_uses_alone(tmp_path: Path) -> None:
    found = loaded("exec", "--", "hello", PAGEWALK_RESULTS=str(tmp_path / "results.duckdb"))
    assert {"duckdb", "pagewalk.results_file"} <= found
    heavy = HEAVY | OF_LAB | {"pydantic", "rich.markdown", "rich.progress"}
    assert not found & (heavy - {"duckdb", "pagewalk.results_file"})


@pytest.mark.parametrize(
    ("line", "word", "without"),
    [
        ("pagewalk mach", "machines", {"pagewalk.cli.guest", "pagewalk.cli.options", "rich.console"}),
        ("pagewalk exec --kern", "--kernel", {"pagewalk.policies", "pagewalk.native"}),
        ("pagewalk exec -m ppc604-18", "ppc604-185", {"pagewalk.policies", "pagewalk.native"}),
        ("pagewalk run osdi99-table", "osdi99-table2", set()),
    ],
)
def test_a_shell_completes_names_and_options(line: str, word: str, without: set[str]) -> None:
    asked = {"_PAGEWALK_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    offered, modules = told(**asked)
    assert word in offered
    assert not modules & (HEAVY | without)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    subcommand = {"claims": ["list"], "tune": ["vsid"]}.get(name, [])
    done = CliRunner().invoke(whole(), [name, *subcommand, "--help"])
    assert done.exit_code == 0
    assert " ".join(["pagewalk", name, *subcommand]) in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [["machines"], ["experiments"], ["claims", "list"], ["claims", "list", "osdi99"]],
)
def test_listings_print_json(arguments: Sequence[str]) -> None:
    done = pagewalk(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), list)


def test_a_claim_is_explained() -> None:
    done = pagewalk("claims", "explain", "osdi99.table2.604-185")
    assert done.returncode == 0
    assert "osdi99-table2" in done.stdout


def test_a_wrong_name_ends_with_status_126_and_the_nearest() -> None:
    done = pagewalk("claims", "explain", "osdi99.tabel2.604-185")
    assert done.returncode == 126
    assert "did you mean 'osdi99.table2.604-185'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_is_json_too_when_asked_for() -> None:
    done = pagewalk("claims", "explain", "nothing", "--json")
    assert done.returncode == 126
    assert json.loads(done.stdout)["status"] == 126


def test_a_wrong_option_is_a_usage_error() -> None:
    assert pagewalk("machines", "--jsn").returncode == 2


@pytest.mark.parametrize("option", [["dump", "--region"], ["dump", "--at"], ["exec", "--limit"], ["exec", "--at"]])
def test_numbers_beyond_the_machine_are_usage_errors(option: Sequence[str]) -> None:
    done = CliRunner().invoke(whole(), [*option, str(2**64), "--", "hello"])
    assert done.exit_code == 2
    assert "not in the range" in " ".join(done.stderr.split())


def test_tables_are_printed_as_csv_and_as_markdown() -> None:
    rows = pagewalk("machines", "--csv").stdout.splitlines()
    assert rows[0] == 'name,core,"clock, MHz",what it is'
    assert len(rows) == len(pagewalk("machines", "--markdown").stdout.splitlines()) - 3
    refused = pagewalk("machines", "--csv", "--markdown")
    assert (refused.returncode, "exclude each other" in refused.stderr) == (2, True)


def test_numbers_in_csv_have_all_digits_and_no_separators() -> None:
    sheet = Sheet("t", ("a", ">n", ">m"), (("x|y", "1,234,567", Shown(0.123456, "0.123")),))
    assert sheet.written("csv") == "a,n,m\nx|y,1234567,0.123456\n"
    assert sheet.written("markdown") == "**t**\n\n| a | n | m |\n| --- | ---: | ---: |\n| x\\|y | 1,234,567 | 0.123 |\n"


@pytest.mark.parametrize("width", [40, 80, 300])
def test_no_cell_is_cut_whatever_the_width(width: int) -> None:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    words = [f"word{n}" * 6 for n in range(6)]
    console.print(Sheet("title", tuple("abcdef"), (tuple(words), tuple("123456"))))
    assert isinstance(console.file, io.StringIO)
    printed = console.file.getvalue()
    assert max(map(len, printed.splitlines())) <= width
    assert all(word in printed for word in words)


def test_a_table_in_a_pipe_is_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    widest = max(map(len, pagewalk("machines").stdout.splitlines()))
    for columns, least, most in (("80", 40, 80), ("0", widest, widest), ("x", widest, widest), ("²", widest, widest)):
        monkeypatch.setenv("COLUMNS", columns)
        assert least <= max(map(len, pagewalk("machines").stdout.splitlines())) <= most
    assert widest > 80


def test_a_column_of_figures_has_one_number_of_digits() -> None:
    shown = [cell.text for cell in digits([9.805946, 44.3, 1554.072, 0.25, 123456.7, 0.0, None])]
    assert shown == ["9.8059", "44.300", "1,554.1", "0.25000", "123,457", "0.0000", "-"]
    assert [cell.text for cell in digits([4201.0, 12.0])] == ["4,201", "12"]
    assert digits([9.805946])[0].value == 9.805946
    assert [cell.text for cell in digits([math.inf, math.nan])] == ["inf", "nan"]


def test_a_hint_can_be_copied_whatever_the_words_hold() -> None:
    words = [b"a b", b"\xff\xfe", b"tab\there", b"\x011", b"", b"it's\n\\", "\u00e9\u2028".encode(), b"plain"]
    line = quoted(map(os.fsdecode, words))
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == words
