"""What the lab shows of a machine with several processors: the state and the counters of each."""

import json

import pytest

from pagewalk import guest, native
from pagewalk.cli import options
from pagewalk.cli.state import print_state
from pagewalk.errors import WrongOption
from pagewalk.guest import Program
from pagewalk.paths import home
from pagewalk.workshop import Workshop


@pytest.mark.built
def test_each_processor_has_its_state_and_counters(capsys: pytest.CaptureFixture[str]) -> None:
    hello = Program(home().build / "user" / "bench" / "null-call", (), ())
    runner = native.NativeRunner()
    machine = native.load(
        guest.job(Workshop(runner), "ppc604-185x2", hello, overrides={}, settings={}, limit=4_000_000)
    )
    assert machine.processors == 2
    machine.run(4_000_000, 4_000_000)
    states = [json.loads(machine.dump(0, number)) for number in range(2)]
    assert [state["processor"] for state in states] == [0, 1]
    assert json.loads(machine.dump(0)) in states
    assert json.loads(machine.dump_translation(0, 1))["data_tlb"] == states[1]["data_tlb"]
    with pytest.raises(ValueError, match="no processor 2: it has 0 to 1"):
        machine.dump(0, 2)
    each = machine.counters_of_each()
    assert [counters["instructions"] > 0 for counters in each] == [True, True]
    assert sum(counters["instructions"] for counters in each) == machine.counters()["instructions"]
    print_state(states[1])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("Processor 1 at cycle")
    assert "data tlb of processor 1" in shown
    print_state({**states[1], "cycle": 0})
    assert " ".join(capsys.readouterr().out.split()).startswith("Processor 1, held in reset")


def test_a_processor_that_is_not_there_is_refused() -> None:
    options.check_processor(None, 1)
    options.check_processor(3, 4)
    for number, count, has in ((4, 4, "processors 0 to 3"), (1, 1, "one processor, number 0")):
        with pytest.raises(WrongOption, match=f"there is no processor {number}") as caught:
            options.check_processor(number, count)
        assert caught.value.hint == f"the machine has {has}"
