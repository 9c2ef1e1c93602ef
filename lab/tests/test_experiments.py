import re
from pathlib import Path

import pytest
from scripted import EXPERIMENT

from pagewalk import claims, experiment_file, experiments, policies
from pagewalk.errors import BadInput
from pagewalk.published_range import Printed, Range, ratio_range


def write(folder: Path, text: str) -> Path:
    path = folder / "osdi99-mine.toml"
    path.write_text(text)
    return path


def test_every_experiment_of_the_checkout_loads() -> None:
    loaded = [entry for name in experiments.names() for entry in experiments.find(name)]
    assert "osdi99-table2" in {entry.name for entry in loaded}
    assert all(entry.rows for entry in loaded)


def test_a_row_is_built_for_each_machine(tmp_path: Path) -> None:
    experiment = experiments.load(write(tmp_path, EXPERIMENT))
    (row,) = experiment.rows
    assert row.before is not None
    assert (row.before.setting.policies, row.after.setting.policies) == (
        {"tlb.cutoff": "off"},
        {"tlb.cutoff": "20"},
    )
    assert row.published.before == Range.exactly(2733)
    assert row.published.ratio is not None
    assert row.published.ratio.shown == "82.8"
    assert experiment.claims == ("osdi99.table2.604-185",)


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ("figure =", "figures =", "row.0.figures: unknown key, did you mean 'figure'?"),
        ("label =", "lable =", "settings.before.lable: unknown key, did you mean 'label'?"),
        ("table2.604-185", "table2.604-186", "unknown claim"),
        ("item = 0", "", "give item"),
        ('figure = "us"', 'figure = "us **2"', "is not allowed"),
        ('figure = "us"', 'figure = "usec"', "unknown name in figure"),
        ('"lower"', '"smaller"', "row.0.better"),
        ("[[row]]", "[[row", "osdi99-mine.toml"),
        ("item = 0", 'item = 0\nsaves = true\nbefore = "nothing"', "saves what?"),
        ('claim = "osdi99.table2.604-185"', 'without = ["hash.preload"]', "which no setting has"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, good: str, bad: str, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        experiments.load(write(tmp_path, EXPERIMENT.replace(good, bad)))
    assert complaint in error.value.message
    assert "osdi99-mine.toml" in error.value.message


def test_every_before_of_osdi99_names_the_version_of_its_forms() -> None:
    for name in experiments.names():
        (experiment,) = experiments.find(name)
        if experiment.document != "osdi99" or experiment.images:
            continue
        if any(row.before is not None for row in experiment.rows):
            assert re.match(r"Linux/PPC \d\.\d+\.\d+\b", experiment.base or ""), name


def test_a_claim_of_lazy_flushes_changes_nothing_else() -> None:
    (experiment,) = experiments.find("osdi99-flush")
    lazy = [
        row for row in experiment.rows if any(claim.id.startswith("osdi99.lazy.") for claim in row.published.claims)
    ]
    assert len(lazy) == 2
    for row in lazy:
        assert row.before is not None
        before, after = row.before.setting.policies, row.after.setting.policies
        assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == {"tlb.flush"}


def test_a_context_switch_has_its_claim_at_the_setting_that_lmbench_prints() -> None:
    def claimed(name: str) -> list[str]:
        (experiment,) = experiments.find(name)
        switches = [row for row in experiment.rows if row.program == "context-switch"]
        return [row.name.rpartition(", ")[2] for row in switches if row.published.claims]

    assert set(claimed("osdi99-table3")) == {"2p/0k"}
    assert set(claimed("osdi99-flush")) == {"8p/0k"}
    assert len(set(claimed("osdi99-bat"))) == len(experiment_file.CONTEXT_SWITCHES)


def test_a_row_beside_several_machines_names_the_other(tmp_path: Path) -> None:
    one = EXPERIMENT.replace('[[machine]]\nname = "ppc604-185"\n', "")
    assert one != EXPERIMENT
    several = "".join(
        f'[[machine]]\nname = "ppc604-185"\nbaseline_machine = "{other}"\n' for other in ("ppc603-133", "ppc603-180")
    )
    claim = 'claim = "osdi99.table2.604-185"\n'
    text = one.replace(claim, several.replace("baseline_machine", f"{claim}baseline_machine"), 1)
    rows = experiments.load(write(tmp_path, text)).rows
    assert [row.name for row in rows] == ["mmap latency, beside ppc603-133", "mmap latency, beside ppc603-180"]


def test_two_rows_of_one_name_are_refused(tmp_path: Path) -> None:
    again = EXPERIMENT[EXPERIMENT.index("[[row]]") :]
    with pytest.raises(BadInput, match="two rows on ppc604-185 have the name 'mmap latency'"):
        experiments.load(write(tmp_path, f"{EXPERIMENT}\n{again}"))


def test_an_unknown_experiment_suggests_the_nearest() -> None:
    with pytest.raises(BadInput) as error:
        experiments.find("osdi99-tabel2")
    assert error.value.hint == "did you mean 'osdi99-table2'?"


def test_a_document_names_all_its_experiments() -> None:
    assert {entry.name for entry in experiments.find("osdi99")} == {
        name for name in experiments.names() if name.startswith("osdi99-")
    }


def test_a_figure_keeps_the_digits_that_it_is_printed_with() -> None:
    fine, coarse = Range.exactly(Printed("3.440")), Range.exactly(Printed("3.44"))
    assert (fine.shown, coarse.shown) == ("3.440", "3.44")
    assert fine.rounded_out().low == pytest.approx(3.4395)
    assert coarse.rounded_out().low == pytest.approx(3.435)
    assert Range.exactly(Printed("46.0")).rounded_out().high == pytest.approx(46.05)
    assert Range.exactly(46.0).rounded_out().high == pytest.approx(46.5)
    assert Range.exactly(Printed("2.5e3")).shown == "2500"
    assert Range.exactly(Printed("1.50e-2")).shown == "0.0150"
    assert Range.exactly(Printed("+1_000.50")).shown == "1000.50"
    assert Range.exactly(claims.claim("lkml05.time").value[0]).shown == "3.440"


def test_the_ratio_of_rounded_figures_is_a_range() -> None:
    ratio = ratio_range(Range.exactly(6), Range.exactly(6), "lower")
    assert ratio is not None
    assert (ratio.low, ratio.high) == (5.5 / 6.5, 6.5 / 5.5)
    bandwidth = ratio_range(Range.exactly(71), Range.exactly(76), "higher")
    assert bandwidth is not None
    assert bandwidth.shown == "1.07"


SWEEP = EXPERIMENT.replace(
    'name = "mmap latency"', 'name = "{size}, {n} processors"\nsweep = { size = ["4k", "8k"], n = [2, 4] }'
).replace(
    'program = "mmap-latency"', 'program = "mmap-latency"\narguments = ["size={size}"]\nkeys = { processors = "{n}" }'
)


def test_a_sweep_is_a_row_for_each_combination(tmp_path: Path) -> None:
    one = SWEEP.replace('label = "off"', 'label = "off"\nkeys = { processors = "1" }')
    rows = experiments.load(write(tmp_path, one)).rows
    assert [row.name for row in rows] == [
        "4k, 2 processors",
        "4k, 4 processors",
        "8k, 2 processors",
        "8k, 4 processors",
    ]
    assert rows[1].arguments == ("size=4k",)
    assert rows[1].after.keys == {"processors": "4"}
    assert rows[1].before is not None
    assert rows[1].before.keys == {"processors": "1"}, "a setting's keys come after the row's"


@pytest.mark.parametrize(
    ("sweep", "complaint"),
    [
        ('size = ["4k"], n = [2], pages = [1]', "sweep 'pages' is used nowhere"),
        ('size = ["4k"], n = []', "row.0.sweep.n"),
        (f'size = ["4k"], n = {list(range(1001))}', "more than 1000 combinations"),
    ],
)
def test_a_wrong_sweep_is_refused(tmp_path: Path, sweep: str, complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        experiments.load(write(tmp_path, SWEEP.replace('size = ["4k", "8k"], n = [2, 4]', sweep)))
    assert complaint in error.value.message


def test_a_part_saved_is_a_ratio(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("item = 0", 'claim = "undeadly07.dual.system-time"')
    (row,) = experiments.load(write(tmp_path, text)).rows
    published = row.published
    assert published.ratio is not None
    assert (published.before, published.after) == (None, None)
    assert (published.ratio.low, published.ratio.high) == pytest.approx((1 / 0.855, 1 / 0.845))


_ALL = {"icache.flush": "every", "unmap.flush": "twice", "pipe.transfer": "page"}
_QUIET = {"switch.flush": "none", "return.flush": "none"}
_2_1_44 = _ALL | _QUIET | {"kernel.map": "pte", "vsid": "pid", "tlb.flush": "search", "hash.preload": "fault"}
_2_1_130 = _ALL | _QUIET | {"kernel.map": "bat", "vsid": "scatter:897", "reload": "asm", "tlb.flush": "lazy"}
_1_3_99 = _ALL | {"kernel.map": "pte", "vsid": "pid", "tlb.flush": "search", "reload": "c"}
_BASES = {
    "bat": _2_1_44 | {"reload": "c"},
    "reload": _2_1_44 | {"reload": "c"},
    "vsid": _2_1_44,
    "flush": _2_1_44,
    "idleclear": _2_1_44 | {"idle.clear": "off"},
    "table1": _2_1_130 | {"tlb.cutoff": "20", "htab": "emulate"},
    "table2": _2_1_130 | {"tlb.cutoff": "off"},
    "cutoff": _2_1_130 | {"tlb.cutoff": "off"},
    "ptcache": _2_1_130 | {"tlb.cutoff": "20", "pagetable.cache": "on"},
    "zombie": _2_1_130 | {"tlb.cutoff": "20", "idle.reclaim": "off"},
    "table3": _1_3_99 | {"return.flush": "caches", "switch.flush": "tlb"},
}


@pytest.mark.parametrize(("name", "forms"), _BASES.items())
def test_a_before_side_has_the_forms_of_one_version(name: str, forms: dict[str, str]) -> None:
    """docs/policies.md says of which, and where the sources have them."""
    experiment = experiments.find(f"osdi99-{name}")[0]
    befores = [row.before.setting for row in experiment.rows if row.before is not None]
    # A machine may lack some of them: `without`.
    before = max((entry.policies for entry in befores if entry.label == befores[0].label), key=len)
    used = {key: before.get(key, policies.policy(key).default) for key in forms}
    assert used == forms
