"""Call stacks: speedscope's format and the difference of two profiles."""

import json
from pathlib import Path

import pytest

from pagewalk import profiles
from pagewalk.errors import BadInput
from pagewalk.profiles import Change, StackRow

ROWS = [
    StackRow("/bin/a", ("main", "f"), "user", 70, 60),
    StackRow("/bin/a", ("main", "f", "clear_[k]"), "clear", 20, 10),
    StackRow("/bin/a", ("main", "f", "clear_[k]"), "fault", 10, 5),
    StackRow("/bin/a", ("main",), "user", 0, 0),
]


def test_speedscope_has_each_stack_once_with_its_cycles(tmp_path: Path) -> None:
    document = profiles.speedscope(ROWS, "a")
    (profile,) = document["profiles"]
    assert [frame["name"] for frame in document["shared"]["frames"]] == ["/bin/a", "main", "f", "clear_[k]"]
    assert (profile["samples"], profile["weights"]) == ([(0, 1, 2), (0, 1, 2, 3)], [70, 30])
    assert profile["endValue"] == 100
    path = tmp_path / "a.json"
    path.write_text(profiles.write_speedscope(ROWS, "a"))
    assert profiles.read_speedscope(path) == {("/bin/a", "main", "f"): 70, ("/bin/a", "main", "f", "clear_[k]"): 30}


def test_a_difference_has_what_changed_largest_first() -> None:
    before = {("/bin/a", "main"): 5, ("/bin/a", "main", "f"): 70, ("/bin/a", "f"): 1}
    after = {("/bin/a", "main"): 5, ("/bin/a", "main", "f"): 50, ("/bin/a", "main", "g"): 30}
    assert profiles.difference(before, after) == [Change("/bin/a", "g", 0, 30), Change("/bin/a", "f", 71, 50)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no speedscope file"),
        ("{}", "no speedscope file"),
        ('{"shared": {"frames": []}, "profiles": [{"samples": "x", "weights": []}]}', "no speedscope file"),
        ('{"shared": {"frames": []}, "profiles": [{"samples": [[0]], "weights": []}]}', "1 samples have 0 weights"),
        ('{"shared": {"frames": []}, "profiles": [{"samples": [[0]], "weights": [1]}]}', "a sample names a frame"),
        (
            '{"shared": {"frames": [{"name": "a"}]}, "profiles": [{"samples": [[-1]], "weights": [1]}]}',
            "a sample names",
        ),
        (json.dumps(profiles.speedscope(ROWS, "a"))[:100], "no speedscope file"),
    ],
)
def test_files_that_are_none_are_refused_in_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=words):
        profiles.read_speedscope(path)
