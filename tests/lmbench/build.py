"""LmBench's programs, built as its own scripts would build them for this processor."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite.places import Missing, wanted

_MARKS = Path(__file__).parent / "regions.c"
_LIBRARY = ("lib_tcp", "lib_udp", "lib_unix", "lib_timing", "lib_mem", "lib_stats", "lib_debug", "lib_sched", "getopt")

# LmBench includes Sun RPC's headers, which C libraries no longer bring, for a port mapper that it does not use.
_RPC = """#ifndef RPC
#define RPC
static int pmap_set() { return 1; }
static int pmap_unset() { return 1; }
static int pmap_getport() { return 0; }
#endif
"""

# The same C library as in user/bench: much of what a fork or an exec costs is the C library's.
_COMPILER = "powerpc-linux-gnu-gcc"
_FLAGS = (
    "-O", "-mcpu=powerpc", "-static", "-std=gnu89", "-w", "-D_GNU_SOURCE", "-include", "stdint.h", "-DHAVE_uint",
    "-DHAVE_uint64_t", "-DHAVE_int64_t", "-DHAVE_socklen_t", "-DHAVE_DRAND48", "-Wl,-z,max-page-size=4096",
)  # fmt: skip


def _compile(arguments: list[str | Path], what: str) -> None:
    done = subprocess.run([_COMPILER, *_FLAGS, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"LmBench's {what} does not compile: {done.stderr[-2000:]}")


def build(sources: Path, names: set[str], out: Path, regions: bool = False) -> None:
    """Builds the programs `names` from `sources`/src into `out`; with `regions`, so that what they time is counted."""
    source = wanted(sources / "src" / "bench.h", "give the directory of LmBench 3's sources").parent
    include = out / "include"
    (include / "rpc").mkdir(parents=True)
    (include / "rpc" / "rpc.h").write_text(_RPC)
    (include / "rpc" / "types.h").touch()
    objects = [out / f"{name}.o" for name in _LIBRARY]
    marks: list[str | Path] = [_MARKS, "-Wl,--wrap=benchmp"] if regions else []
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(
                lambda made: _compile(["-I", include, "-c", "-o", made, source / f"{made.stem}.c"], made.stem), objects
            )
        )
        list(
            pool.map(
                lambda name: _compile(
                    ["-I", include, "-o", out / name, source / f"{name}.c", *objects, *marks, "-lm"], f"{name}.c"
                ),
                sorted(names),
            )
        )
