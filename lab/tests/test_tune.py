from typing import Any

import pytest

from pagewalk import tune
from pagewalk.errors import BadInput
from pagewalk.tune import Page

GROUPS = 64


def contexts(count: int, pages: int) -> list[Page]:
    return [Page(number, 0, index) for number in range(1, count + 1) for index in range(pages)]


def test_numbers_as_they_are_pile_up_and_a_multiplier_spreads_them() -> None:
    found = contexts(count=20, pages=16)
    plain, best = tune.spread(found, GROUPS, None), tune.ranked(found, GROUPS, range(3, 200, 2))[0]
    assert plain.placed <= best.placed == 1
    assert best.deviation <= plain.deviation
    assert best.use == len(found) / (8 * GROUPS)


def test_a_group_overflows_into_its_secondary_one_and_then_loses() -> None:
    same = [Page(1, 0, index << 6) for index in range(20)]
    found = tune.spread(same, GROUPS, None)
    assert found.placed == 16 / 20
    assert found.use == 16 / (8 * GROUPS)
    assert found.deviation > 2


def test_vsids_are_the_kernels() -> None:
    assert tune.vsid(Page(3, 2, 0), None) == 50
    assert tune.vsid(Page(3, 2, 0), 897) == 16 * 3 * 897 + 2 * 0x111
    assert tune.vsid(Page(0xFFFFF, 0, 0), 897) == (16 * 0xFFFFF * 897) & 0xFFFFFF


def test_pages_are_read_from_a_dump_without_the_kernels() -> None:
    state: dict[str, Any] = {
        "segments": [{"number": number, "vsid": number} for number in range(16)],
        "hash_table": {"entries": [{"vsid": 12, "page_index": 1}, {"vsid": 0x52, "page_index": 7}]},
    }
    assert tune.pages(state) == [Page(5, 2, 7)]


@pytest.mark.parametrize("word", ["4", "x", "-3"])
def test_only_odd_multipliers_are_tried(word: str) -> None:
    with pytest.raises(BadInput):
        tune.odd([word])
