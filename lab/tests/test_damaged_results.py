"""A results file with values that no version writes: what reads it says so, and never more than a sentence."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import duckdb
import pytest
from scripted import BenchLab, ScriptedRunner, benchmark
from test_hostile_command import Here
from test_hostile_command import here as here  # noqa: PLC0414 - a fixture

from pagewalk import experiments
from pagewalk.runner import Sample
from pagewalk.simulate import Quiet
from pagewalk.store import Store

pytestmark = [pytest.mark.usefixtures("small_policies")]

_TEXTS = (
    "", "{", "null", "[]", '"x"', "{}", '{"tlb.cutoff": 5}', '{"tlb.cutoff": null}', '{"a": {}}', '{"hash_table": 5}',
    '{"hash_table": {}}', '{"hash_table": {"used": "x", "occupancy": 3}}', "[" * 100_000, "\u2028<script>",
    "x" * 100_000,
    "@row name=x region=1 iterations=0 bytes=-1 unit=us", "a;b x", "\u00b2", "limit", "ppc604-13",
)  # fmt: skip
_NUMBERS = [str(number) for number in (0, 1, -1, 2**31 - 1, 2**63 - 1)]
_DOUBLES = ("nan", "inf", "-inf", "0", "1e300", "-1")
_KEY = "0" * 64


@pytest.fixture(autouse=True)
def nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are specified, but not drawn, which takes long."""
    monkeypatch.setattr("pagewalk.report.svg.draw", lambda spec: f"<svg>{len(json.dumps(spec))}</svg>")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a row in each table but `images`."""
    path = tmp_path_factory.mktemp("whole") / "r.duckdb"
    line = b"@row name=mmap-latency region=1 iterations=3 bytes=0 unit=us\n"

    def script(job: object) -> object:
        del job
        result = benchmark("mmap-latency", {"flush": 7, "kernel": 9})
        return type(result)(
            **{
                **vars(result),
                "console": line,
                "samples": (Sample(5, {"hash.used": 3}),),
                "dumps": (json.dumps({"label": 0, "hash_table": {"used": 2, "occupancy": [1, 1]}}),),
                "profile": "a;b 5\n",
            }
        )

    with Store(path) as store:
        lab = BenchLab(ScriptedRunner(script), store)  # type: ignore[arg-type]
        lab.experiment(experiments.find("osdi99-table2")[0], Quiet())
        store.add_points("s", "us", [(json.dumps({"tlb.cutoff": str(n)}), 1.0 + n, _KEY, "") for n in range(3)])
        keys = [key for (key,) in store.query("SELECT key FROM runs ORDER BY key")]
        store.add_baseline("base", [("before", keys[0])])
        store.add_image("sha", "Linux version 2.2", {"A": "y"})
    return path


def _columns(path: Path) -> list[tuple[str, str, str]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
        ).fetchall()


def _wrong(draw: random.Random, kind: str) -> str:
    """An expression of SQL."""
    quoted = "'" + draw.choice(_TEXTS).replace("'", "''") + "'"
    values = {
        "VARCHAR": [quoted],
        "BLOB": [f"encode({quoted})"],
        "DOUBLE": [f"'{number}'::DOUBLE" for number in _DOUBLES],
        "VARCHAR[]": ["[]", f"[{quoted}]", "[NULL]"],
        "DOUBLE[][]": ["[]", "[[]]", "[[NULL]]", "[[1, 2, 3]]", "[NULL]", "[['nan'::DOUBLE, 0]]"],
        "TIMESTAMP": [f"'{when}'::TIMESTAMP" for when in ("infinity", "290000-01-01", "1970-01-01")],
    }
    return "NULL" if draw.random() < 0.1 else draw.choice(values.get(kind, _NUMBERS))


def _commands(path: Path, keys: list[str], folder: Path) -> list[list[str]]:
    return [
        ["report", "-o", str(folder / "x.html")],
        ["results"],
        ["results", "--json", "SELECT * FROM cells"],
        ["compare", keys[0], keys[-1]],
        ["compare", "osdi99-table2", "osdi99-table2~0"],
        ["claims", "count"],
        ["claims", "page", "osdi99"],
    ]


def test_a_damaged_value_costs_a_sentence(
    whole: Path, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, rounds = os.environ.get("PAGEWALK_SEED", "1"), int(os.environ.get("PAGEWALK_MUTATIONS", "5"))
    columns = _columns(whole)
    with Store(whole) as store:
        keys = [key for (key,) in store.query("SELECT key FROM runs ORDER BY key")]
    path = tmp_path / "r.duckdb"
    monkeypatch.setenv("PAGEWALK_RESULTS", str(path))
    commands = _commands(path, keys, tmp_path)
    assert {here.run(words)[0] for words in commands if shutil.copy(whole, path)} == {0}
    for number in range(rounds):
        draw = random.Random(f"{seed} {number}")
        shutil.copy(whole, path)
        table, column, kind = draw.choice(columns)
        value = _wrong(draw, kind)
        with duckdb.connect(str(path)) as connection:
            try:
                some = "" if draw.random() < 0.5 else " WHERE random() < 0.5"
                connection.execute(f"UPDATE {table} SET {column} = {value}{some}")
            except duckdb.Error:
                continue  # the file's own rules forbid it
        for words in draw.sample(commands, 3):
            status, _, said = here.run(words)
            what = f"mistake {number}: {table}.{column} = {value[:60]}: {words[0]}: status {status}: {said}"
            assert "Traceback" not in said, what
            assert status in {0, 1, 123, 124, 125, 126}, what


def test_a_table_that_is_missing_or_empty_costs_a_sentence(
    whole: Path, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.duckdb"
    monkeypatch.setenv("PAGEWALK_RESULTS", str(path))
    commands = _commands(path, [_KEY], tmp_path)
    for table in dict.fromkeys(table for table, _, _ in _columns(whole)):
        for change in (f"DROP TABLE {table}", f"DELETE FROM {table}", f"ALTER TABLE {table} ADD COLUMN more INTEGER"):
            shutil.copy(whole, path)
            with duckdb.connect(str(path)) as connection:
                connection.execute(change)
            for words in commands if table == "meta" else commands[1:2]:
                status, _, said = here.run(words)
                assert "Traceback" not in said, f"{change}: {words}: {said}"
                assert status in {0, 123, 126}, f"{change}: {words}: {said}"
