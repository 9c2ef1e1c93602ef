import pytest

from pagewalk import summary
from pagewalk.architectures import POWERPC, X86
from pagewalk.errors import BadInput
from pagewalk.figures import Figure, Measured
from pagewalk.runner import Sample

MEASURED = Measured(
    clock=100_000_000,
    iterations=10,
    bytes=5_000_000,
    counters={
        "cycles": 1_000_000,
        "cycles.cause.flush": 250_000,
        "tlb.data.miss.user": 30,
        "tlb.data.miss.kernel": 12,
        "pollution.cache.data.walk.user": 5,
        "pollution.cache.data.user.walk": 3,
        "pollution.cache.data.taken.walk.user": 1000,
        "pollution.cache.data.walk.walk": 100,
    },
    run_counters={"hash.miss": 7},
    values={"evict-ratio": 0.25, "page.ipis": 3, "all.ipis": 2},
    samples=(Sample(1, {"tlb.kernel": 4}), Sample(2, {"tlb.kernel": 10})),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("us", 1000.0),
        ("ms", 1.0),
        ("mb_s", 500.0),
        ('count("tlb.data.miss.*")', 42.0),
        ('each("cycles.cause.flush")', 25_000.0),
        ('run("hash.miss") * 2 - 4', 10.0),
        ('count("cycles.cause.flush") / count("cycles")', 0.25),
        ('-value("evict-ratio")', -0.25),
        ('value("*.ipis")', 5.0),
        ('mean("tlb.kernel")', 7.0),
        ('most("tlb.kernel")', 10.0),
        ('evictions("walk")', 5.0),
        ('victims("walk")', 3.0),
    ],
)
def test_a_figure_is_computed(text: str, expected: float) -> None:
    assert MEASURED.compute(Figure.parse(text)) == pytest.approx(expected)


def test_a_division_by_nothing_is_no_figure() -> None:
    assert MEASURED.compute(Figure.parse('us / count("hash.miss")')) is None


@pytest.mark.parametrize("text", ["us +", "open('x')", "us.real", "count(3)", "True", "us if us else 1"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        Figure.parse(text)


@pytest.mark.parametrize("function", ["count", "each", "run"])
def test_a_counter_that_does_not_exist_is_refused(function: str) -> None:
    for name in ("tlb.data.mis", "tlb.*.mis", ""):
        with pytest.raises(BadInput, match="unknown counter") as error:
            Figure.parse(f'us + {function}("{name}")')
        assert error.value.hint == "did you mean 'tlb.data.miss'?" or not name.startswith("tlb.data")


@pytest.mark.parametrize("function", ["evictions", "victims"])
def test_a_cause_that_does_not_exist_is_refused(function: str) -> None:
    with pytest.raises(BadInput, match="unknown cause"):
        Figure.parse(f'{function}("wlk")')


def test_a_counter_of_another_architecture_is_refused() -> None:
    for text, own, other in (('run("hash.miss")', POWERPC, X86), ('run("walk.dirty")', X86, POWERPC)):
        Figure.parse(text).check(own)
        with pytest.raises(BadInput, match=f"{other.name} has no counter"):
            Figure.parse(text).check(other)


def test_a_value_that_was_not_printed_is_refused() -> None:
    with pytest.raises(BadInput, match="evict"):
        MEASURED.compute(Figure.parse('value("evict-rate")'))


def test_a_second_level_tlb_shows_its_hits() -> None:
    names = [line.name for line in summary.overview({"cycles": 9, "instructions": 9}, clock=1)]
    assert not any("second-level" in name for name in names)
    counters = {"tlb.l2.access": 200, "tlb.l2.miss": 50}
    found = {line.name: (line.count, line.share) for line in summary.overview(counters, clock=1)}
    assert found["second-level TLB hits"] == (150, "75.00% of look-ups")
    assert found["second-level TLB misses"] == (50, "25.00% of look-ups")


def test_time_is_what_passed_and_not_the_sum_of_processors() -> None:
    counters = {"cycles": 4_000_000, "elapsed": 1_000_000}
    cycles = summary.overview(counters, clock=100_000_000)[0]
    assert (cycles.count, cycles.share) == (4_000_000, "10.000 ms at 100 MHz")
    measured = Measured(100_000_000, 10, 0, counters, {}, {}, ())
    assert measured.compute(Figure.parse("ms")) == 1.0
