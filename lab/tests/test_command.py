"""The command as a person uses it: what it prints, and its exit status."""

import json
import subprocess
import sys
from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from pagewalk.cli.app import app

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


def pagewalk(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)


COMMANDS = (
    *("run", "exec", "boot", "resume", "profile", "trace", "dump", "gdb", "compare", "report", "results", "sweep"),
    *("machines", "policies", "programs", "experiments", "claims", "subjects"),
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
