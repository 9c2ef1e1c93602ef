"""What an experiment will take: runs that are missing, and how long such runs took the last time."""

from pathlib import Path

from scripted import EXPERIMENT, BenchLab, ScriptedRunner, benchmark

from pagewalk import experiments, placement
from pagewalk.simulate import Quiet
from pagewalk.store import Store


def test_the_cost_counts_what_is_missing_and_knows_other_placements(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(EXPERIMENT)
    (experiment,) = experiments.find(str(tmp_path / "mine.toml"))
    with Store(tmp_path / "results.duckdb") as store:
        lab = BenchLab(ScriptedRunner(lambda job: benchmark("mmap-latency", {"kernel": 4000})), store)
        before = lab.cost(experiment, 1, store.durations())
        assert (before.rows, before.refused, before.runs, before.missing, before.unknown) == (1, 0, 2, 2, 2)
        lab.experiment(experiment, Quiet())
        after = lab.cost(experiment, 1, store.durations())
        assert (after.runs, after.missing, after.unknown) == (2, 0, 0)
        more = lab.cost(experiment, 3, store.durations())
        assert (more.runs, more.missing) == (6, 4)
        assert more.unknown == 0, "another placement of the same run took as long"


def test_a_line_without_its_placement_is_that_of_all() -> None:
    assert placement.without("a=1 -- stack=48 /bin/x size=2") == "a=1 -- /bin/x size=2"
    assert placement.without("stacked=1 -- /bin/x") == "stacked=1 -- /bin/x"
