"""The simulated computers: one TOML file each in `machines/`, every key with its source."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pagewalk.architectures import Architecture, of_core
from pagewalk.errors import BadInput, unknown
from pagewalk.paths import home, read_file

_FILE_MOST = 1 << 20
"""The size in bytes of the largest machine file that is read."""


@dataclass(frozen=True)
class Machine:
    """A machine file: its name, where it lies, and what a listing prints. `clock` is in Hz.

    `values` are its keys as `--set` takes them; `inputs` are the values that the table `[inputs]` gives to some.
    """

    name: str
    path: Path
    description: str
    core: str
    clock: int
    values: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def architecture(self) -> Architecture:
        """Its architecture, which decides what kernel and programs it runs."""
        return of_core(self.core)


def names() -> list[str]:
    """The names of all machines of the checkout."""
    return sorted(path.stem for path in home().machines.glob("*.toml"))


def load(path: Path) -> Machine:
    """The machine in that file; the machine itself checks every key when it is built."""
    try:
        raw = tomllib.loads(read_file(path, _FILE_MOST).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    inputs = _flat(raw.pop("inputs", {}))
    core = raw.get("core")
    if not isinstance(core, dict) or not isinstance(core.get("clock"), int):
        raise BadInput(f"{path}: a machine has a [core] table with kind and clock (Hz)")
    return Machine(
        name=path.stem,
        path=path,
        description=str(raw.get("description", "")),
        core=str(core.get("kind", "")),
        clock=core["clock"],
        values={key: _text(value) for key, value in _flat(raw).items()},
        inputs={key: tuple(map(_text, values)) for key, values in inputs.items() if isinstance(values, list)},
    )


def _flat(table: Any, prefix: str = "") -> dict[str, Any]:
    """The values of a TOML table by their dotted keys."""
    found: dict[str, Any] = {}
    for key, value in table.items() if isinstance(table, dict) else ():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def _text(value: Any) -> str:
    """A value of a machine file as `--set` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_quoted(entry)}' for key, entry in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    return str(value)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else _text(value)


def keys(name: str) -> list[str]:
    """The keys of a machine of the checkout, with their tables before them: `tlb.data.entries`."""
    return list(load(home().machines / f"{name}.toml").values)


def find(name: str) -> Machine:
    """The machine of that name, or in the file at that path; the nearest name is suggested."""
    if name.endswith(".toml"):
        return load(Path(name))
    known = names()
    if name not in known:
        raise unknown("machine", name, known, listing="pagewalk machines")
    return load(home().machines / f"{name}.toml")


def all_machines() -> list[Machine]:
    """Every machine of the checkout, by name."""
    return [find(name) for name in names()]
