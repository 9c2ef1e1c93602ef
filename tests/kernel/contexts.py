"""Context numbers that run out: policy context.reuse, with so few numbers that they run out all the time.

The sanitizers find a number that is given out while an entry still carries it. A sweep keeps live entries, so that the
hardware finds more in the hash table than after a flush of everything.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kernel.runs import Boot, boot, packed, side_by_side

FORMS = ("flush", "sweep")
# Words beside the form. reload=c keeps a translation by its number outside of the TLB too.
RELOAD = {"ppc603-133": ("", " reload=c"), "ppc604-133": ("",)}
PROGRAM = "-- /bin/churn iterations=40 warmup=0 residents=6 set=32 pages=8 idle=0"


def check() -> int:
    """The number of failures."""
    with tempfile.NamedTemporaryFile(suffix=".cpio") as file:
        file.write(packed({"bin/churn": "bench/churn"}))
        file.flush()
        image = Path(file.name)

        def run(of: tuple[str, str, str]) -> Boot:
            machine, form, more = of
            words = f"quiet check=on contexts=16 tlb.flush=lazy context.reuse={form}{more} {PROGRAM}"
            return boot(machine, image, words, counted=True)

        every = [(machine, form, more) for machine in RELOAD for form in FORMS for more in RELOAD[machine]]
        found = dict(zip(every, side_by_side(run, every), strict=True))
    failed = 0
    for (machine, form, more), done in found.items():
        failed += done.status != 0
        print(f"contexts {machine}, {form}{more}: {'passed' if done.status == 0 else 'FAILED'}")
        if done.status:
            print(done.console)
    misses = {form: int(found["ppc604-133", form, ""].counters["counters"]["hash.miss"]) for form in FORMS}
    kept = misses["sweep"] < misses["flush"]
    print(f"contexts: a sweep keeps live entries: {'passed' if kept else f'FAILED: {misses}'}")
    return failed + (not kept)
