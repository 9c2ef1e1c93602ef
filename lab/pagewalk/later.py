"""Imports that wait until something of the module is used, so that no command loads what it does without.

`import duckdb` and `from pagewalk import claims` bind a module that is empty. The first look at a name in it runs the
module. An import that names something in the module (`from pagewalk.claims import Claim`) does so at once.
`importlib.util.LazyLoader` does not do: it runs a module as soon as a second module imports it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

SLOW = frozenset(
    {
        "argparse",
        "asyncio",
        "duckdb",
        "importlib.metadata",
        "pagewalk.claims",
        "pagewalk.cli.output",
        "pagewalk.cli.sheet",
        "pagewalk.disk",
        "pagewalk.experiments",
        "pagewalk.images",
        "pagewalk.kernel_image",
        "pagewalk.mach",
        "pagewalk.native",
        "pagewalk.place",
        "pagewalk.policies",
        "pagewalk.programs",
        "pagewalk.results_file",
        "pagewalk.store",
        "pagewalk.subjects",
        "pagewalk.summary",
        "pagewalk.sweep",
        "pagewalk.systems",
        "pagewalk.tlb_registers",
    }
)
"""The modules that wait."""

_lock = threading.RLock()
_OF_IMPORT = frozenset(
    {"__class__", "__dict__", "__doc__", "__loader__", "__name__", "__package__", "__path__", "__spec__"}
)
"""What the import system itself looks at, also when a module is imported again."""


class _Waiting(ModuleType):
    """A module that has not run."""

    def __getattribute__(self, name: str) -> object:
        if name not in _OF_IMPORT:
            _run(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _OF_IMPORT:
            _run(self)
        ModuleType.__setattr__(self, name, value)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: some libraries do not stand an import that is half done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(module: ModuleType) -> None:
    """Runs the module, unless another thread has done so."""
    with _lock, _uninterrupted():
        if object.__getattribute__(module, "__class__") is not _Waiting:
            return
        object.__setattr__(module, "__class__", ModuleType)
        spec = module.__spec__
        assert spec is not None
        assert isinstance(spec.loader, _Later)
        module.__loader__ = spec.loader = spec.loader.loader
        spec.loader.exec_module(module)


class _Later:
    """Makes a module, and leaves it empty."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Waiting


class _Finder:
    """Finds the slow modules."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in SLOW else None
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _Later(spec.loader))
        return spec


def install() -> None:
    """From now on, slow modules wait. No plugin of pydantic is looked for: that reads what is said of every package."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def waits(name: str) -> bool:
    """Whether the module has been imported and has not run."""
    return isinstance(sys.modules.get(name), _Waiting)
