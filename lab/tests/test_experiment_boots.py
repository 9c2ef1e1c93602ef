"""What experiments choose for our kernel is there on the machines that they choose it for."""

from pathlib import Path

import pytest

import pagewalk
from pagewalk import experiments, policies
from pagewalk.errors import PagewalkError
from pagewalk.experiments import Side


def sides() -> list[Side]:
    """One side for each choice of a policy or key on each machine: later sides that choose nothing new are left out."""
    seen: set[tuple[str, str, str]] = set()
    chosen = []
    every = [
        side
        for name in experiments.names()
        for found in experiments.find(name)
        for row in found.rows
        for side in row.sides
    ]
    for side in every:
        setting = side.setting
        if setting.image or setting.subject or not setting.chosen or policies.NAMED in setting.chosen:
            continue
        what = {(side.machine, key, value) for key, value in (*setting.chosen.items(), *side.keys.items())}
        if not what <= seen:
            seen |= what
            chosen.append(side)
    return chosen


@pytest.mark.parametrize("side", sides(), ids=lambda side: f"{side.machine}, {side.setting.label}")
def test_the_kernel_has_what_an_experiment_chooses(side: Side, tmp_path: Path) -> None:
    with pagewalk.Laboratory(tmp_path / "results.duckdb", jobs=1) as lab:
        try:
            result = lab.execute("hello", machine=side.machine, policies=side.setting.chosen, sets=side.keys)
        except PagewalkError as error:
            pytest.fail(f"{error.message} {error.hint or ''}")
        assert result.status == 0, result.output
