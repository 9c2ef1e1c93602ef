"""Every group by name, and which groups run only on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from suite import micropython, stress_ng
from suite.groups import (
    LIBCS,
    busybox,
    busybox_own,
    dynamic,
    fuzz,
    git,
    hostile,
    lua,
    lua_own,
    redis,
    sqlite,
    tcc,
    user_tests,
    waits,
)
from suite.model import Group

# Groups that take many minutes, or whose programs `make programs` does not build.
ON_REQUEST = ("busybox-own", "lua-own", "fuzz-soak", "stress-ng", "redis", "git", "micropython")


# On each of three machines: ten million in all.
_SOAK_CALLS = 3_400_000


def is_long(name: str) -> bool:
    """Whether a group runs only on request."""
    return name.startswith(ON_REQUEST)


def all_groups(built: Path | None = None) -> dict[str, Callable[[], Group]]:
    """Every group by name; making one reads its programs. `built`: the folder of programs that are not part of
    the checkout."""
    groups: dict[str, Callable[[], Group]] = {
        "user": user_tests,
        "waits": waits,
        "hostile": hostile,
        "dynamic": dynamic,
        "fuzz": lambda: fuzz(20_000),
        "fuzz-soak": lambda: fuzz(_SOAK_CALLS),
        "redis": redis,
        "git": git,
        "micropython": micropython.group,
        "stress-ng": lambda: stress_ng.group(built),
        "stress-ng-several": lambda: stress_ng.several(built),
    }
    for kind, make in (
        ("busybox", busybox), ("busybox-own", busybox_own), ("lua", lua), ("lua-own", lua_own), ("sqlite", sqlite),
        ("tcc", tcc),
    ):  # fmt: skip
        for libc in LIBCS:
            groups[f"{kind}-{libc}"] = lambda make=make, libc=libc: make(libc)  # type: ignore[misc]
    return groups
