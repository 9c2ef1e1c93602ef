import pytest

from pagewalk import claims, experiments
from pagewalk.errors import BadInput


def test_every_published_figure_is_there() -> None:
    counts: dict[str, int] = {}
    for claim in claims.all_claims().values():
        counts[claim.document.id] = counts.get(claim.document.id, 0) + 1
    papers = {"lkml05": 15, "ols03": 20, "osdi99": 51, "sosp93": 15, "undeadly07": 5}
    assert counts == papers | {"lmbench96": 20, "riscv24": 3}


def test_every_claim_is_measured_or_says_why_not() -> None:
    named = {claim for name in experiments.names() for found in experiments.find(name) for claim in found.claims}
    assert set(claims.all_claims()) - named == set()


def test_a_row_has_one_figure_for_each_column() -> None:
    row = claims.claim("osdi99.table2.604-185")
    assert row.columns[0] == "mmap latency us"
    assert dict(zip(row.columns, row.baseline, strict=True))["mmap latency us"] == 2733
    assert row.document.year == 1999


def test_what_was_recalled_says_so() -> None:
    recalled = {claim.id for claim in claims.all_claims().values() if claim.recalled}
    assert recalled == {name for name in claims.all_claims() if name.startswith("osdi99.table3.")}


def test_a_range_is_no_row() -> None:
    assert not claims.claim("osdi99.zombie.live-entries").is_row


def test_an_unknown_claim_suggests_the_nearest() -> None:
    with pytest.raises(BadInput) as error:
        claims.claim("osdi99.tabel2.604-185")
    assert error.value.hint == "did you mean 'osdi99.table2.604-185'?"


HEAD = '[document]\nid="d"\ntitle="t"\nauthors="a"\nvenue="v"\nyear=1\n[[claim]]\nid="d.x"\n'


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('kind="guess"', "kind: input should be 'measured', 'constant' or 'open', not 'guess'"),
        ('kind="measured"\nvalues=3', "claim d.x: unknown field 'values'"),
        ('kind="measured"\nvalue="3"', "value.0: value error, input should be a valid number, not '3'"),
        ('kind="measured"\nvalue=nan', "value.0: value error, input should be a valid number, not nan"),
        ('kind="measured"\nvalue=[1.0, 1e400]', "value.1: value error, input should be a valid number, not inf"),
        ('kind="measured"\nratio=inf', "ratio: input should be a finite number"),
        ('kind="measured"\nunit="a us, b us"\nvalue=[1,2]\nbaseline=[1]', "differ in length"),
    ],
)
def test_a_wrong_claim_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        claims.parse(HEAD + line)
