"""What observers cost: host time of a run without one, with a filter that lets nothing pass, in batches, one by one.

Run it in the checkout, on an idle computer: `.venv/bin/python lab/benches/observers.py`.
"""

from __future__ import annotations

import time

from pagewalk.api import Event, Laboratory, Observer
from pagewalk.paths import home

ARGUMENTS = ("processes=2", "pages=256", "iterations=4")
RUNS = 3


class Count:
    """A callback that counts."""

    def __init__(self) -> None:
        self.events = 0

    def __call__(self, events: list[Event], _: object) -> None:
        """Counts the events of a batch."""
        self.events += len(events)


def main() -> None:
    """Prints a table."""
    program = home().root / "build/user/bench/tlb-stress"
    print(f"{'observer':<34} {'seconds':>8} {'events':>9} {'us an event':>12}")
    alone = 0.0
    with Laboratory() as lab:
        for name, keys in (
            ("no event passes", {"context": 0xFFFF_FFFF}),
            ("misses of data, every 100th", {"events": ["miss"], "every": 100}),
            ("all events, batches of 4096", {}),
            ("all events, one by one", {"batch": 1}),
        ):
            best, events = float("inf"), 0
            for _ in range(RUNS):
                count = Count()
                started = time.perf_counter()
                lab.observe(Observer(count, **keys), program, *ARGUMENTS)
                best, events = min(best, time.perf_counter() - started), count.events
            alone = alone or best
            each = f"{max(best - alone, 0) / events * 1e6:12.2f}" if events else f"{'':>12}"
            print(f"{name:<34} {best:8.2f} {events:9,} {each}")


if __name__ == "__main__":
    main()
