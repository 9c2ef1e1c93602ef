import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest
from scripted import benchmark

from pagewalk import query, schema
from pagewalk import store as results
from pagewalk.errors import BadInput, StoreError
from pagewalk.runner import Job, ResolvedMachine, Sample
from pagewalk.store import Store

JOB = Job(ResolvedMachine("ppc604-185", "config", 185_000_000), b"kernel", b"initrd", "tlb.cutoff=20 -- /bin/x")


def test_a_run_comes_back_as_it_went_in(tmp_path: Path) -> None:
    result = replace(
        benchmark("row", {"flush": 7, "kernel": 2**63}),
        samples=(Sample(10, {"hash.used": 5}), Sample(20, {"hash.used": 0})),
        dumps=('{"label": 1}', "{}"),
    )
    with Store(tmp_path / "r.duckdb") as store:
        store.add("key", "v", JOB, result)
        store.add("key", "v", JOB, benchmark("row", {"flush": 8}))
    with Store(tmp_path / "r.duckdb") as store:
        run = store.get("key")
        assert run is not None
        assert run.result == result
        assert run.clock == 185_000_000
        assert store.get("other") is None
        assert store.find("ke") == run
        # A wrong key is the person's mistake, not the file's.
        with pytest.raises(BadInput, match="no run with a key"):
            store.find("zz")


def test_plain_sql_works(tmp_path: Path) -> None:
    with Store(tmp_path / "r.duckdb") as store:
        store.add("key", "v", JOB, benchmark("row", {"flush": 7}))
        names, rows = store.ask("SELECT name, value FROM counters WHERE region = 1 ORDER BY name")
    assert names == [("name", "VARCHAR"), ("value", "UBIGINT")]
    assert rows == [("cycles", 7), ("cycles.cause.flush", 7)]


def test_a_corrupt_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="cannot be used as a results file") as error:
        Store(path)
    assert error.value.hint is not None
    assert "move it away" in error.value.hint
    assert path.read_bytes() == b"not a database" * 100


def test_another_database_is_refused(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "r.duckdb")) as connection:
        connection.execute("CREATE TABLE mine (x INTEGER)")
    with pytest.raises(StoreError, match="not one of results"):
        Store(tmp_path / "r.duckdb")


def test_a_reader_does_not_wait_for_an_open_store(tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    with Store(path) as writer, Store(path, read_only=True, notify=pytest.fail) as reader:
        writer.add("key", "v", JOB, benchmark("row", {"flush": 7}))
        assert reader.ask("SELECT count(*) AS runs FROM runs") == ([("runs", "BIGINT")], [(1,)])
        code = "import sys, duckdb; print(duckdb.connect(sys.argv[1]).execute('SELECT key FROM runs').fetchall())"
        other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert other.stdout == "[('key',)]\n"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM runs", "nothing"),
        ("SELECT no_clock()", "no_clock"),
        ("DROP TABLE runs", "only one query"),
        ("INSERT INTO meta VALUES (2)", "only one query"),
        ("SELECT 1; SELECT 2", "only one query"),
        (";", "only one query"),
        ("SET memory_limit = '100GB'", "only one query"),
        ("COPY (SELECT 1) TO '{folder}/written'", "only one query"),
        ("ATTACH '{folder}/written' AS w (READ_WRITE)", "only one query"),
        ("EXPORT DATABASE '{folder}/written'", "only one query"),
        ("INSTALL json", "only one query"),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/written'", "disabled"),
        ("SELECT * FROM read_text('{folder}/r.duckdb')", "disabled"),
        ("SELECT * FROM glob('/*')", "disabled"),
        ("SELECT * FROM range(3000000000)", "more than"),
        ("SELECT repeat('x', 100000) FROM range(1000000)", "more than"),
        ("SELECT list(i) FROM range(3000000000) AS r(i)", "Out of Memory"),
        ("SELECT '\udcff'", "the query is not UTF-8"),
    ],
)
def test_a_wrong_query_is_said_to_be_wrong_and_changes_nothing(tmp_path: Path, query: str, words: str) -> None:
    path = tmp_path / "r.duckdb"
    for read_only in (False, True):
        with Store(path, read_only=read_only) as store:
            with pytest.raises(BadInput, match=words):
                store.ask(query.replace("{folder}", str(tmp_path)))
            assert store.ask("SELECT schema FROM meta")[1] == [(schema.SCHEMA,)]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_the_second_schema_and_one_beside_it_are_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    aside = path.with_name("r.duckdb.aside")
    for made in (path, aside):
        Store(made).close()
        with duckdb.connect(str(made)) as connection:
            connection.execute(
                "DROP TABLE profiles; DROP TABLE baselines; DROP TABLE images; DROP TABLE inputs; "
                "ALTER TABLE cells DROP COLUMN pairs; UPDATE meta SET schema = 2"
            )
    with Store(path) as store:
        assert store.query("SELECT count(*) FROM profiles") == [(0,)]
    assert not aside.exists()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_the_first_schema_is_brought_up_to_date(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "r.duckdb"
    with Store(path):
        pass
    with duckdb.connect(str(path)) as connection:
        for column in ("low", "high", "placements", "pairs"):
            connection.execute(f"ALTER TABLE cells DROP COLUMN {column}")
        connection.execute(
            "DROP TABLE profiles; DROP TABLE baselines; DROP TABLE images; DROP TABLE inputs; "
            "UPDATE meta SET schema = 1"
        )
    with Store(path, read_only=read_only) as store:
        assert store.query("SELECT schema FROM meta") == [(schema.SCHEMA,)]
        assert store.query("SELECT low, high, placements, pairs FROM cells") == []


def test_a_file_of_the_sixth_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "r.duckdb"
    Store(path).close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("ALTER TABLE inputs DROP COLUMN settings; UPDATE meta SET schema = 6")
    with Store(path) as store:
        assert store.query("SELECT settings FROM inputs") == []


def test_a_file_in_use_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.duckdb"
    code = "import sys, duckdb; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        monkeypatch.setattr(results, "_LOCK_SECONDS", 0.0)
        with pytest.raises(StoreError, match="in use by another program"):
            Store(path)
        holder.communicate()


def test_a_run_is_not_lost_while_the_file_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it's r.duckdb"
    code = "import sys, duckdb; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    monkeypatch.setattr(results, "_LOCK_SECONDS", 0.0)
    told: list[str] = []
    with Store(path, notify=told.append) as store:
        command = [sys.executable, "-c", code, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"open\n"
            for key in ("one", "two"):
                assert store.add(key, "v", JOB, benchmark("row", {"flush": 7})).key == key
            holder.communicate()
    assert "is kept in" in told[0]
    with Store(path) as store:
        assert store.query("SELECT key FROM runs ORDER BY key") == [("one",), ("two",)]
        assert store.get("one") is not None
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    for path in (tmp_path / "fifo", tmp_path / "socket", tmp_path, Path("/dev/null"), Path("/")):
        for read_only in (False, True):
            with pytest.raises(StoreError, match="not a regular file"):
                Store(path, read_only=read_only)
    for path in (Path("/proc/self/r.duckdb"), Path("/proc/self/maps"), Path("/sys/r.duckdb")):
        with pytest.raises(StoreError, match="holds no files"):
            Store(path)
    os.mkfifo(tmp_path / "r.duckdb.aside")
    with pytest.raises(StoreError, match="not a regular file"):
        Store(tmp_path / "r.duckdb")


def test_a_full_disk_is_said_to_be_before_anything_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "r.duckdb") as store:
        store.add("first", "v", JOB, benchmark("row", {"flush": 7}))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(StoreError, match="is full; results finished before this are kept"):
            store.add("second", "v", JOB, benchmark("row", {"flush": 8}))
        monkeypatch.undo()
        assert [row[0] for row in store.query("SELECT key FROM runs")] == ["first"]


def test_an_unwritable_place_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        Store(tmp_path / "file" / "r.duckdb")


def in_a_small_disk(folder: Path, script: str, megabytes: int = 2) -> str:
    """What a shell says of a small file system at `folder`; `$pagewalk` is the command, `$disk` the folder."""
    folder.mkdir()
    command = f"{sys.executable} -c 'from pagewalk.entry import main; main()'"
    mount = f'mount -t tmpfs -o size={megabytes}m none "$disk"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{mount}\n{script}"],
        env=os.environ | {"pagewalk": command, "disk": str(folder), "PAGEWALK_RESULTS": str(folder / "r.duckdb")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_a_query_needs_no_room(tmp_path: Path) -> None:
    """There is no result yet, and the file that would say so cannot be made."""
    query = 'eval "$pagewalk results \'SELECT count(*) AS n FROM runs\' --csv"; ls -A "$disk"\n'
    said = in_a_small_disk(tmp_path / "disk", f'{query} mount -o remount,ro "$disk"\n {query}')
    assert said.count("n\n0\n") == 2, said
    assert said.count("there are no results yet") == 2, said
    assert "full" not in said
    assert "r.duckdb\n" not in said.replace("r.duckdb:", "")


def test_a_file_that_cannot_be_made_is_not_said_to_be_there(tmp_path: Path) -> None:
    run = 'eval "$pagewalk exec -- hello"; echo status $?\n'
    said = in_a_small_disk(tmp_path / "disk", f'{run} mount -o remount,ro "$disk"\n {run}')
    small, read_only = said.split("pagewalk: ")[1:]
    assert said.count("status 123") == 2, said
    assert "16 MB are needed" in small
    assert "are kept" not in small
    assert "Read-only file system" in read_only
    assert "move it away" not in read_only


def test_a_file_that_may_only_be_read_is_not_said_to_be_damaged(tmp_path: Path) -> None:
    Store(tmp_path / "r.duckdb").close()
    script = f'cp {tmp_path}/r.duckdb "$disk"; mount -o remount,ro "$disk"; eval "$pagewalk exec -- hello"'
    said = in_a_small_disk(tmp_path / "disk", script, 48)
    assert "r.duckdb: Read-only file system" in said
    assert "move it away" not in said


def test_no_bar_of_progress_comes_into_the_output(tmp_path: Path) -> None:
    asked = "SELECT current_setting('enable_progress_bar') AS bar"
    store = Store(tmp_path / "results.duckdb")
    assert store.query(asked) == [(False,)]
    assert query.answer(store.path, asked)[1] == [(False,)]
