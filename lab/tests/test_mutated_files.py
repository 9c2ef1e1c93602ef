"""Files that a person writes, with random mistakes: each is taken, or refused with a sentence.

The mistakes are the same each time. `PAGEWALK_MUTATIONS` makes so many of each file, from the seed PAGEWALK_SEED.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pagewalk import experiments, machines, native, subjects
from pagewalk.errors import PagewalkError
from pagewalk.paths import home

pytestmark = pytest.mark.built

_EACH = int(os.environ.get("PAGEWALK_MUTATIONS", "12"))
_SEED = os.environ.get("PAGEWALK_SEED", "1")
_ODD = (
    "", "0", "-1", "1e400", "nan", "inf", "99999999999999999999999", "true", '""', "[]", "{}", "[[]]", "[{}]",
    '"\\u0000"', '"/"', '"../.."', '"a b"', "1979-05-27", "'''", "{ a = 1 }", '"{"', '"%s"', '"each(\\"x\\")"',
    "[1, 'a']", '"1..0"', '"0..9999999999"', "0x7fffffffffffffff", '"\\U0010ffff"',
)  # fmt: skip


def mutated(text: str, draw: random.Random) -> str:
    """The text with up to three mistakes."""
    for _ in range(draw.randint(1, 3)):
        lines = text.split("\n")
        at = draw.randrange(len(lines))
        match draw.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[draw.randrange(len(lines))])
            case 2 | 3 | 4 if "=" in lines[at]:
                lines[at] = f"{lines[at].partition('=')[0]}= {draw.choice(_ODD)}"
            case 5 if lines[at]:
                place = draw.randrange(len(lines[at]))
                letter = draw.choice(["", '"', "\\", "\0", "\u00e9", "[", "=", "9", "-", ".", "'", "\x7f"])
                lines[at] = lines[at][:place] + letter + lines[at][place + 1 :]
            case 6:
                words = lines[at].split(" ")
                draw.shuffle(words)
                lines[at] = " ".join(words)
            case _:
                other = draw.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
        text = "\n".join(lines)
    return text


def _machine(path: Path) -> None:
    native.NativeRunner().resolve(machines.load(path), {})


_EXPERIMENTS = sorted(home().experiments.glob("*.toml"))
_KINDS: list[tuple[Path, Callable[[Path], object]]] = [
    *((path, experiments.load) for path in _EXPERIMENTS),
    *((path, subjects.load) for path in sorted((home().root / "subjects").glob("*/subject.toml"))),
    *((path, _machine) for path in sorted(home().machines.glob("*.toml"))),
]


@pytest.mark.parametrize(("path", "load"), _KINDS, ids=lambda value: getattr(value, "stem", ""))
def test_a_file_with_mistakes_is_taken_or_refused(path: Path, load: Callable[[Path], object], tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    copy = tmp_path / path.name
    for number in range(_EACH):
        wrong = mutated(text, random.Random(f"{_SEED} {path.name} {number}"))
        copy.write_text(wrong, encoding="utf-8", newline="")
        try:
            with suppress(PagewalkError):
                load(copy)
        except Exception as error:
            pytest.fail(f"mistake {number}: {error!r}\n{wrong}")
    copy.write_bytes(text.encode() + b"\xff")
    with pytest.raises(PagewalkError):
        load(copy)
    with pytest.raises(PagewalkError):
        load(tmp_path)
