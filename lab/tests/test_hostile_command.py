"""Whatever is typed: a sentence and a documented status, never a traceback, and JSON where JSON was asked for."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

import pytest

from pagewalk.cli.app import command
from pagewalk.paths import home

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]
NAMES = (
    b"foo[/]bar",
    b"[/red]",
    b"a[b]",
    b"with space",
    b"two\nlines",
    b"\xff\xfe",
    b"--",
    b"",
    "\u2028\u00e9".encode(),
    b"%s{}",
    b"x" * 5000,
)
STATUSES = {2, 123, 124, 125, 126}


def pagewalk(*words: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *words], capture_output=True, check=False, env=os.environ | environment)


class Here:
    """The command run in this process, which is faster: an exception that reaches a person fails the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capfd = capfd

    def run(self, words: Sequence[str]) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["pagewalk", *words])
        for stream in (sys.stdout, sys.stderr):
            assert isinstance(stream, TextIOWrapper)
            stream.reconfigure(errors="backslashreplace")
        status = command()
        sys.stdout.flush()
        printed = self._capfd.readouterr()
        return status, printed.out, printed.err


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capfd)


@pytest.fixture(autouse=True)
def own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEWALK_RESULTS", str(tmp_path / "results.duckdb"))


# Every command that takes a name, with the name's place.
PLACES: tuple[tuple[str, ...], ...] = (
    ("run", "{}"),
    ("exec", "--", "{}"),
    ("exec", "-m", "{}", "--", "prog"),
    ("exec", "-p", "{}", "--", "prog"),
    ("exec", "--set", "{}", "--", "prog"),
    ("exec", "--file", "{}", "--", "prog"),
    ("ab", "-p", "{}", "--", "prog"),
    ("see", "-o", "{}/x.html", "--", "prog"),
    ("watch", "--", "{}"),
    ("boot", "{}"),
    ("profile", "--", "{}"),
    ("resume", "{}"),
    ("dump", "--from", "{}"),
    ("compare", "{}", "{}"),
    ("results", "{}"),
    ("sweep", "{}"),
    ("claims", "explain", "{}"),
    ("claims", "list", "{}"),
    ("claims", "page", "{}"),
    ("tune", "vsid", "--multipliers", "{}"),
)


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_odd_names_are_refused_in_words(place: Sequence[str], here: Here) -> None:
    for name in map(os.fsdecode, NAMES):
        status, _, said = here.run([name if word == "{}" else word for word in place])
        assert "Traceback" not in said
        # `results` takes an empty query for none, and options may end at `--`: no errors.
        assert status in STATUSES or said.startswith("next: "), (name, status, said)


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_errors_are_json_where_asked_for(place: Sequence[str], here: Here) -> None:
    for name in (os.fsdecode(b"foo[/]\xff"), "x" * 5000):
        words = [name if word == "{}" else word for word in place]
        at = words.index("--") if "--" in words else len(words)
        status, printed, _ = here.run([*words[:at], "--json", *words[at:]])
        assert status in STATUSES
        assert json.loads(printed)["status"] == status


@pytest.mark.built
def test_files_with_odd_names_are_run_or_refused_in_words(tmp_path: Path, here: Here) -> None:
    hello = (home().build / "user" / "hello").read_bytes()
    for name in map(os.fsdecode, (b"a[b]", b"two words", b"two\nlines", b"\xff\xfe", "\u00e9".encode())):
        path = tmp_path / name
        path.write_bytes(hello)
        path.chmod(0o755)
        for words in (("exec", "--", str(path)), ("exec", "--file", str(path), "--", "/nothing")):
            status, _, said = here.run(words)
            assert "Traceback" not in said
            assert status in {0, 126}, (name, status, said)
    odd = os.fsdecode(b"\xff")
    status, _, said = here.run(
        ["exec", "--file", str(tmp_path / os.fsdecode(b"\xff\xfe")), "--", str(tmp_path / "a[b]")]
    )
    assert status == 0, said
    program = str(tmp_path / "a[b]")
    status, _, said = here.run(["exec", "--", program, odd])
    assert status == 0, said
    status, _, said = here.run(["boot", program, "--append", odd])
    assert status == 126
    assert "UTF-8" in said


def test_a_terminal_without_unicode_shows_codes() -> None:
    done = pagewalk("run", b"\xff\xc3\xa9", PYTHONIOENCODING="ascii")
    assert done.returncode == 126
    assert b"Traceback" not in done.stderr


def test_json_behind_the_dashes_belongs_to_the_program() -> None:
    done = pagewalk("exec", "--", "/nothing", "--json")
    assert done.returncode == 126
    assert done.stdout == b""
    assert b"/nothing" in done.stderr


@pytest.mark.built
@pytest.mark.parametrize("word", [b"a\xff=1", b"memory.size=\xff"])
@pytest.mark.parametrize("command", ["exec", "profile", "dump"])
def test_a_machine_key_that_is_not_utf8_is_refused(command: str, word: bytes) -> None:
    done = pagewalk(command, "--set", word, "--", str(home().build / "user" / "hello"))
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


LISTINGS = (
    ("machines",), ("policies",), ("experiments",), ("claims", "list"), ("results",),
    ("claims", "explain", "osdi99.table2.604-185"), ("claims", "page", "osdi99"),
    ("results", "SELECT 1 AS a, 'nan'::DOUBLE AS b, now() AS c, 'x'::BLOB AS d, [1, 2] AS e"),
)  # fmt: skip


@pytest.mark.built
@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_every_listing_prints_json(words: Sequence[str], here: Here) -> None:
    status, printed, said = here.run([*words, "--json"])
    assert status == 0, said
    json.loads(printed)


@pytest.mark.built
@pytest.mark.parametrize("words", [*LISTINGS, *((*words, "--json") for words in LISTINGS), ("--help",)], ids=" ".join)
def test_a_reader_that_leaves_ends_the_command_quietly(words: Sequence[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([*COMMAND, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_name_is_shown_as_it_was_typed() -> None:
    done = pagewalk("exec", "--", "a[b]/nothere")
    assert b"a[b]/nothere" in done.stderr


def test_the_hint_for_dask_has_its_brackets() -> None:
    code = (
        "import sys; sys.modules['distributed'] = None; "
        "sys.argv = ['pagewalk', 'run', 'osdi99-table2', '--cluster', 'tcp://127.0.0.1:9']; "
        "from pagewalk.entry import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"pagewalk[dask]" in done.stderr, done.stderr


def test_a_wrong_query_does_not_advise_to_throw_results_away(here: Here) -> None:
    for query in ("SELEC 1", "DROP TABLE runs", "SELECT clock_of(1)"):
        status, _, said = here.run(["results", query])
        assert status == 126
        assert "move it away" not in said


def test_what_begins_with_the_typed_name_is_suggested(here: Here) -> None:
    assert "osdi99.table2." in here.run(["claims", "explain", "osdi99.table2"])[2]


@pytest.mark.built
def test_endless_files_are_refused_or_read_to_a_limit(tmp_path: Path, here: Here) -> None:
    hello = str(home().build / "user" / "hello")
    endless, large, fifo = tmp_path / "endless.toml", tmp_path / "large", tmp_path / "fifo"
    endless.symlink_to("/dev/zero")
    os.mkfifo(fifo)
    with large.open("wb") as stream:
        stream.truncate(5 << 30)
    for words in (
        ("exec", "--", "{}"), ("boot", "{}"), ("boot", hello, "--initrd", "{}"), ("exec", "--file", "{}", "--", hello),
        ("resume", "{}"), ("dump", "--from", "{}"), ("exec", "-m", str(endless), "--", hello),
    ):  # fmt: skip
        for path in (endless, large, fifo, tmp_path):
            status, _, said = here.run([str(path) if word == "{}" else word for word in words])
            wrong_option = said.startswith(("pagewalk: --file", "pagewalk: --machine"))
            assert status == (2 if wrong_option else 126), said
            assert any(w in said for w in ("regular file", "too much", "is no file", "is a directory")), said
    status, _, said = here.run(["exec", "--input", "/dev/zero", "--limit", "1000000", "--", hello])
    assert status == 124
    assert "only the first 16 MB" in said


def test_version_and_short_help(here: Here) -> None:
    assert here.run(["--version"])[1].startswith("pagewalk ")
    assert "Usage" in here.run(["-h"])[1]
    assert "Usage" in here.run(["exec", "-h"])[1]


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        [*COMMAND, "claims", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


WRITERS = (
    ("machines",),
    ("machines", "--json"),
    ("results", "SELECT 1"),
    ("results", "SELECT 1", "--json"),
    ("claims", "list"),
    ("exec", "--json", "--", "/nothing"),
    ("--version",),
    ("--help",),
)


def shell(redirection: str, *words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    line = f'{before} exec "$@" {redirection}'
    return subprocess.run(["bash", "-c", line, "bash", *COMMAND, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", WRITERS, ids=" ".join)
def test_output_that_cannot_be_written_is_one_sentence(words: Sequence[str]) -> None:
    for redirection, sentence in ((">/dev/full", "No space left"), (">&-", "standard output is closed")):
        done = shell(redirection, *words)
        assert done.returncode == 126, done.stderr
        assert sentence in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_errors_that_cannot_be_written_keep_the_status() -> None:
    for redirection in ("2>/dev/full", "2>&-", "2>&- <&-"):
        done = shell(redirection, "exec", "--", "/nothing")
        assert done.returncode == 126
        assert done.stdout == ""


def test_a_query_without_memory_is_one_sentence() -> None:
    done = shell("", "results", "SELECT * FROM range(3000000000)", before="ulimit -v 3000000;")
    assert done.returncode == 126
    assert len(done.stderr.splitlines()) <= 2, done.stderr


def test_a_lack_of_memory_is_one_sentence() -> None:
    code = (
        "import pagewalk.cli.app as app\n"
        "def command(): raise MemoryError\n"
        "app.command = command\n"
        "from pagewalk.entry import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (126, "pagewalk: not enough memory\n")


def test_ctrl_c_at_any_instant_gives_no_traceback() -> None:
    # A spread of delays meets imports, planning and the end; no assertion is about time.
    for number in range(8):
        with subprocess.Popen(
            [*COMMAND, "claims", "list"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            try:
                process.wait(0.1 + 0.12 * number)
            except subprocess.TimeoutExpired:
                process.send_signal(2)
            assert process.stderr is not None
            said = process.stderr.read().decode()
        # Before our first line the interpreter itself may be interrupted.
        assert "Traceback" not in said or "pagewalk/" not in said, said


WRONG: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("exec", "-m", "ppc604-18"), "--machine", "ppc604-185"),
    (("exec", "-p", "tlb.cutof=1"), "--policy", "tlb.cutoff"),
    (("exec", "-p", "tlb.cutoff=of"), "--policy", "did you mean 'off'"),
    (("exec", "-p", "bst"), "--policy", "best"),
    (("exec", "--set", "tlb.data.entrys=1"), "--set", "entries"),
    (("exec", "--set", "x"), "--set", "key=value"),
    (("exec", "--file", "/nothere"), "--file", "/nothere"),
    (("exec", "--limit", "0"), "--limit", "not in the range 1<="),
    (("exec", "--limit", "1e9"), "--limit", "integer"),
    (("exec", "--sanitize", "all,xx"), "--sanitize", "fetch"),
    (("exec", "--at", "5"), "--save", "both"),
    (("exec", "--limt", "5"), "--limt", "--limit"),
    (("sweep", "mmap-latency", "--figure", "us+"), "--figure", "us+"),
    (("sweep", "mmap-latency", "-p", "tlb.cutof=1"), "--policy", "tlb.cutoff"),
    (("sweep", "mmap-latency", "-p", "tlb.cutoff=9..1"), "--policy", "low..high"),
    (("sweep", "mmap-latency", "--set", "tlb.data.entrys=32,64"), "--set", "entries"),
    (("sweep", "mmap-latency", "--cluster", "here"), "--cluster", "tcp://"),
    (("sweep", "mmap-latency", "-j", "0"), "--jobs", "1"),
    (("run", "osdi99-table2", "--cluster", "tcp://nothere"), "--cluster", "tcp://"),
    (("run", "osdi99-table2", "--seeds", "100"), "--seeds", "99"),
    (("run", "osdi99-table2", "-k", "mmapp"), "-k", "did you mean 'mmap"),
    (("run", "osdi99-table2", "--csv", "--markdown"), "--csv", "--markdown"),
    (("run",), "no experiment", "-k"),
    (("tune", "vsid", "--multipliers", "4"), "--multipliers", "odd"),
    (("ab", "--cluster", "x", "-p", "tlb.cutoff=off,20"), "--cluster", "tcp://"),
    (("machines", "--wid"), "--wid", "--wide"),
    (("machine",), "machine", "machines"),
)


@pytest.mark.built
@pytest.mark.parametrize(("words", "names", "says"), WRONG, ids=str)
def test_a_wrong_option_is_named_with_what_is_right(words: tuple[str, ...], names: str, says: str, here: Here) -> None:
    program = ["--", str(home().build / "user" / "hello")] if words[0] in {"exec", "ab"} else []
    status, printed, said = here.run([*words, *program])
    assert (status, printed) == (2, ""), said
    assert names in said
    assert says in said
    assert "Traceback" not in said
    assert len(said.splitlines()) <= 2, said
