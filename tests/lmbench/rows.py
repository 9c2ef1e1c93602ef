"""The compared rows: LmBench's command, how its figure is read, and the row of user/bench."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A figure is the first number after the text that precedes it.
MICROSECONDS = r"([\d.]+) microseconds"
MEGABYTES = r"([\d.]+) MB/sec"


@dataclass(frozen=True)
class Row:
    """`command` runs LmBench's program, `program` is ours, and `name` is our row. `figure` finds LmBench's number:
    microseconds or, if `bytes` is set, MB/s; our row then moves `bytes` in one iteration. `as_large`: our program gets
    as many pages as LmBench's, because the cost of a fork depends on them."""

    name: str
    command: str
    program: str
    figure: str = MICROSECONDS
    bytes: int = 0
    as_large: bool = False

    def cycles(self, text: str, mhz: float) -> float | None:
        """LmBench's figure in cycles of our row's iteration, or None if it printed none."""
        found = re.search(self.figure, text)
        if not found or not float(found[1]):
            return None
        if self.bytes:
            return self.bytes / float(found[1]) * mhz
        return float(found[1]) * mhz


# Paths of the guest.
_PATH = "/lmbench/include/sys/types.h"
_MB = 1 << 20

ROWS = (
    Row("null-call", "lat_syscall -N 3 null", "null-call"),
    Row("null-read", "lat_syscall -N 3 read", "null-io"),
    Row("null-write", "lat_syscall -N 3 write", "null-io"),
    Row("stat", f"lat_syscall -N 3 stat {_PATH}", "stat"),
    Row("open-close", f"lat_syscall -N 3 open {_PATH}", "open-close"),
    Row("select-100", "lat_select -N 3 -n 100 file", "select count=100"),
    Row("signal-install", "lat_sig -N 3 install", "signal"),
    Row("signal-handle", "lat_sig -N 3 catch", "signal"),
    Row("fork", "lat_proc -N 3 fork", "fork", as_large=True),
    Row("exec", "lat_proc -N 3 exec", "exec program=/lmbench/hello", as_large=True),
    Row("page-fault", "lat_pagefault -N 3 /lmbench/file", "page-fault"),
    Row("mmap-latency", "lat_mmap -N 3 4m /lmbench/file", "mmap-latency size=4m touch=spread", r"4\.194304 (\d+)"),
    Row("file-reread", "bw_file_rd -N 3 2m io_only /lmbench/file", "file-reread size=2m", r"2\.10 ([\d.]+)", 2 * _MB),
    Row("mmap-reread", "bw_mmap_rd -N 3 2m mmap_only /lmbench/file", "mmap-reread size=2m", r"2\.10 ([\d.]+)", 2 * _MB),
    Row("pipe-latency", "lat_pipe -N 1", "pipe-latency"),
    Row("unix-latency", "lat_unix -N 1", "unix-latency"),
    Row(
        "context-switch-8p-4k",
        "lat_ctx -N 1 -s 4 8",
        "context-switch processes=8 size=4k",
        r"(?m)^8 ([\d.]+)",
    ),
    Row("pipe-bandwidth", "bw_pipe -N 1 -M 1m", "pipe-bandwidth", MEGABYTES, _MB),
    Row("unix-bandwidth", "bw_unix -N 1", "unix-bandwidth", MEGABYTES, _MB),
)

# LmBench programs that only run.
HELPERS = ("hello", "lmdd", "loop_o", "timing_o")
