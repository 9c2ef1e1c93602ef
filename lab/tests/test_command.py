"""The command as a person uses it: what it prints, and its exit status."""

import io
import json
import subprocess
import sys
from collections.abc import Sequence

import pytest
from rich.console import Console
from typer.testing import CliRunner

from pagewalk.cli.app import app
from pagewalk.cli.sheet import Sheet, Shown

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


def pagewalk(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


COMMANDS = (
    *("run", "exec", "ab", "boot", "resume", "profile", "trace", "see", "dump", "gdb", "compare", "report", "results"),
    *("sweep", "watch", "machines", "policies", "programs", "experiments", "claims", "subjects"),
)


def test_the_list_of_commands_is_whole() -> None:
    listing = CliRunner().invoke(app, ["--help"]).stdout
    assert all(f" {name} " in listing for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    subcommand = ["list"] if name == "claims" else []
    done = CliRunner().invoke(app, [name, *subcommand, "--help"])
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
    done = CliRunner().invoke(app, [*option, str(2**64), "--", "hello"])
    assert done.exit_code == 2
    assert "less than or equal to" in done.stderr


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
