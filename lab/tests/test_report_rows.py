"""What the report shows of rows that share runs and notes."""

import re
from pathlib import Path

import pytest
from scripted import BenchLab, ScriptedRunner
from test_report import script

from pagewalk import experiments, report
from pagewalk.simulate import Quiet
from pagewalk.store import Store

pytestmark = pytest.mark.built


def test_rows_of_the_same_runs_are_drawn_once_and_a_note_is_said_once(tmp_path: Path) -> None:
    with Store(tmp_path / "r.duckdb") as store:
        experiment = experiments.find("lkml05-footprint")[0]
        BenchLab(ScriptedRunner(script), store).experiment(experiment, Quiet())
        text = report.build(store)
    assert text.count("in 7680 calls a program of few pages cannot miss 142369 times by itself") == 1
    drawn = re.findall(r">(dd: [^<>]*): [^<>]*</text>", text)
    assert set(drawn) == {"dd: I-TLB misses (and 3 more rows)"}, drawn
    assert ">142,369<" in text
