"""The person's results file, with the results that the checkout or the wheel brings.

`make docs` keeps the latest table of each experiment in `experiments/measured/*.parquet`. The results file that no one
has named takes them in, so that pages, reports and queries have results from the first day on.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from pagewalk.paths import home
from pagewalk.store import Store


def opened(*, read_only: bool = False, notify: Callable[[str], None] = lambda _: None) -> Store:
    """The results file. One that PAGEWALK_RESULTS names holds what was measured with it alone."""
    kept = None if os.environ.get("PAGEWALK_RESULTS") else home().measured
    return Store(home().results, read_only=read_only, notify=notify, kept=kept)
